package tables

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/table"
)

// clamp is an intervention marked by a column that is not a node. In the rows where this column is
// not zero, a node was set to a value, which need not be in the table.
type clamp struct {
	text   string // the option that describes the intervention
	column string
	node   string
	// level is the value to which the node was set: "low" or "high" for its least and largest value
	// or its first and last level, the name of a level, or empty for the value in the table.
	level string
}

// parseClamp reads "column=node:level" or "column=node".
func parseClamp(text string, t *table.Table) (c clamp, err error) {
	column, rest, found := strings.Cut(text, "=")
	if !found {
		return c, fmt.Errorf("clamp %q: want column=node:level or column=node", text)
	}
	c = clamp{text: text, column: strings.TrimSpace(column), node: strings.TrimSpace(rest)}
	if !slices.Contains(t.Names(), c.node) { // the colon may belong to the name of the node
		if at := strings.LastIndex(c.node, ":"); at >= 0 {
			c.node, c.level = strings.TrimSpace(c.node[:at]), strings.TrimSpace(c.node[at+1:])
		}
	}
	if _, err := t.Lookup(c.column); err != nil {
		return c, fmt.Errorf("clamp %q: %w", text, err)
	}
	return c, nil
}

// applyClamps sets each clamped node to its value in the rows of the intervention. These rows do
// not count for the nodes. It must be called before values are scaled.
func (d *Data) applyClamps(t *table.Table, clamps []clamp) error {
	for _, c := range clamps {
		j, err := d.Node(c.node)
		if err != nil {
			return fmt.Errorf("clamp %q: %w", c.text, err)
		}
		column, err := t.Lookup(c.column)
		if err != nil {
			return err
		}
		if column.Kind != table.Numeric {
			return fmt.Errorf("clamp %q: column %q holds text, want numbers, zero where the node was not set", c.text, c.column)
		}
		rows := apply.Where(len(column.Values), func(row int) bool { return !column.IsMissing(row) && column.Values[row] != 0 })
		if len(rows) == 0 {
			return fmt.Errorf("clamp %q: column %q is zero in all rows", c.text, c.column)
		}
		value, err := d.clampValue(j, c.level)
		if err != nil {
			return fmt.Errorf("clamp %q: %w", c.text, err)
		}
		for _, row := range rows {
			d.exempt(row, j)
			if c.level != "" {
				d.X.Set(row, j, value)
				d.found(row, j)
			}
		}
	}
	return nil
}

func (d *Data) clampValue(j int, level string) (float64, error) {
	column := mat.Col(nil, j, d.X)
	switch {
	case level == "":
		return 0, nil
	case d.Category(j) && slices.Contains(d.Levels[j], level):
		return float64(slices.Index(d.Levels[j], level)), nil
	case level == "low":
		return slices.Min(column), nil
	case level == "high":
		return slices.Max(column), nil
	case d.Category(j):
		return 0, fmt.Errorf("got level %q, want low, high, or one of %q", level, d.Levels[j])
	}
	return 0, fmt.Errorf("got level %q, want low or high", level)
}

// exempt marks that a row shows nothing about the mechanism of node j, because the node was set
// from outside.
func (d *Data) exempt(row, j int) {
	if d.Counted == nil {
		d.Counted = apply.UpTo(d.Rows(), func(int) []bool { return slices.Repeat([]bool{true}, d.Nodes()) })
	}
	d.Counted[row][j] = false
}
