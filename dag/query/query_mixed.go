package query

import (
	"fmt"
	"math"
	"math/rand/v2"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/internal/logsum"
)

// mixedRows is the number of rows simulated for each draw of a graph with parameters. There are
// thousands of draws, so that few rows for each suffice. Half and twice the value give the same
// answers (docs/benchmarks/constants.md).
const mixedRows = 50

// givenMixed answers queries about mixed tables by likelihood weighting. In simulated rows, nodes
// are drawn after their parents, and nodes that are observed or set have their given values. The
// weight of a row is the density of the observations given their parents in the row.
type givenMixed struct {
	problem *score.Problem
	query   resolvedQuery
	fixed   map[int]float64 // values of nodes that are observed or set, on the scale of the scaled columns
	table   *score.MixedColumns
	draws   dgraph.Known[func(*rand.Rand) []float64]
}

func newGivenMixed(p *score.Problem, r resolvedQuery) *givenMixed {
	g := &givenMixed{problem: p, query: r, fixed: r.fixed(), table: p.MixedTable(), draws: dgraph.Known[func(*rand.Rand) []float64]{}}
	for j, x := range g.fixed {
		if !p.Data.Category(j) {
			g.fixed[j] = scaled(p.Data, j, x)
		}
	}
	return g
}

func (g *givenMixed) mechanism(f dgraph.Family, random *rand.Rand) *score.MixedMechanism {
	draw := g.draws.Of(f, score.MostKept, func(f dgraph.Family) func(*rand.Rand) []float64 {
		return score.FormsOf(g.problem.Mixed[f.Node])[0].Posterior(f.Parents)
	})
	return g.table.Mechanism(f, draw(random))
}

func (g *givenMixed) under(parents []dgraph.Set, _ [][]float64, random *rand.Rand) (c conditional, err error) {
	relevant := g.query.relevant(parents)
	order, _ := dgraph.FromParents(parents).Order()
	var mechanisms []*score.MixedMechanism
	for _, j := range order {
		if _, set := g.query.do[j]; relevant.Has(j) && !set {
			mechanisms = append(mechanisms, g.mechanism(dgraph.Family{Node: j, Parents: parents[j]}, random))
		}
	}
	d, target := g.problem.Data, g.query.target
	// if a descendant of the target is observed, the weight of a row depends on the drawn value of
	// the target, so that this value is used instead of the target's distribution
	weighed := false
	below := score.Descendants(target, parents, order)
	for j := range g.query.observed {
		weighed = weighed || below[j]
	}
	row := make([]float64, g.table.Width)
	for j, x := range g.fixed {
		g.table.Set(row, j, x)
	}
	logs := make([]float64, mixedRows)
	for at := range logs {
		for _, m := range mechanisms {
			if _, observed := g.query.observed[m.Node]; observed {
				logs[at] += m.LogDensity(row, g.fixed[m.Node])
				continue
			}
			x := m.Draw(row, random)
			if m.Node == target {
				outcome := m.Outcome(row)
				if weighed {
					outcome = m.Certain(x)
				}
				c.rows = append(c.rows, outcome)
			}
			g.table.Set(row, m.Node, x)
		}
	}
	norm := logsum.Of(logs)
	c.logEvidence = norm - math.Log(mixedRows)
	if math.IsNaN(norm) {
		return c, fmt.Errorf("the density of what is observed is not a number: its values are too far from those of the table")
	}
	if math.IsInf(norm, -1) { // the observations are impossible in all rows
		clear(logs)
	}
	weights := logsum.Shares(logs)
	for at := range c.rows {
		outcome := &c.rows[at]
		outcome.Weight = weights[at]
		if outcome.Levels == nil {
			outcome.Mean, outcome.SD = outcome.Mean*d.Scale[target]+d.Shift[target], outcome.SD*d.Scale[target]
		}
	}
	c.summarise()
	return c, nil
}

func (c *conditional) summarise() {
	if c.rows[0].Levels != nil {
		c.mean = make([]float64, len(c.rows[0].Levels))
		for _, row := range c.rows {
			for level, p := range row.Levels {
				c.mean[level] += row.Weight * p
			}
		}
		c.drawn = c.mean
		return
	}
	mean, squares := 0.0, 0.0
	for _, row := range c.rows {
		mean += row.Weight * row.Mean
	}
	for _, row := range c.rows {
		squares += row.Weight * (dgraph.Square(row.SD) + dgraph.Square(row.Mean-mean))
	}
	c.mean, c.sd = []float64{mean}, math.Sqrt(squares)
}
