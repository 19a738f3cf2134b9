package papers

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
)

// TestEvidenceOfEffects compares the evidence of a model of random effects with the joint normal
// density of all samples.
func TestEvidenceOfEffects(t *testing.T) {
	const groups, samples = 3, 2
	sd := [3]float64{1, 0.5, 0.25}
	e := newEffects(groups, samples, 1, sd, 4)
	covariance := mat.NewSymDense(groups*samples, nil)
	for i := range groups * samples {
		for j := i; j < groups*samples; j++ {
			v := sd[0] * sd[0]
			if i/samples == j/samples {
				v += sd[1] * sd[1]
			}
			if i == j {
				v += sd[2] * sd[2]
			}
			covariance.SetSym(i, j, v)
		}
	}
	normal, ok := distmv.NewNormal(make([]float64, groups*samples), covariance, nil)
	require.True(t, ok)
	for _, x := range e.data {
		require.InDelta(t, normal.LogProb(x), e.logEvidence, 1e-9)
	}
	two := newEffects(groups, samples, 2, sd, 4) // the first dimension is the same as in e
	require.Len(t, two.data, 1)
	require.NotEqual(t, e.logEvidence, two.logEvidence)
}

// TestEvidenceOfRegressions compares the evidence of regressions with the joint normal density of
// all responses y = X (θ + w) + noise, where w are the deviations of the coefficients of groups
// from θ.
func TestEvidenceOfRegressions(t *testing.T) {
	const groups, rows, dim = 2, 3, 2
	g, err := newRegressions(groups, rows, dim)
	require.NoError(t, err)
	var x, y []float64
	for _, values := range g.data {
		if len(values) == groups*rows {
			y = values
		} else {
			x = values
		}
	}
	covariance := mat.NewSymDense(groups*rows, nil)
	for i := range groups * rows {
		for j := i; j < groups*rows; j++ {
			product := 0.0
			for d := range dim {
				product += x[i*dim+d] * x[j*dim+d]
			}
			v := product // covariance that the common coefficients cause
			if i/rows == j/rows {
				v += product
			}
			if i == j {
				v++
			}
			covariance.SetSym(i, j, v)
		}
	}
	normal, ok := distmv.NewNormal(make([]float64, groups*rows), covariance, nil)
	require.True(t, ok)
	require.InDelta(t, normal.LogProb(y), g.logEvidence, 1e-9)
}
