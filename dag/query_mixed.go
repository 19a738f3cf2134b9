package dag

import (
	"fmt"
	"math"
	"math/rand/v2"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/logsum"
)

// mixedRows is the number of rows that are simulated under each graph and its parameters. Chosen by
// hand.
const mixedRows = 50

// givenMixed answers queries about mixed tables by simulation: nodes are drawn after their parents,
// those that are observed or set have their values, and a row counts by the density of what is
// observed in it (likelihood weighting).
type givenMixed struct {
	problem *Problem
	query   resolvedQuery
	fixed   map[int]float64 // on the working scale, observed and set
	table   *mixedColumns
	draws   map[dgraph.Family]func(*rand.Rand) []float64
}

func newGivenMixed(p *Problem, r resolvedQuery) *givenMixed {
	g := &givenMixed{problem: p, query: r, fixed: map[int]float64{}, table: p.mixedTable(), draws: map[dgraph.Family]func(*rand.Rand) []float64{}}
	for _, values := range []map[int]float64{r.given, r.do} {
		for j, x := range values {
			if g.fixed[j] = x; !p.Data.category(j) {
				g.fixed[j] = p.Data.scaled(j, x)
			}
		}
	}
	return g
}

// mechanism draws the parameters of a family.
func (g *givenMixed) mechanism(f dgraph.Family, random *rand.Rand) *mixedMechanism {
	draw, known := g.draws[f]
	if !known {
		if len(g.draws) == mostKept {
			clear(g.draws)
		}
		draw = usual(g.problem.mixed[f.Node]).posterior(f.Parents)
		g.draws[f] = draw
	}
	return g.table.mechanism(f, draw(random))
}

func (g *givenMixed) under(parents []dgraph.Set, _ [][]float64, random *rand.Rand) (c conditional, err error) {
	relevant := g.query.relevant(parents)
	order, _ := dgraph.FromParents(parents).Order()
	var mechanisms []*mixedMechanism
	for _, j := range order {
		if _, set := g.query.do[j]; relevant.Has(j) && !set {
			mechanisms = append(mechanisms, g.mechanism(dgraph.Family{Node: j, Parents: parents[j]}, random))
		}
	}
	d, target := g.problem.Data, g.query.target
	// what is observed below the target weighs its values, not its distribution
	weighed := false
	below := descendants(target, parents, order)
	for j := range g.query.given {
		weighed = weighed || below.Has(j)
	}
	row := make([]float64, g.table.width())
	for j, x := range g.fixed {
		g.table.set(row, j, x)
	}
	logs := make([]float64, mixedRows)
	for at := range logs {
		for _, m := range mechanisms {
			if _, observed := g.query.given[m.node]; observed {
				logs[at] += m.logDensity(row, g.fixed[m.node])
				continue
			}
			x := m.draw(row, random)
			if m.node == target {
				own := m.outcome(row)
				if weighed {
					own = m.certain(x)
				}
				c.rows = append(c.rows, own)
			}
			g.table.set(row, m.node, x)
		}
	}
	norm := logsum.Of(logs)
	c.logEvidence = norm - math.Log(mixedRows)
	if math.IsNaN(norm) {
		return c, fmt.Errorf("the density of what is observed is not a number: its values are too far from those of the table")
	}
	if math.IsInf(norm, -1) { // no row is possible here
		for at := range logs {
			logs[at], norm = 0, math.Log(mixedRows)
		}
	}
	for at := range c.rows {
		own := &c.rows[at]
		own.weight = math.Exp(logs[at] - norm)
		if own.levels == nil {
			own.mean, own.sd = own.mean*d.Scale[target]+d.Shift[target], own.sd*d.Scale[target]
		}
	}
	c.summarise()
	return c, nil
}

// summarise fills the summary of all rows.
func (c *conditional) summarise() {
	if c.rows[0].levels != nil {
		c.mean = make([]float64, len(c.rows[0].levels))
		for _, row := range c.rows {
			for level, p := range row.levels {
				c.mean[level] += row.weight * p
			}
		}
		c.drawn = c.mean
		return
	}
	mean, squares := 0.0, 0.0
	for _, row := range c.rows {
		mean += row.weight * row.mean
	}
	for _, row := range c.rows {
		squares += row.weight * (square(row.sd) + square(row.mean-mean))
	}
	c.mean, c.sd = []float64{mean}, math.Sqrt(squares)
}
