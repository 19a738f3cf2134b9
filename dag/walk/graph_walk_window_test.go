package walk

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/lab/dagtest"
	"github.com/transdim/vti/rjmcmc"
)

// windowProblem returns a problem with 5 nodes, in which x3 must be a parent of x1.
func windowProblem(t *testing.T, orders bool) (*score.Problem, *orderTables) {
	s, err := sem.Simulate(sem.Simulation{Nodes: 5, Rows: 30, EdgeProbability: 0.6, Mechanism: sem.Linear, Seed: 8})
	require.NoError(t, err)
	d, err := tables.NewData(dagtest.Table(t, s.Names, s.Values), tables.DataOptions{})
	require.NoError(t, err)
	p, err := score.NewProblem(d, score.ModelOptions{EdgePenalty: 0.3, Orders: orders}, tables.Constraints{Require: []string{"x3->x1"}})
	require.NoError(t, err)
	// few candidates, so that some nodes have other parents
	c, err := newCandidates(t.Context(), nil, p, 3, func(int, int) {})
	require.NoError(t, err)
	tables, err := c.newTables(t.Context(), 1)
	require.NoError(t, err)
	return p, tables
}

// farthest returns the largest distance of an edge probability between walks with the given steps
// and sums over all graphs. Its unit is the standard error of the walks combined with 0.002.
func farthest(t *testing.T, p *score.Problem, tables *orderTables, steps func(w *walk)) (worst float64) {
	scores, err := p.ExactScores(t.Context(), nil)
	require.NoError(t, err)
	posterior, err := score.NewPosterior(context.Background(), p.Structure, scores, nil)
	require.NoError(t, err)
	want := posterior.EdgeProbabilities()
	const walks, draws = 4, 4000
	chains := map[dgraph.Edge][][]float64{}
	for c := range uint64(walks) {
		w := newWalk(tables, dagtest.Random(c+1))
		indicators := map[dgraph.Edge][]float64{}
		for range draws {
			for range 2 {
				steps(w)
			}
			for _, e := range dgraph.OrderedPairs(5) {
				indicators[e] = append(indicators[e], dgraph.Indicator(w.parents[e.To].Has(e.From)))
			}
		}
		score := w.score
		w.rescore()
		require.InDelta(t, w.score, score, 1e-6)
		for e, x := range indicators {
			chains[e] = append(chains[e], x)
		}
	}
	for e, x := range chains {
		found := rjmcmc.Summarise(x)
		worst = math.Max(worst, math.Abs(found.Mean-want[e.From][e.To])/math.Hypot(found.MCSE, 0.002))
	}
	return worst
}

// Steps that draw the order of windows, wide and narrow, leave the posterior for the prior over
// orders invariant: no edge probability is off by 5 standard errors. The results are far from the
// posterior for the prior over graphs.
func TestWindowsAgainstExactSums(t *testing.T) {
	ofWidth := func(width int) func(w *walk) {
		return func(w *walk) {
			w.orderWindow(width)
			w.addOrRemove()
		}
	}
	p, tables := windowProblem(t, true)
	for _, width := range []int{2, 3, 5} {
		require.Less(t, farthest(t, p, tables, ofWidth(width)), 5.0, "width %d", width)
	}
	graphs, _ := windowProblem(t, false)
	require.Greater(t, farthest(t, graphs, tables, ofWidth(3)), 8.0)
}
