package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/columnar"
)

// maxParquetRows bounds the memory that is allocated for a file with a damaged header.
const maxParquetRows = 1 << 28

func (t *Table) parseParquet(content []byte) error {
	f, err := columnar.NewFile(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return err
	}
	var groups []int
	rows := 0
	for group := range f.Groups() {
		if n := f.Rows(group); n < 0 || n > maxParquetRows-rows {
			return fmt.Errorf("damaged Parquet file: it claims more than %d rows", maxParquetRows)
		}
		groups = append(groups, group)
		rows += f.Rows(group)
	}
	if len(f.Columns) == 0 || rows == 0 {
		return errors.New("the Parquet file holds no rows")
	}
	t.unit = "row"
	t.places = make([]int, rows)
	for row := range t.places {
		t.places[row] = row + 1
	}
	var names []string
	for j := range f.Columns {
		column, err := parquetColumn(f, j, groups)
		if err != nil {
			return err
		}
		names = append(names, column.Name)
		t.columns = append(t.columns, column)
	}
	return checkNames(names, "")
}

// parquetColumn reads the cells of a column in some row groups. If the type is wrong or a number is
// infinite, the field defect of the column becomes an error.
func parquetColumn(f *columnar.File, column int, groups []int) (*Column, error) {
	name := oneLine(f.Columns[column].Name)
	if f.Columns[column].Kind == columnar.Other {
		return &Column{Name: name, defect: fmt.Errorf("column %q: got the Parquet type %s, want numbers, booleans or text", name, f.TypeName(column))}, nil
	}
	values, err := f.Read(column, groups...)
	if err != nil {
		return nil, err
	}
	if f.Columns[column].Kind == columnar.Text {
		return codedFactor(name, values.Texts, values.Codes), nil
	}
	c := &Column{Name: name, Kind: Numeric, Values: values.Numbers}
	for row, v := range values.Numbers {
		if math.IsInf(v, 0) {
			return &Column{Name: name, defect: fmt.Errorf("row %d, column %q: got %v, want a finite number or null", row+1, name, v)}, nil
		}
		if c.IsMissing(row) {
			c.Missing++
		}
	}
	return c, nil
}

// WriteParquet writes the named columns of the table to a Parquet file, in the order of names. If
// keep is not nil, it writes only the rows for which keep returns true. Columns always keep their
// type.
func (t *Table) WriteParquet(path string, names []string, keep func(row int) bool) error {
	columns, kinds := make([]*Column, len(names)), make([]columnar.Column, len(names))
	for i, name := range names {
		c, err := t.Lookup(name)
		if err != nil {
			return err
		}
		columns[i], kinds[i] = c, columnar.Column{Name: name, Kind: columnar.Double, Optional: true}
		if c.Kind == Factor {
			kinds[i].Kind = columnar.Text
		}
	}
	return atomicfile.Write(path, func(w io.Writer) error {
		out, err := columnar.NewWriter(w, kinds, nil)
		if err != nil {
			return err
		}
		for row := range t.Rows() {
			if keep != nil && !keep(row) {
				continue
			}
			for _, c := range columns {
				switch {
				case c.IsMissing(row):
					out.Null()
				case c.Kind == Factor:
					out.Text(c.Text(row))
				default:
					out.Double(c.Values[row])
				}
			}
		}
		return out.Close()
	})
}
