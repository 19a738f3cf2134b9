package dag

import (
	"fmt"
	"slices"

	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/table"
)

// regime is some rows in which the mechanism of a node was another than in the rest, with the same
// parents: a soft intervention.
type regime struct {
	node int
	rows []int
}

// readSoftInterventions fills regimes from a column that names nodes as that of interventions does.
// Rows with the same text in it have the same mechanisms.
func (d *Data) readSoftInterventions(t *table.Table, column string) error {
	if column == "" {
		return nil
	}
	c, err := t.Lookup(column)
	if err != nil {
		return err
	}
	rows := map[string][]int{}
	var texts []string // in the order of their first rows
	for row := range t.Rows() {
		if c.IsMissing(row) {
			continue
		}
		text := c.Text(row)
		if rows[text] == nil {
			texts = append(texts, text)
		}
		rows[text] = append(rows[text], row)
	}
	for _, text := range texts {
		targets, err := d.targets(text)
		if err != nil {
			return fmt.Errorf("%s: column %q, %s: %w", t.Path, column, t.Place(rows[text][0]), err)
		}
		for _, j := range targets {
			r := regime{node: j}
			for _, row := range rows[text] {
				if d.counts(row, j) { // where the node was set, no mechanism is seen
					r.rows = append(r.rows, row)
				}
			}
			if len(r.rows) < leastRows {
				return fmt.Errorf("%s: column %q: node %q has another mechanism in %s with %q, want at least %d", t.Path, column, d.Names[j], english.Count(len(r.rows), "row"), text, leastRows)
			}
			d.regimes = append(d.regimes, r)
		}
	}
	for _, r := range d.regimes {
		for _, row := range r.rows {
			d.exempt(row, r.node)
		}
	}
	return nil
}

// noMechanism is the place of the mechanism of a node in a row in which it was set.
const noMechanism = -1

// mechanisms are the places of the mechanisms that rows show of each node: 0 for the usual one, 1
// and more for those of its soft interventions, in the order of regimes, and noMechanism [n][N].
func (d *Data) mechanisms() [][]int {
	places, seen := make([][]int, d.Rows()), make([]int, d.Nodes())
	for row := range places {
		places[row] = make([]int, d.Nodes())
		for j := range places[row] {
			if !d.counts(row, j) {
				places[row][j] = noMechanism
			}
		}
	}
	for _, r := range d.regimes {
		seen[r.node]++
		for _, row := range r.rows {
			places[row][r.node] = seen[r.node]
		}
	}
	return places
}

// regimeRows is how many rows have a soft intervention.
func (d *Data) regimeRows() int {
	var rows []int
	for _, r := range d.regimes {
		rows = append(rows, r.rows...)
	}
	slices.Sort(rows)
	return len(slices.Compact(rows))
}

// within is the data of a regime: only its rows count for its node.
func (d *Data) within(r regime) *Data {
	own := *d
	own.regimes, own.Counted = nil, make([][]bool, d.Rows())
	for row := range own.Counted {
		own.Counted[row] = slices.Repeat([]bool{true}, d.Nodes())
		own.Counted[row][r.node] = slices.Contains(r.rows, row)
	}
	if d.Centers != nil {
		own.Centers = own.means()
	}
	return &own
}
