package score

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"gonum.org/v1/gonum/mat"
)

// Simulated data have exactly the edges of their graph. In a regression of each node on all nodes
// before it in an order of the graph, residuals have unit variance, the coefficient of a parent has
// a size within [0.3, 0.7] up to 6 standard errors, and the coefficient of any other node is zero.
func TestSimulatedLinearDataHaveTheirGraph(t *testing.T) {
	s, err := sem.Simulate(sem.Simulation{Nodes: 6, Rows: 4000, Mechanism: sem.Linear, Seed: 3})
	require.NoError(t, err)
	d, err := tables.NewData(tableOf(t, s.Names, s.Values), tables.DataOptions{Scaling: tables.Center})
	require.NoError(t, err)
	order, ok := s.Truth.Order()
	require.True(t, ok)
	for place, j := range order {
		form := NewLinearForm(d, j, sem.Layout{Nodes: 6, Mechanism: sem.Linear}, 1)
		before := order[:place]
		weights := leastSquares(t, d, before, j)
		model, err := form.model(dgraph.SetOf(before...))
		require.NoError(t, err)
		require.InDelta(t, 1, model.Residual()/4000, 6*math.Sqrt(2.0/4000))
		for k, i := range before {
			if s.Truth.Has(i, j) {
				require.InDelta(t, 0.5, math.Abs(weights[k]), 0.2+6*0.05)
			} else {
				require.InDelta(t, 0, weights[k], 6*0.05)
			}
		}
	}
}

// leastSquares returns the weights of the regression of a node on the columns in the argument
// regressors.
func leastSquares(t *testing.T, d *tables.Data, regressors []int, node int) []float64 {
	t.Helper()
	if len(regressors) == 0 {
		return nil
	}
	x := mat.NewDense(d.Rows(), len(regressors), nil)
	for k, i := range regressors {
		x.SetCol(k, mat.Col(nil, i, d.X))
	}
	var weights mat.VecDense
	require.NoError(t, weights.SolveVec(x, d.X.ColView(node)))
	return weights.RawVector().Data
}
