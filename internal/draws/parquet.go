package draws

import (
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/transdim/vti/internal/columnar"
)

const headerKey = "vti_draws"

// parquetColumns returns the columns of a Parquet file: integers for chain__ and the sites, text
// for the model, and doubles for all others.
func (h Header) parquetColumns() (columns []columnar.Column) {
	first := len(h.densities()) + 1 // column of the first site
	for i, name := range append(h.Numbered(), ModelColumn) {
		kind := columnar.Double
		if name == "chain__" || i >= first && i < first+len(h.Cards) {
			kind = columnar.Int32
		} else if name == ModelColumn {
			kind = columnar.Text
		}
		columns = append(columns, columnar.Column{Name: name, Kind: kind})
	}
	return columns
}

func writeParquet(w io.Writer, d *Draws) error {
	text, err := d.marshal()
	if err != nil {
		return err
	}
	out, err := columnar.NewWriter(w, d.parquetColumns(), map[string]string{headerKey: text})
	if err != nil {
		return err
	}
	for i := range d.Len() {
		out.Double(d.LogP[i])
		if d.Kind == Chains {
			out.Int32(d.Chain[i])
		} else {
			out.Double(d.LogQ[i])
		}
		out.Double(d.ModelNumber(d.Code(i)))
		for _, outcome := range d.Code(i) {
			out.Int32(outcome)
		}
		for _, v := range d.Values(i) {
			out.Double(v)
		}
		out.Text(d.ModelName(d.Code(i)))
	}
	return out.Close()
}

// readParquet reads a file that writeParquet wrote, one row group at a time. Errors name the row.
func readParquet(f *os.File) (*Draws, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	file, err := columnar.NewFile(f, info.Size())
	if err != nil {
		return nil, err
	}
	text, ok := file.Metadata(headerKey)
	if !ok {
		return nil, fmt.Errorf("not a file of draws: its metadata has no key %q", headerKey)
	}
	header, err := unmarshalHeader(text)
	if err != nil {
		return nil, err
	}
	want := header.parquetColumns()
	if len(file.Columns) != len(want) {
		return nil, fmt.Errorf("want %d columns, got %d", len(want), len(file.Columns))
	}
	for i, column := range file.Columns {
		if column.Name != want[i].Name {
			return nil, fmt.Errorf("column %d: want %q, got %q", i+1, want[i].Name, column.Name)
		}
	}
	d := &Draws{Header: header}
	for group := range file.Groups() {
		if err := d.appendGroup(file, group); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (d *Draws) appendGroup(file *columnar.File, group int) error {
	numbers := make([][]float64, len(file.Columns)-1) // the last column is the model in words
	for column := range numbers {
		values, err := file.Read(column, group)
		if err != nil {
			return err
		}
		if name := file.Columns[column].Name; values.Missing != nil {
			return fmt.Errorf("column %s: want a number in every row, got nulls", name)
		} else if values.Codes != nil {
			return fmt.Errorf("column %s: want numbers, got text", name)
		}
		numbers[column] = values.Numbers
	}
	rows := len(numbers[0])
	d.Codes, d.Theta = slices.Grow(d.Codes, rows*len(d.Cards)), slices.Grow(d.Theta, rows*len(d.Coordinates))
	row := make([]float64, len(numbers))
	for i := range rows {
		for column, values := range numbers {
			row[column] = values[i]
		}
		if err := d.appendRow(row[0], row[1], row[2], row[3:]); err != nil {
			return fmt.Errorf("row %d: %w", d.Len(), err)
		}
	}
	return nil
}
