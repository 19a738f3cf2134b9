package hbm

import (
	"fmt"
	"slices"

	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/table"
)

// ParquetSlices are the row groups of a Parquet file.
type ParquetSlices struct {
	file        *table.ParquetFile
	plate       *Plate
	variables   []*Variable
	columns     map[*Variable][]string
	bounds      []int
	fingerprint string
}

var _ Slices = (*ParquetSlices)(nil)

// OpenParquetSlices opens a Parquet file for training by slices. Its columns are the numbers of an
// event of variables, in order, and its rows the members of these variables, which must all be on
// the same plates: of the first member of the first plate the members of the other plates, then of
// the second member, and so on. That first plate is plate, or is nested in it in order. No member
// of plate may have rows in two row groups. Close it when training is over.
func OpenParquetSlices(path string, plate *Plate, columns map[*Variable][]string) (*ParquetSlices, error) {
	file, err := table.OpenParquet(path)
	if err != nil {
		return nil, err
	}
	p := &ParquetSlices{file: file, plate: plate, columns: columns}
	if err := p.layOut(path); err != nil {
		file.Close()
		return nil, err
	}
	return p, nil
}

// layOut checks the columns and finds the slices.
func (p *ParquetSlices) layOut(path string) (err error) {
	for _, v := range p.plate.model.variables {
		names, ok := p.columns[v]
		if !ok {
			continue
		}
		if len(names) != v.EventSize() {
			return fmt.Errorf("hbm: %q: got %s, want %d", v.name, english.Count(len(names), "column"), v.EventSize())
		}
		if len(v.plates) == 0 || len(p.variables) > 0 && !slices.Equal(v.plates, p.variables[0].plates) {
			return fmt.Errorf("hbm: the variables of %s must be on the same plates", path)
		}
		if err := p.file.CheckColumns(names); err != nil {
			return err
		}
		p.variables = append(p.variables, v)
	}
	if len(p.variables) == 0 || len(p.variables) != len(p.columns) {
		return fmt.Errorf("hbm: %s: columns were given for %s, %d of which the model has", path, english.Count(len(p.columns), "variable"), len(p.variables))
	}
	v := p.variables[0]
	first, below := v.plates[0], v.Members()/v.plates[0].size
	rows := 0
	for group := range p.file.RowGroups() {
		bound, whole := rows/below, rows%below == 0
		if first != p.plate && whole && bound < first.size {
			path := first.path(p.plate)
			if path == nil {
				return fmt.Errorf("hbm: plate %q is not nested in %q", first.name, p.plate.name)
			}
			member := follow(path, int32(bound))
			whole = bound == 0 || follow(path, int32(bound-1)) != member
			bound = int(member)
		}
		if !whole {
			return fmt.Errorf("%s: row group %d begins with row %d, in the middle of a member of %q", path, group+1, rows+1, p.plate.name)
		}
		p.bounds = append(p.bounds, bound)
		rows += p.file.Rows(group)
	}
	if rows != v.Members() {
		return fmt.Errorf("%s: got %s, want the %s of %q", path, english.Count(rows, "row"), english.Count(v.Members(), "member"), v.name)
	}
	p.bounds = append(p.bounds, p.plate.size)
	p.fingerprint, err = p.file.Fingerprint()
	return err
}

// Plate is the plate that is cut.
func (p *ParquetSlices) Plate() *Plate { return p.plate }

// Bounds are the first members of the row groups and the size of the plate.
func (p *ParquetSlices) Bounds() []int { return p.bounds }

// Variables are those whose columns the file has.
func (p *ParquetSlices) Variables() []*Variable { return p.variables }

// Fingerprint is the SHA-256 of the file.
func (p *ParquetSlices) Fingerprint() string { return p.fingerprint }

// Close closes the file.
func (p *ParquetSlices) Close() error { return p.file.Close() }

// Read reads one row group.
func (p *ParquetSlices) Read(slice int) (Values, error) {
	var names []string
	for _, v := range p.variables {
		names = append(names, p.columns[v]...)
	}
	columns, err := p.file.Read(slice, names)
	if err != nil {
		return nil, err
	}
	all := Values{}
	for _, v := range p.variables {
		size := v.EventSize()
		values := make([]float64, size*len(columns[0]))
		for k, column := range columns[:size] {
			for row, value := range column {
				values[row*size+k] = value
			}
		}
		all[v], columns = values, columns[size:]
	}
	return all, nil
}
