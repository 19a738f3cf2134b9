package draws

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/transdim/vti/internal/atomicfile"
)

// These constants are the names of the files of draws in the directory of a run.
const (
	ParquetFile = "draws.parquet"
	CSVFile     = "draws.csv"
)

// Write writes draws to a directory as a Parquet file. The file appears under its name when it is
// complete; until then an older file of that name is unchanged. Write panics if the draws do not
// have the shapes that the header implies, or if an outcome does not exist.
func Write(dir string, d *Draws) error { return d.write(filepath.Join(dir, ParquetFile), writeParquet) }

// WriteBoth writes draws to a directory as Parquet and as CSV, each as [Write] does. It does
// nothing if dir is empty.
func WriteBoth(dir string, d *Draws) error {
	if dir == "" {
		return nil
	}
	return errors.Join(Write(dir, d), d.write(filepath.Join(dir, CSVFile), writeCSV))
}

func (d *Draws) write(path string, encode func(w io.Writer, d *Draws) error) error {
	if err := d.Validate(); err != nil {
		return fmt.Errorf("draws: %s: %w", path, err)
	}
	d.check()
	if err := atomicfile.Write(path, func(w io.Writer) error { return encode(w, d) }); err != nil {
		return fmt.Errorf("draws: %w", err)
	}
	return nil
}

// Read reads a Parquet file of draws.
func Read(path string) (*Draws, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("draws: %w", err)
	}
	defer file.Close()
	d, err := readParquet(file)
	if err != nil {
		return nil, fmt.Errorf("draws: %s: %w", path, err)
	}
	return d, nil
}
