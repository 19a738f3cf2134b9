package table

import (
	"fmt"
	"slices"
	"strings"

	"github.com/transdim/vti/internal/english"
)

// MissingCount is the number of missing cells of a column.
type MissingCount struct {
	Column string
	Count  int
}

// MissingError is the error for a table with missing cells where all cells are required.
type MissingError struct {
	// Path is the path of the table.
	Path string
	// Columns are the used columns that have missing cells. Used is the number of all used columns.
	Columns []MissingCount
	Used    int
	// Rows is the number of rows. Complete is the number of rows without missing cells in used
	// columns.
	Rows, Complete int
	// Genotypes is set if some of the missing cells are genotypes.
	Genotypes bool
}

// Error returns a text with the numbers of missing cells: `data.csv: missing values in 2 of 9 used
// columns (of 99 rows): "dose" 9, "age" 1`.
func (e *MissingError) Error() string {
	text := fmt.Sprintf("%s: missing values in %d of %s (of %s): %s",
		e.Path, len(e.Columns), english.Count(e.Used, "used column"), english.Count(e.Rows, "row"), describeMissing(e.Columns, e.Rows))
	if e.Complete == 0 && !e.Empty() {
		text += "; no row has all values"
	}
	return text
}

// Empty reports whether at least one column has no value at all.
func (e *MissingError) Empty() bool {
	return slices.ContainsFunc(e.Columns, func(c MissingCount) bool { return c.Count == e.Rows })
}

// describeMissing lists counts of missing cells: `"dose" 9, "age" 1`. It marks columns that are all
// missing.
func describeMissing(counts []MissingCount, rows int) string {
	const shown = 10
	var parts []string
	for _, c := range counts[:min(shown, len(counts))] {
		part := fmt.Sprintf("%q %d", c.Column, c.Count)
		if c.Count == rows {
			part += " (it has no value at all: exclude it)"
		}
		parts = append(parts, part)
	}
	if len(counts) > shown {
		parts = append(parts, fmt.Sprintf("and %s", english.Count(len(counts)-shown, "more column")))
	}
	return strings.Join(parts, ", ")
}

// Missing returns the named columns that have missing cells, in the order of names.
func (t *Table) Missing(names []string) ([]MissingCount, error) {
	var counts []MissingCount
	find := t.Finder()
	for _, name := range names {
		c, err := find(name)
		if err != nil {
			return nil, err
		}
		if c.Missing > 0 {
			counts = append(counts, MissingCount{name, c.Missing})
		}
	}
	return counts, nil
}

// Complete returns the table without the rows that have a missing cell in one of the named columns,
// and the number of rows left out. If rows have missing cells, and drop is false or no row would be
// left, it returns a [MissingError].
func (t *Table) Complete(names []string, drop bool) (*Table, int, error) {
	missing, err := t.Missing(names)
	if err != nil || len(missing) == 0 {
		return t, 0, err
	}
	complete, dropped, err := t.DropMissing(names)
	if err != nil {
		return nil, 0, err
	}
	if !drop || complete.Rows() == 0 {
		find := t.Finder()
		genotypes := slices.ContainsFunc(missing, func(m MissingCount) bool {
			c, err := find(m.Column)
			return err == nil && c.Genotype
		})
		return nil, 0, &MissingError{t.Path, missing, len(names), t.Rows(), complete.Rows(), genotypes}
	}
	return complete, dropped, nil
}

// DropMissing returns the table without the rows that have a missing cell in one of the named
// columns, and the number of these rows. Levels of factors that no remaining row has are removed.
func (t *Table) DropMissing(names []string) (*Table, int, error) {
	times, find := slices.Repeat([]int{1}, t.Rows()), t.Finder()
	for _, name := range names {
		c, err := find(name)
		if err != nil {
			return nil, 0, err
		}
		for row := range times {
			if c.IsMissing(row) {
				times[row] = 0
			}
		}
	}
	out := t.Repeat(times)
	return out, t.Rows() - out.Rows(), nil
}

// NumbersOf returns a copy of the values of a Numeric column. It returns an error if a cell is
// missing or if the column is a Factor. The error about a Factor contains want, a text on the
// required content.
func (t *Table) NumbersOf(name, want string) ([]float64, error) {
	c, err := t.Lookup(name)
	if err != nil {
		return nil, err
	}
	if c.Kind != Numeric {
		return nil, fmt.Errorf("%s: column %q: got %s, want %s", t.Path, c.Name, t.TextFound(c), want)
	}
	for row := range c.Values {
		if c.IsMissing(row) {
			return nil, fmt.Errorf("%s: %s, column %q: the value is missing", t.Path, t.Place(row), c.Name)
		}
	}
	return slices.Clone(c.Values), nil
}
