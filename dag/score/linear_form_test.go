package score

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distmv"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/table"
)

// Log evidences with known noise σ agree with the normal density of the response with covariance
// σ²I + σ0²XXᵀ, for predictors X. With unknown noise they agree with a Riemann sum over log σ.
func TestExactScoresAgainstTheDensity(t *testing.T) {
	d := chainData(t, 12, tables.DataOptions{})
	density := func(f dgraph.Family, sigma, priorSD float64) float64 {
		covariance := mat.NewSymDense(d.Rows(), nil)
		for a := range d.Rows() {
			for b := range a + 1 {
				value := 0.0
				if a == b {
					value = sigma * sigma
				}
				for i := range f.Parents.Nodes() {
					value += priorSD * priorSD * d.X.At(a, i) * d.X.At(b, i)
				}
				covariance.SetSym(a, b, value)
			}
		}
		normal, ok := distmv.NewNormal(make([]float64, d.Rows()), covariance, nil)
		require.True(t, ok)
		return normal.LogProb(mat.Col(nil, f.Node, d.X))
	}
	p, err := NewProblem(d, ModelOptions{Sigma: 0.7, PriorSD: 1.3}, tables.Constraints{})
	require.NoError(t, err)
	scores, err := p.ExactScores(context.Background(), nil)
	require.NoError(t, err)
	require.Len(t, scores.Families, 12)
	for i, f := range scores.Families {
		require.InDelta(t, density(f, 0.7, 1.3), scores.LogEvidence[i], 1e-9)
	}
	p, err = NewProblem(d, ModelOptions{PriorSD: 1.3}, tables.Constraints{})
	require.NoError(t, err)
	scores, err = p.ExactScores(context.Background(), nil)
	require.NoError(t, err)
	const step = 0.05
	for i, f := range scores.Families {
		var logs []float64
		// sd(x) = 1: the prior mean of log σ is 0
		for logSigma := -4.0; logSigma < 6; logSigma += step {
			logs = append(logs, density(f, math.Exp(logSigma), 1.3)-logSigma*logSigma/8-math.Log(2)-HalfLog2Pi+math.Log(step))
		}
		require.InDelta(t, logsum.Of(logs), scores.LogEvidence[i], 1e-8)
	}
}

// Rows in which a node was set from outside do not count for this node. Its log evidence without
// parents agrees with a normal density of the other rows.
func TestInterventionsDropTheNodesOwnTerm(t *testing.T) {
	rows := chainRows(20)
	text := "a,b,c,set\n"
	for i, row := range rows {
		text += csvLine(row) + []string{",\n", ",b\n", ",NA\n", ",c\n"}[i%4]
	}
	parsed, err := table.Parse("test.csv", []byte(text))
	require.NoError(t, err)
	d, err := tables.NewData(parsed, tables.DataOptions{Intervened: "set", Scaling: tables.Center})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c"}, d.Names)
	require.Equal(t, []int{20, 15, 15}, []int{d.RowsOf(0), d.RowsOf(1), d.RowsOf(2)})
	p, err := NewProblem(d, ModelOptions{Sigma: 1}, tables.Constraints{})
	require.NoError(t, err)
	scores, err := p.ExactScores(context.Background(), nil)
	require.NoError(t, err)
	for i, f := range scores.Families {
		if !f.Parents.Empty() {
			continue
		}
		var want float64
		for row := range d.Rows() {
			if d.Counts(row, f.Node) {
				want -= dgraph.Square(d.X.At(row, f.Node)-stat.Mean(d.OwnColumn(f.Node), nil))/2 + HalfLog2Pi
			}
		}
		require.InDelta(t, want, scores.LogEvidence[i], 1e-9)
	}
}
