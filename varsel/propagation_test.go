package varsel

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/varsel/design"
	"github.com/transdim/vti/varsel/regression"
)

// Without outliers all rows are normal, and both evidence and posterior exact.
func TestPropagationIsExactForNormalRows(t *testing.T) {
	p := simulatedProblem(t, design.Simulation{Rows: 30, Predictors: 3, Effects: 2, Correlation: 0.5, Seed: 4}, ModelOptions{Sigma: 0.8})
	for _, code := range [][]int32{{0, 0, 0}, {1, 0, 1}, {1, 1, 1}} {
		model := p.Target.active(code)
		given, err := p.Target.Posterior(model)
		require.NoError(t, err)
		for k, j := range model.Coordinates { // the target's own rows are compressed
			model.Columns[k] = mat.Col(nil, j, p.Design.X)
		}
		variance := math.Exp(2 * p.Target.LogScale)
		q := regression.NewPropagation(&regression.Outliers{LogShare: [2]float64{0, math.Inf(-1)}, Variance: [2]float64{variance, 1}}, p.Design.Y, nil, model)
		require.InDelta(t, given.LogEvidence(), q.Run(), 0.01) // as far as the rounds go
	}
}

// Probabilities of models of tables of nine rows, most of which the mode of the largest model would
// fit without noise, against the sum over the sets of outliers.
func TestPropagationNearlyFindsRobustProbabilities(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	f, err := NewFamily(FamilyConfig{Model: ModelOptions{Likelihood: likelihood.RobustKind}, Rows: Range{9, 9}})
	require.NoError(t, err)
	var divergences []float64
	for seed := range uint64(10) {
		p := drawnTable(t, f, 500+seed)
		masses := newSketch(p, f.each).masses(p.Model.Prior.LogProbs(len(p.Design.Predictors)))
		for m, v := range masses {
			masses[m] = math.Exp(v)
		}
		divergences = append(divergences, divergence(exactRobust(p), masses))
	}
	t.Logf("KL(exact || sketch), nats: %.4f", divergences)
	require.Less(t, stat.Mean(divergences, nil), 0.05)
}

// Tables far from their noise scale, with near copies, have finite approximations with a factor.
func TestPropagationOfNastyTablesIsFinite(t *testing.T) {
	for _, sigma := range []float64{1e-12, 1e-6, 1, 1e6} {
		p := simulatedProblem(t, design.Simulation{Rows: 12, Predictors: 4, Effects: 2, Correlation: 0.999999, Likelihood: likelihood.RobustKind, Seed: 2},
			ModelOptions{Likelihood: likelihood.RobustKind, Sigma1: sigma, Sigma2: 10 * sigma})
		anchors := newModelAnchors(p.Target)
		require.NotNil(t, anchors)
		require.False(t, floats.HasNaN(anchors.linear), "sigma %g", sigma)
		require.False(t, math.IsInf(floats.Norm(anchors.linear, math.Inf(1)), 0), "sigma %g", sigma)
		dim := anchors.dim
		for model := range len(anchors.linear) / dim {
			var factor mat.Cholesky
			require.True(t, factor.Factorize(mat.NewSymDense(dim, anchors.precision[model*dim*dim:(model+1)*dim*dim])), "sigma %g, model %d", sigma, model)
		}
	}
}
