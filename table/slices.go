package table

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/transdim/vti/internal/english"
)

// ParquetFile is an open Parquet file, of which one row group at a time is read. Its methods are
// not safe for use by several goroutines at once.
type ParquetFile struct {
	path   string
	source *file.Reader
	reader *pqarrow.FileReader
}

// OpenParquet opens a Parquet file without reading its rows.
func OpenParquet(path string) (f *ParquetFile, err error) {
	defer func() {
		if p := recover(); p != nil { // the reader panics on some damaged files
			err = fmt.Errorf("%s: damaged Parquet file: %v", path, p)
		}
	}()
	source, err := file.OpenParquetFile(path, false)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s: no such file", path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: damaged Parquet file: %w", path, err)
	}
	reader, err := pqarrow.NewFileReader(source, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: damaged Parquet file: %w", path, err), source.Close())
	}
	return &ParquetFile{path, source, reader}, nil
}

// Close closes the file.
func (f *ParquetFile) Close() error { return f.source.Close() }

// RowGroups is the number of row groups, and Rows the number of rows of one.
func (f *ParquetFile) RowGroups() int { return f.source.NumRowGroups() }

// Rows is the number of rows of a row group.
func (f *ParquetFile) Rows(group int) int {
	return int(f.source.MetaData().RowGroups[group].GetNumRows())
}

// columns are the places of columns in the file.
func (f *ParquetFile) columns(names []string) ([]int, error) {
	schema, err := f.reader.Schema()
	if err != nil {
		return nil, fmt.Errorf("%s: damaged Parquet file: %w", f.path, err)
	}
	var all []string
	for _, field := range schema.Fields() {
		all = append(all, oneLine(field.Name))
	}
	places := make([]int, len(names))
	for i, name := range names {
		if places[i] = slices.Index(all, name); places[i] < 0 {
			return nil, fmt.Errorf("%s: no column %q; %s", f.path, name, suggest(name, all))
		}
	}
	return places, nil
}

// CheckColumns reports the first of the names that is no column.
func (f *ParquetFile) CheckColumns(names []string) error {
	_, err := f.columns(names)
	return err
}

// Names are the names of the columns.
func (f *ParquetFile) Names() ([]string, error) {
	schema, err := f.reader.Schema()
	if err != nil {
		return nil, fmt.Errorf("%s: damaged Parquet file: %w", f.path, err)
	}
	var names []string
	for _, field := range schema.Fields() {
		names = append(names, oneLine(field.Name))
	}
	return names, checkNames(names, "")
}

// Read returns the numbers of columns in one row group, in the order of names.
func (f *ParquetFile) Read(group int, names []string) (values [][]float64, err error) {
	t, err := f.Table(group, names)
	if err != nil {
		return nil, err
	}
	for _, c := range t.columns {
		switch {
		case c.Kind == Factor:
			return nil, fmt.Errorf("%s: column %q: got text, want numbers", f.path, c.Name)
		case c.Missing > 0:
			return nil, fmt.Errorf("%s: row group %d, column %q: %s", f.path, group+1, c.Name, english.Count(c.Missing, "missing value"))
		}
		values = append(values, c.Values)
	}
	return values, nil
}

// Table returns columns of one row group as a table, in the order of names. The levels of a factor
// are those of the row group, and places are those in the file.
func (f *ParquetFile) Table(group int, names []string) (t *Table, err error) {
	defer func() {
		if p := recover(); p != nil {
			t, err = nil, fmt.Errorf("%s: damaged Parquet file: %v", f.path, p)
		}
	}()
	columns, err := f.columns(names)
	if err != nil {
		return nil, err
	}
	data, err := f.reader.ReadRowGroups(context.Background(), columns, []int{group})
	if err != nil {
		return nil, fmt.Errorf("%s: damaged Parquet file: row group %d: %w", f.path, group+1, err)
	}
	defer data.Release()
	first := 1
	for before := range group {
		first += f.Rows(before)
	}
	t = &Table{Path: f.path, unit: "row", places: make([]int, data.NumRows())}
	for row := range t.places {
		t.places[row] = first + row
	}
	byName := map[string]*Column{}
	for j := range int(data.NumCols()) {
		c := arrowColumn(data.Column(j), int(data.NumRows()))
		c.Name = oneLine(c.Name)
		byName[c.Name] = c
	}
	for _, name := range names {
		c := byName[name]
		if c.defect != nil {
			return nil, fmt.Errorf("%s: row group %d: %w", f.path, group+1, c.defect)
		}
		t.columns = append(t.columns, c)
	}
	return t, nil
}

// Fingerprint is the SHA-256 of the file's bytes, in hexadecimal. It reads the file once.
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
