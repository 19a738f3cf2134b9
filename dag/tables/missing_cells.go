package tables

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/table"
)

// checkImputable returns an error if a node has missing cells and the options do not allow drawing
// their values.
func (o DataOptions) checkImputable(t *table.Table, nodes []string) error {
	missing, err := t.Missing(nodes)
	if err != nil {
		return err
	}
	if len(missing) > 0 && o.Discretize.Classes > 0 {
		return fmt.Errorf("missing cells cannot be drawn where numbers are cut into classes: drop the rows that have them")
	}
	return nil
}

// completed returns the column of node j with its mean or its most frequent level in place of
// missing cells. It adds the node to d.Missing in the rows of these cells.
func (d *Data) completed(c *table.Column, j, rows int) (*table.Column, error) {
	var observed []float64
	counts := make([]int, len(c.Levels))
	for row := range rows {
		switch {
		case c.IsMissing(row):
			if d.Missing == nil {
				d.Missing = make([][]int, rows)
			}
			d.Missing[row] = append(d.Missing[row], j)
		case c.Kind == table.Factor:
			counts[c.Codes[row]]++
		default:
			observed = append(observed, c.Values[row])
		}
	}
	if c.Missing > rows-leastRows {
		return nil, fmt.Errorf("%s: column %q has %s of %d, want at least %d", d.Path, c.Name, english.Count(rows-c.Missing, "cell"), rows, leastRows)
	}
	filled := *c
	filled.Codes, filled.Values, filled.Missing = slices.Clone(c.Codes), slices.Clone(c.Values), 0
	for row := range rows {
		if !c.IsMissing(row) {
			continue
		}
		if c.Kind == table.Factor {
			filled.Codes[row] = slices.Index(counts, slices.Max(counts))
		} else {
			filled.Values[row] = floats.Sum(observed) / float64(len(observed))
		}
	}
	return &filled, nil
}

// found marks that a cell that is missing in the table has a known value, set by an intervention.
func (d *Data) found(row, j int) {
	if d.Missing != nil {
		d.Missing[row] = slices.DeleteFunc(d.Missing[row], func(i int) bool { return i == j })
	}
}

func (d *Data) observed(j int) (values []float64) {
	for row := range d.Rows() {
		if d.Missing == nil || !slices.Contains(d.Missing[row], j) {
			values = append(values, d.X.At(row, j))
		}
	}
	return values
}

// MissingCells returns the number of missing cells of the table, whose values Markov chains draw.
func (d *Data) MissingCells() (count int) {
	for _, nodes := range d.Missing {
		count += len(nodes)
	}
	return count
}

// checkSetCells returns an error if the value of a node is missing in a row in which the node was
// set from outside.
func (d *Data) checkSetCells() error {
	for row, nodes := range d.Missing {
		for _, j := range nodes {
			if !d.Counts(row, j) {
				return fmt.Errorf("%s: column %q, %s %d: the node was set from outside and its value is missing", d.Path, d.Names[j], d.PlaceUnit, d.Places[row])
			}
		}
	}
	return nil
}

// CheckComplete returns an error for missing cells, for methods that cannot draw their values.
func (d *Data) CheckComplete() error {
	if d.Missing == nil {
		return nil
	}
	return fmt.Errorf("%s: missing cells are drawn by chains over graphs alone: drop the rows that have them, or take chains", d.Path)
}
