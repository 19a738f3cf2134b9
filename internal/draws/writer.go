package draws

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/columnar"
)

// encoder turns batches into the bytes of one format.
type encoder interface {
	write(b Batch) error
	// close writes what ends the file; it does not close the file.
	close() error
}

// Writer writes a file of draws, batch by batch. The file appears under its name, complete, when
// Close succeeds.
type Writer struct {
	path    string
	header  Header
	file    *atomicfile.File // nil after Close or Abort
	encoder encoder
}

// NewWriter starts a file. The bytes go to a temporary file in the same directory.
func NewWriter(path string, format Format, header Header) (*Writer, error) {
	if err := header.Validate(); err != nil {
		return nil, fmt.Errorf("draws: %s: %w", path, err)
	}
	file, err := atomicfile.Create(path)
	if err != nil {
		return nil, fmt.Errorf("draws: %w", err)
	}
	w := &Writer{path: path, header: header, file: file}
	switch format {
	case Parquet:
		w.encoder, err = newParquetEncoder(file, header)
	case CmdStanCSV:
		w.encoder, err = newCSVEncoder(file, header)
	default:
		err = fmt.Errorf("unknown format %s", format)
	}
	if err != nil {
		w.Abort()
		return nil, fmt.Errorf("draws: %s: %w", path, err)
	}
	return w, nil
}

// Write adds draws. It panics when the batch does not have the shapes of the header or an outcome
// does not exist, or after Close or Abort.
func (w *Writer) Write(b Batch) error {
	if w.file == nil {
		panic("draws.Writer.Write: the writer is closed")
	}
	b.check("draws.Writer.Write", w.header)
	if err := w.encoder.write(b); err != nil {
		return fmt.Errorf("draws: %s: %w", w.path, err)
	}
	return nil
}

// Close completes the file and gives it its name, replacing one of that name. After an error no
// file is left behind, and an older one of that name is untouched. A second Close does nothing.
func (w *Writer) Close() error {
	if w.file == nil {
		return nil
	}
	defer w.Abort()
	if err := w.encoder.close(); err != nil {
		return fmt.Errorf("draws: %s: %w", w.path, err)
	}
	err := w.file.Commit()
	w.file = nil
	if err != nil {
		return fmt.Errorf("draws: %w", err)
	}
	return nil
}

// Abort removes the unfinished file. After Close it does nothing.
func (w *Writer) Abort() {
	if w.file == nil {
		return
	}
	w.file.Abort()
	w.file = nil
}

// Write writes all draws to a file at once.
func Write(path string, format Format, d *Draws) error {
	w, err := NewWriter(path, format, d.Header)
	if err != nil {
		return err
	}
	defer w.Abort()
	if err := w.Write(d.Batch); err != nil {
		return err
	}
	return w.Close()
}

// The files of draws in a run directory.
const (
	ParquetFile = "draws.parquet"
	CSVFile     = "draws.csv"
)

// WriteBoth writes all draws to a directory in both formats.
func WriteBoth(dir string, d *Draws) error {
	return errors.Join(Write(filepath.Join(dir, ParquetFile), Parquet, d), Write(filepath.Join(dir, CSVFile), CmdStanCSV, d))
}

// Read reads a file of either format, which its first bytes distinguish.
func Read(path string) (*Draws, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("draws: %w", err)
	}
	defer file.Close()
	magic := make([]byte, len(columnar.Magic))
	if _, err := file.ReadAt(magic, 0); err != nil && err != io.EOF {
		return nil, fmt.Errorf("draws: %s: %w", path, err)
	}
	var d *Draws
	if string(magic) == columnar.Magic {
		d, err = readParquet(file)
	} else {
		d, err = readCSV(file)
	}
	if err != nil {
		return nil, fmt.Errorf("draws: %s: %w", path, err)
	}
	return d, nil
}
