package tables

import (
	"fmt"
	"slices"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/table"
)

// regime is a soft intervention: rows in which a node had another mechanism than in the other rows,
// with the same parents.
type regime struct {
	Node int
	rows []int
}

// readSoftInterventions fills Regimes from a column that holds, in each row, the nodes with another
// mechanism, separated by semicolons. In rows with equal texts the nodes have the same mechanisms.
func (d *Data) readSoftInterventions(t *table.Table, column string) error {
	err := d.eachIntervention(t, column, func(text string, rows, nodes []int) error {
		for _, j := range nodes {
			// where the node was also set from outside, its value shows no mechanism
			r := regime{j, apply.Keep(rows, func(row int) bool { return d.Counts(row, j) })}
			if len(r.rows) < leastRows {
				return fmt.Errorf("%s: column %q: node %q has another mechanism in %s with %q, want at least %d", t.Path, column, d.Names[j], english.Count(len(r.rows), "row"), text, leastRows)
			}
			d.Regimes = append(d.Regimes, r)
		}
		return nil
	})
	for _, r := range d.Regimes {
		for _, row := range r.rows {
			d.exempt(row, r.Node)
		}
	}
	return err
}

// NoMechanism is the index of the mechanism of a node in a row in which the node was set from
// outside.
const NoMechanism = -1

// Mechanisms returns the index of the mechanism of each node in each row [n][N]: 0 for the usual
// mechanism, 1 and more for the soft interventions on the node in the order of Regimes, and
// NoMechanism where the node was set from outside.
func (d *Data) Mechanisms() [][]int {
	places, seen := make([][]int, d.Rows()), make([]int, d.Nodes())
	for row := range places {
		places[row] = make([]int, d.Nodes())
		for j := range places[row] {
			if !d.Counts(row, j) {
				places[row][j] = NoMechanism
			}
		}
	}
	for _, r := range d.Regimes {
		seen[r.Node]++
		for _, row := range r.rows {
			places[row][r.Node] = seen[r.Node]
		}
	}
	return places
}

// RegimeRows returns the number of rows with a soft intervention.
func (d *Data) RegimeRows() int {
	rows := slices.Concat(apply.To(d.Regimes, func(r regime) []int { return r.rows })...)
	slices.Sort(rows)
	return len(slices.Compact(rows))
}

// Within returns the data in which only the rows of the soft intervention r count for its node.
func (d *Data) Within(r regime) *Data {
	within := *d
	within.Regimes, within.Counted = nil, make([][]bool, d.Rows())
	for row := range within.Counted {
		within.Counted[row] = slices.Repeat([]bool{true}, d.Nodes())
		within.Counted[row][r.Node] = slices.Contains(r.rows, row)
	}
	if d.Centers != nil {
		within.Centers = within.Means()
	}
	return &within
}
