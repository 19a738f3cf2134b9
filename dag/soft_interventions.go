package dag

import (
	"fmt"
	"slices"

	dgraph "github.com/transdim/vti/dag/graph"
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

// changedForm is the closed form of a node with several mechanisms that have the same parents: that
// of the rows without soft interventions, whose parameters are the answer, and others, whose
// parameters are integrated out.
type changedForm struct {
	closedForm
	others []closedForm
}

// withRegimes is the form of a node with its soft interventions.
func (p *Problem) withRegimes(node int, form closedForm) closedForm {
	var others []closedForm
	for _, r := range p.Data.regimes {
		if r.node == node {
			own := *p
			own.Data = p.Data.within(r)
			others = append(others, own.closedForm(node))
		}
	}
	if others == nil {
		return form
	}
	return &changedForm{form, others}
}

// usual is the form of the rows without soft interventions.
func usual(form closedForm) closedForm {
	if changed, ok := form.(*changedForm); ok {
		return changed.closedForm
	}
	return form
}

// formsOf are the forms of all mechanisms of a node, by their places.
func formsOf(form closedForm) []closedForm {
	if changed, ok := form.(*changedForm); ok {
		return append([]closedForm{changed.closedForm}, changed.others...)
	}
	return []closedForm{form}
}

func (c *changedForm) logEvidence(parents dgraph.Set) float64 {
	sum := c.closedForm.logEvidence(parents)
	for _, other := range c.others {
		sum += other.logEvidence(parents)
	}
	return sum
}

func (c *changedForm) bic(parents dgraph.Set) float64 {
	sum := c.closedForm.bic(parents)
	for _, other := range c.others {
		sum += other.bic(parents)
	}
	return sum
}

// logJoint has the parameters of the other mechanisms integrated out.
func (c *changedForm) logJoint(parents dgraph.Set, theta []float64) float64 {
	sum := c.closedForm.logJoint(parents, theta)
	for _, other := range c.others {
		sum += other.logEvidence(parents)
	}
	return sum
}

// checkOneRegime fails for data with soft interventions, which only closed forms know.
func (p *Problem) checkOneRegime() error {
	if len(p.Data.regimes) > 0 {
		return fmt.Errorf("%s: soft interventions are for mechanisms with closed forms: linear ones and categories, without flows", p.Data.Path)
	}
	return nil
}
