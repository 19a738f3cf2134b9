package table

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
)

// Stack returns the named columns with the rows of second below the rows of first. The columns of
// first determine whether a column holds numbers or labels. Stack returns an error if second lacks
// columns, with the names of all these columns, or if second has text where first has numbers. Rows
// keep the places (line or row numbers) of their own tables.
func Stack(first, second *Table, names []string) (*Table, error) {
	there := second.Names()
	missing := apply.Keep(names, func(name string) bool { return !slices.Contains(there, name) })
	if len(missing) > 1 {
		return nil, fmt.Errorf("%s: no columns %s; the columns are %s", second.Path, quoteAll(missing), strings.Join(there, ", "))
	}
	out := &Table{Path: second.Path, Fingerprint: second.Fingerprint, unit: second.unit, places: slices.Concat(first.places, second.places)}
	for _, name := range names {
		above, err := first.Lookup(name)
		if err != nil {
			return nil, err
		}
		below, err := second.Lookup(name)
		if err != nil {
			return nil, err
		}
		if values := below.numbers(); above.Kind == Numeric && values != nil {
			below = &Column{Name: name, Kind: Numeric, Values: values, Missing: below.Missing}
		}
		if above.Kind == Numeric && below.Kind == Numeric {
			out.columns = append(out.columns, &Column{Name: name, Kind: Numeric, Values: slices.Concat(above.Values, below.Values), Missing: above.Missing + below.Missing})
			continue
		}
		if above.Kind == Numeric {
			return nil, fmt.Errorf("%s: column %q: got %s, want numbers as in %s", second.Path, name, second.TextFound(below), first.Path)
		}
		var texts []string
		var absent []bool
		for _, c := range []*Column{above, below} {
			for row := range c.length() {
				texts, absent = append(texts, c.Text(row)), append(absent, c.IsMissing(row))
			}
		}
		out.columns = append(out.columns, newFactor(name, texts, absent))
	}
	return out, nil
}

// With returns the table with c in place of the column of the same name, or as the last column if
// no column has this name.
func (t *Table) With(c *Column) *Table {
	out := *t
	out.columns = slices.Clone(t.columns)
	if c.length() != t.Rows() {
		panic(fmt.Sprintf("table: Table.With: got %d rows in column %q, want %d", c.length(), c.Name, t.Rows()))
	}
	for i, column := range out.columns {
		if column.Name == c.Name {
			out.columns[i] = c
			return &out
		}
	}
	out.columns = append(out.columns, c)
	return &out
}

// newLabels returns the rows of a Factor with a label that no earlier row has.
func (c *Column) newLabels() (rows []int) {
	seen := make([]bool, len(c.Levels))
	for row, code := range c.Codes {
		if code >= 0 && !seen[code] {
			seen[code] = true
			rows = append(rows, row)
		}
	}
	return rows
}

// Below does the same as [Stack], but each row of second needs a value in every named column. If
// second has missing cells, Below returns an error that counts them or, if drop is true, leaves out
// their rows.
func (t *Table) Below(second *Table, names []string, drop bool) (both *Table, dropped int, err error) {
	there := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(second.Names(), name) })
	missing, err := second.Missing(there)
	if err != nil {
		return nil, 0, err
	}
	if len(missing) > 0 && !drop {
		return nil, 0, fmt.Errorf("%s: missing values: %s (of %s): fill them in, or leave these rows out", second.Path, describeMissing(missing, second.Rows()), english.Count(second.Rows(), "row"))
	}
	if len(missing) > 0 {
		if second, dropped, err = second.DropMissing(there); err != nil {
			return nil, 0, err
		}
		if second.Rows() == 0 {
			return nil, 0, fmt.Errorf("%s: every row misses a value", second.Path)
		}
	}
	both, err = Stack(t, second, names)
	return both, dropped, err
}

// CheckSeen compares the cells of a column from row first on with the cells before. A label that
// does not occur before row first is an error, which names its place. The result note gives the
// number of values outside the range of the earlier rows. If labels is true, numbers are labels.
func (t *Table) CheckSeen(c *Column, first int, labels bool) (note string, err error) {
	if labels || c.Kind == Factor {
		labelled := c.AsFactor()
		var unseen []string
		for _, row := range labelled.newLabels() {
			if row >= first {
				unseen = append(unseen, fmt.Sprintf("%q in %s", labelled.Text(row), t.Place(row)))
			}
		}
		if unseen == nil {
			return "", nil
		}
		return "", fmt.Errorf("%s: column %q has labels that the run has not seen: %s", t.Path, c.Name, english.List(unseen, 5))
	}
	low, high := slices.Min(c.Values[:first]), slices.Max(c.Values[:first])
	outside := floats.Count(func(v float64) bool { return v < low || v > high }, c.Values[first:])
	if outside == 0 {
		return "", nil
	}
	return fmt.Sprintf("%s: %d of %s %s outside the range seen, %.4g to %.4g", c.Name, outside, english.Count(len(c.Values)-first, "row"), english.Form(outside, "is", "are"), low, high), nil
}

// Repeated returns a column of n rows. Each row has the cell of c in the given row.
func (c *Column) Repeated(row, n int) *Column {
	out := &Column{Name: c.Name, Kind: c.Kind, Levels: c.Levels}
	if c.Kind == Factor {
		out.Codes = slices.Repeat([]int{c.Codes[row]}, n)
	} else {
		out.Values = slices.Repeat([]float64{c.Values[row]}, n)
	}
	if c.IsMissing(row) {
		out.Missing = n
	}
	return out
}
