package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/columnar"
	"github.com/transdim/vti/internal/rank"
)

// maxParquetRows bounds the memory that is allocated for a file with a damaged header.
const maxParquetRows = 1 << 28

func (t *Table) parseParquet(content []byte) error {
	f, err := columnar.NewFile(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return err
	}
	rows, groups := 0, rank.UpTo(f.Groups())
	for _, group := range groups {
		if n := f.Rows(group); n < 0 || n > maxParquetRows-rows {
			return fmt.Errorf("damaged Parquet file: it claims more than %d rows", maxParquetRows)
		}
		rows += f.Rows(group)
	}
	if len(f.Columns) == 0 || rows == 0 {
		return errors.New("the Parquet file holds no rows")
	}
	t.unit = "row"
	t.places = apply.UpTo(rows, func(row int) int { return row + 1 })
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
	return newNumeric(name, values.Numbers, "null"), nil
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
