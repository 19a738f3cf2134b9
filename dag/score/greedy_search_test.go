package score

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
)

// With 500 rows of a chain of three nodes, the search ends in a graph that is equivalent to the
// true graph. With constraints it keeps the required edge and leaves out forbidden edges.
func TestGreedyBIC(t *testing.T) {
	d := chainData(t, 500, tables.DataOptions{})
	p, err := NewProblem(d, ModelOptions{}, tables.Constraints{})
	require.NoError(t, err)
	g, err := p.GreedyBIC(t.Context())
	require.NoError(t, err)
	require.True(t, dgraph.FromParents([]dgraph.Set{{}, dgraph.SetOf(0), dgraph.SetOf(1)}).CPDAG().Equal(g.CPDAG()), g.Key())

	p, err = NewProblem(d, ModelOptions{}, tables.Constraints{Forbid: []string{"a->b", "b->a"}, Require: []string{"a->c"}})
	require.NoError(t, err)
	g, err = p.GreedyBIC(t.Context())
	require.NoError(t, err)
	require.False(t, g.Adjacent(0, 1))
	require.True(t, g.Has(0, 2))
}

// The BIC agrees with the normal log likelihood of least-squares residuals, computed by a loop over
// rows, less ½ log n for each of two weights. Other weights have a smaller likelihood.
func TestBICAgainstALoop(t *testing.T) {
	d := chainData(t, 40, tables.DataOptions{})
	random := rand.New(rand.NewPCG(1, 2))
	form := NewLinearForm(d, 2, sem.Layout{Nodes: 3, Mechanism: sem.Linear}, 1)
	best := math.Inf(-1)
	likelihood := func(w []float64) float64 {
		var squares float64
		for row := range d.Rows() {
			squares += dgraph.Square(d.X.At(row, 2) - w[0]*d.X.At(row, 0) - w[1]*d.X.At(row, 1))
		}
		variance := squares / float64(d.Rows())
		return -float64(d.Rows()) / 2 * (math.Log(2*math.Pi*variance) + 1)
	}
	weights := leastSquares(t, d, []int{0, 1}, 2)
	for range 100 {
		best = math.Max(best, likelihood([]float64{weights[0] + 0.1*random.NormFloat64(), weights[1] + 0.1*random.NormFloat64()}))
	}
	want := likelihood(weights)
	require.Less(t, best, want)
	require.InDelta(t, want-math.Log(40), form.bic(dgraph.SetOf(0, 1)), 1e-9)
}
