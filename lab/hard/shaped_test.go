package hard

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/likelihood"
)

// TestShapedRowsAreTheDensities compares log densities with package likelihood, whose code is
// separate, and their slopes with finite differences.
func TestShapedRowsAreTheDensities(t *testing.T) {
	for kind, responses := range map[likelihood.Kind][]float64{
		likelihood.NegativeBinomialKind: {0, 1, 7, 40}, likelihood.ZeroInflatedKind: {0, 1, 7}, likelihood.HurdleKind: {0, 1, 7},
		likelihood.GammaKind: {0.02, 1, 30}, likelihood.WeibullKind: {0.02, 1, 30, -0.02, -1, -30}, likelihood.ExponentialKind: {0.02, 1, 30, -2}, likelihood.BetaKind: {0.01, 0.5, 0.98},
	} {
		l := likelihood.New(kind, likelihood.Shape{})
		for _, scale := range []float64{0.05, 1, 12, 1e4} {
			if kind == likelihood.ExponentialKind {
				scale = 1
			}
			row := shapedRows(kind)(scale)
			for _, y := range responses {
				for _, eta := range []float64{-3, 0, 0.5, 3} {
					value, slope, curvature := row(y, eta)
					want := likelihood.LogDensityAt(l, []float64{y}, nil, []float64{eta}, scale)
					if want < -1e6 { // both codes bound such small densities, in different ways
						continue
					}
					assert.InDelta(t, want, value, 1e-6*(1+math.Abs(want)), "%v y=%v η=%v scale=%v", kind, y, eta, scale)
					step := 1e-5 / math.Max(1, scale/100)
					above, _, _ := row(y, eta+step)
					below, _, _ := row(y, eta-step)
					assert.InDelta(t, (above-below)/(2*step), slope, 1e-3*(1+math.Abs(slope)), "%v y=%v η=%v scale=%v", kind, y, eta, scale)
					assert.GreaterOrEqual(t, curvature, 0.0)
				}
			}
		}
	}
}

// TestShapedIntegral checks a hurdle model, whose additional parameter ω is the odds of 0, for a
// table of n zeros. Zeros carry no information on the linear predictor η, so that the evidence is
// the expectation of (ω/(1 + ω))ⁿ over the prior of ω.
func TestShapedIntegral(t *testing.T) {
	p := &regressionProblem{
		x: mat.NewDense(3, 1, []float64{1, 1, 1}), y: make([]float64, 3), priorMean: []float64{0}, priorSD: []float64{10},
		always: []int{0}, logPrior: []float64{0}, logSigmaSD: 2,
	}
	m, err := p.shaped(hurdleRow, true)([]int{0})
	require.NoError(t, err)
	want, step := 0.0, 0.01
	for z := -9.0; z < 9; z += step {
		want += step * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) * math.Pow(1/(1+math.Exp(-2*z)), 3)
	}
	assert.InDelta(t, math.Log(want), m.logEvidence, 1e-4)
	assert.InDelta(t, 10, math.Sqrt(m.variance[0]), 1e-3)
}

// TestShapedIntegralOfLittleNoise checks a table of times within 1 percent of a line, for which a
// search from the prior mean does not find the mode given a shape of 150. The expected evidence
// comes from a brute-force integration in Python.
func TestShapedIntegralOfLittleNoise(t *testing.T) {
	x := []float64{-1.8876900080043257, -0.2575788412204456, -0.10343473982910545, 1.2853274175384497, -1.7907590088977714, 0.8601044387108597}
	design := mat.NewDense(6, 2, nil)
	mean, sd := stat.MeanStdDev(x, nil)
	for i, v := range x {
		design.SetRow(i, []float64{1, (v - mean) / sd})
	}
	p := &regressionProblem{
		x: design, y: []float64{170.14778476716987, 17.5274618791282, 14.306951181600576, 2.0965813613738877, 146.1315915832384, 3.773983535040619},
		priorMean: []float64{0, 0}, priorSD: []float64{10, 1.5}, always: []int{0, 1}, logPrior: []float64{0}, logSigmaSD: 3,
	}
	m, err := p.shaped(weibullRow, true)([]int{0, 1})
	require.NoError(t, err)
	assert.InDelta(t, -14.524, m.logEvidence, 0.02)
}
