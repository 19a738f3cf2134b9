package table

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/columnar"
)

// ParquetFile is an open Parquet file, which is read one row group at a time. It is not safe for
// concurrent use.
type ParquetFile struct {
	path string
	file *columnar.File
}

// OpenParquet opens a Parquet file without reading its rows.
func OpenParquet(path string) (*ParquetFile, error) {
	file, err := columnar.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s: no such file", path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &ParquetFile{path, file}, nil
}

// Close closes the file.
func (f *ParquetFile) Close() error { return f.file.Close() }

// RowGroups returns the number of row groups.
func (f *ParquetFile) RowGroups() int { return f.file.Groups() }

// Rows returns the number of rows of a row group.
func (f *ParquetFile) Rows(group int) int { return f.file.Rows(group) }

func (f *ParquetFile) names() []string {
	return apply.To(f.file.Columns, func(c columnar.Column) string { return oneLine(c.Name) })
}

func (f *ParquetFile) columns(names []string) ([]int, error) {
	all := f.names()
	places := make([]int, len(names))
	for i, name := range names {
		if places[i] = slices.Index(all, name); places[i] < 0 {
			return nil, fmt.Errorf("%s: no column %q; %s", f.path, name, suggest(name, all))
		}
	}
	return places, nil
}

// Names returns the names of the columns.
func (f *ParquetFile) Names() ([]string, error) {
	names := f.names()
	return names, checkNames(names, "")
}

// Table returns the named columns of one row group as a table, in the order of names. A factor has
// only levels that occur in the row group. The places of rows are row numbers in the file.
func (f *ParquetFile) Table(group int, names []string) (t *Table, err error) {
	columns, err := f.columns(names)
	if err != nil {
		return nil, err
	}
	first := 1
	for before := range group {
		first += f.Rows(before)
	}
	t = &Table{Path: f.path, unit: "row", places: apply.UpTo(f.Rows(group), func(row int) int { return first + row })}
	for _, column := range columns {
		c, err := parquetColumn(f.file, column, []int{group})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.path, err)
		}
		if c.defect != nil {
			return nil, fmt.Errorf("%s: row group %d: %w", f.path, group+1, c.defect)
		}
		t.columns = append(t.columns, c)
	}
	return t, nil
}

// Fingerprint returns the SHA-256 of the file's bytes, in hexadecimal. It reads the whole file.
func (f *ParquetFile) Fingerprint() (string, error) {
	content, err := os.Open(f.path)
	if err != nil {
		return "", err
	}
	defer content.Close()
	digest := sha256.New()
	if _, err := io.Copy(digest, content); err != nil {
		return "", err
	}
	return hex.EncodeToString(digest.Sum(nil)), nil
}
