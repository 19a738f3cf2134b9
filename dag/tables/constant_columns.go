package tables

import (
	"fmt"
	"slices"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/table"
)

// constantColumn is a column with the same value in all rows that have a value. It is not a node,
// because the data say nothing about its edges.
type constantColumn struct {
	name, value string
}

func (c constantColumn) String() string {
	return fmt.Sprintf("column %q is constant (%s)", c.name, c.value)
}

// leaveOutConstants returns the columns that vary, and adds the constant columns to d.constants.
func (d *Data) leaveOutConstants(t *table.Table, names []string) (varying []string, err error) {
	for _, name := range names {
		c, err := t.Lookup(name)
		if err != nil {
			return nil, err
		}
		if value, constant := onlyValue(c, t.Rows()); constant {
			d.constants = append(d.constants, constantColumn{name, value})
		} else {
			varying = append(varying, name)
		}
	}
	return varying, nil
}

// onlyValue returns the common value of all cells of a column that are not missing. The result
// constant is false if these cells differ or if there are fewer than two of them.
func onlyValue(c *table.Column, rows int) (value string, constant bool) {
	first, count := -1, 0
	for row := range rows {
		switch {
		case c.IsMissing(row):
			continue
		case first < 0:
			first = row
		case c.Kind == table.Factor && c.Codes[row] != c.Codes[first], c.Kind == table.Numeric && c.Values[row] != c.Values[first]:
			return "", false
		}
		count++
	}
	if count < 2 {
		return "", false
	}
	return c.Text(first), true
}

func (d *Data) constant(name string) (c constantColumn, found bool) {
	at := slices.IndexFunc(d.constants, func(c constantColumn) bool { return c.name == name })
	if at < 0 {
		return constantColumn{}, false
	}
	return d.constants[at], true
}

// Notes returns sentences on columns of the table that are not nodes because they are constant, and
// on columns that mix numbers with text.
func (d *Data) Notes() []string {
	notes := apply.To(d.constants, func(c constantColumn) string { return c.String() + ": nothing can depend on it, so it is left out" })
	return append(notes, d.mixed...)
}
