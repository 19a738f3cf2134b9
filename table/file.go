package table

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/transdim/vti/internal/columnar"
)

const (
	// maxFileBytes is the size of the largest file that is read into memory. Parsing a CSV file
	// takes about ten times its bytes in memory (a string header and two numbers for each cell), so
	// that a machine with 64 GiB can parse 4 GiB. The limit is not measured.
	maxFileBytes = 4 << 30
	// headBytes is the size of the first part of a file, which is read and checked first. It is
	// large enough to detect a file that is not text.
	headBytes = 1 << 16
)

// ReadFile reads a CSV file, or a Parquet file if the content is Parquet, or genotypes if the name
// ends in .bed, .vcf or .vcf.gz. It refuses a CSV or Parquet file of more than 4 GiB. If the first
// bytes are neither text nor Parquet, it refuses the file without reading the rest.
func ReadFile(path string) (*Table, error) { return ReadRegion(path, Region{}) }

// openFile opens a file that holds a table, and returns it with its FileInfo.
func openFile(path string) (*os.File, os.FileInfo, error) {
	file, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil, nil, fmt.Errorf("%s: no such file", path)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read the table: %w", err)
	}
	info, err := file.Stat()
	switch {
	case err != nil:
		err = fmt.Errorf("cannot read the table: %w", err)
	case info.IsDir():
		err = fmt.Errorf("%s is a directory; want a CSV or Parquet file", path)
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// readContent returns the bytes of a file. The file may be a pipe, or a device that never ends.
func readContent(path string) ([]byte, error) {
	file, info, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info.Size() > maxFileBytes {
		return nil, tooLarge(path, fmt.Sprintf("%.1f GiB", float64(info.Size())/(1<<30)))
	}
	return readBounded(path, file, maxFileBytes)
}

// readBounded reads source, and returns an error if it has more than limit bytes. If the first
// bytes are neither text nor Parquet, it reads no further.
func readBounded(path string, source io.Reader, limit int64) ([]byte, error) {
	var content bytes.Buffer
	if _, err := io.CopyN(&content, source, min(headBytes, limit)); err != nil && err != io.EOF {
		return nil, fmt.Errorf("cannot read the table: %w", err)
	}
	head := content.Bytes()
	if !bytes.HasPrefix(head, []byte(columnar.Magic)) {
		if i := bytes.IndexByte(head, 0); i >= 0 {
			if _, err := cleanText(head); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	if _, err := io.CopyN(&content, source, limit+1-int64(content.Len())); err != nil && err != io.EOF {
		return nil, fmt.Errorf("cannot read the table: %w", err)
	}
	if int64(content.Len()) > limit {
		return nil, tooLarge(path, fmt.Sprintf("more than %d bytes", limit))
	}
	return content.Bytes(), nil
}

func tooLarge(path, got string) error {
	return fmt.Errorf("%s: the file is too large to hold as a table in memory: got %s, want at most %d GiB; keep the columns and rows you need", path, got, maxFileBytes>>30)
}
