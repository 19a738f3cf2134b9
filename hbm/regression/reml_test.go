package regression

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
)

// classical is a fit by (restricted) maximum likelihood, in the units of the table: no priors take
// part.
type classical struct {
	logLikelihood float64
	fixed, errors []float64
	sd            [][]float64 // by grouping and column
	correlation   float64     // of the first two columns of the first grouping
	sigma         float64
}

// fitClassical maximises the (restricted) likelihood over standard deviations, correlations and
// noise.
func fitClassical(t testing.TB, r *Regression, restricted bool) classical {
	t.Helper()
	require.Len(t, r.groups, 1)
	data, mask := newGrouped(r.y, r.wide(), r.inner), r.space.masks[0]
	free := r.hyperparameters(mask)
	theta := make([]float64, r.Dim())
	n, p := float64(len(r.y)), float64(len(r.Frame.Columns))
	var solved mat.VecDense
	var cholesky mat.Cholesky
	at := func(h []float64) float64 {
		for i, j := range free {
			theta[j] = h[i]
		}
		m := data.momentsAt(r.factorAt(r.inner, mask, theta), r.noiseAt(theta))
		if !cholesky.Factorize(m.vv) || cholesky.SolveVecTo(&solved, m.vy) != nil {
			return math.Inf(-1)
		}
		value := -n*(math.Log(2*math.Pi)/2+math.Log(r.ySD)) - m.logDet/2 - (m.yy-mat.Dot(m.vy, &solved))/2
		if restricted { // ∫ dβ in the units of the table
			value += p*(math.Log(2*math.Pi)/2+math.Log(r.ySD)) - cholesky.LogDet()/2
			for _, sd := range r.xSD {
				value -= math.Log(sd)
			}
		}
		return value
	}
	best, err := optimize.Minimize(optimize.Problem{Func: func(h []float64) float64 { return finiteOr(-at(h), 1e100) }},
		make([]float64, len(free)), &optimize.Settings{Converger: &optimize.FunctionConverge{Absolute: 1e-11, Iterations: 300}}, &optimize.NelderMead{})
	require.NoError(t, err)
	fit := classical{logLikelihood: at(best.X), sigma: r.noiseAt(theta) * r.ySD}
	var covariance mat.SymDense
	require.NoError(t, cholesky.InverseTo(&covariance))
	shift := r.yMean
	for j := range r.Frame.Columns {
		slope := r.ySD / r.xSD[j]
		fit.fixed = append(fit.fixed, solved.AtVec(j)*slope)
		fit.errors = append(fit.errors, math.Sqrt(covariance.At(j, j))*slope)
		shift -= fit.fixed[j] * r.xMean[j]
	}
	if r.Frame.Formula.HasIntercept() {
		fit.fixed[0] += shift
	}
	for _, g := range r.groups {
		factor := r.factorAt(g, mask, theta)
		var sds []float64
		for a := range factor {
			sds = append(sds, norm(factor[a])*r.ySD/g.zSD[a])
		}
		fit.sd = append(fit.sd, sds)
		if len(factor) > 1 {
			fit.correlation = factor[1][0] / norm(factor[1])
		}
	}
	return fit
}

// Restricted maximum likelihood gives the published figures: lme4's documentation of sleepstudy,
// chapter 12 of Gelman and Hill (2007) for radon, and the examples of BUGS for rats.
func TestPublishedClassicalFits(t *testing.T) {
	fit := func(file, formula string, restricted bool) classical {
		return fitClassical(t, newRegression(t, frameOfFile(t, file, FrameOptions{Formula: formula}), Options{}), restricted)
	}
	slopes := fit("sleepstudy.csv", "Reaction ~ Days + (Days | Subject)", true)
	assert.InDelta(t, -1743.628/2, slopes.logLikelihood, 1e-3)
	assert.InDeltaSlice(t, []float64{251.405, 10.467}, slopes.fixed, 1e-3)
	assert.InDelta(t, 1.546, slopes.errors[1], 1e-3)
	assert.InDeltaSlice(t, []float64{24.74, 5.92}, slopes.sd[0], 1e-2)
	assert.InDelta(t, 25.59, slopes.sigma, 1e-2)
	assert.InDelta(t, 0.066, slopes.correlation, 2e-3)
	likelihood := fit("sleepstudy.csv", "Reaction ~ Days + (Days | Subject)", false)
	assert.InDelta(t, -875.970, likelihood.logLikelihood, 1e-3)
	intercepts := fit("sleepstudy.csv", "Reaction ~ Days + (1 | Subject)", true)
	assert.InDelta(t, 37.124, intercepts.sd[0][0], 1e-3)
	assert.InDelta(t, 30.991, intercepts.sigma, 1e-3)

	hill := fit("radon_gelman_hill.csv", "log.radon ~ basement + (1 | county)", true)
	assert.InDeltaSlice(t, []float64{1.4616, -0.6930}, hill.fixed, 1e-4)
	assert.InDelta(t, 0.3282, hill.sd[0][0], 1e-4)
	assert.InDelta(t, 0.7556, hill.sigma, 1e-4)
	radon := fit("radon.csv", "log_radon ~ floor + (1 | county)", true)
	assert.InDeltaSlice(t, []float64{1.4924, -0.6629}, radon.fixed, 1e-4)
	assert.InDelta(t, 0.3154, radon.sd[0][0], 1e-4)
	assert.InDelta(t, 0.7258, radon.sigma, 1e-4)

	rats := fit("rats.csv", "weight ~ day + (day | rat)", true)
	assert.InDeltaSlice(t, []float64{106.568, 6.1857}, rats.fixed, 1e-3)
}

// The quadrature over standard deviations, correlation and noise agrees with a sum over a fine
// grid, and more nodes change nothing.
func TestExactLogEvidence(t *testing.T) {
	r := newRegression(t, frameOfFile(t, "sleepstudy.csv", FrameOptions{Formula: "Reaction ~ Days + (1 | Subject)"}), Options{})
	data, mask, theta := newGrouped(r.y, r.wide(), r.inner), r.space.masks[0], make([]float64, r.Dim())
	free := r.hyperparameters(mask)
	require.Len(t, free, 2)
	var values []float64
	const step = 0.05
	for tau := -8.0; tau < 6; tau += step {
		for noise := -2.0; noise < 1; noise += step {
			theta[free[0]], theta[free[1]] = tau, noise
			values = append(values, r.logMarginal(data, mask, theta)+2*math.Log(step))
		}
	}
	code := make([]int32, 1)
	got, err := r.ExactLogEvidence(code, 0)
	require.NoError(t, err)
	assert.InDelta(t, logSumOf(values)+r.LogJacobian(), got, 1e-3)
	for formula, tolerance := range map[string]float64{"Reaction ~ Days + (Days | Subject)": 2e-3, "Reaction ~ Days + (Days || Subject)": 2e-3} {
		r := newRegression(t, frameOfFile(t, "sleepstudy.csv", FrameOptions{Formula: formula}), Options{})
		few, err := r.ExactLogEvidence(code, 9)
		require.NoError(t, err)
		more, err := r.ExactLogEvidence(code, 13)
		require.NoError(t, err)
		assert.InDelta(t, more, few, tolerance, formula)
		t.Log(formula, few, more)
	}
	poisson := newRegression(t, frameOf(t, "y,g\n1,a\n2,a\n4,b\n1,b\n", FrameOptions{Formula: "y ~ (1|g)", Response: PoissonResponse}), Options{})
	_, err = poisson.ExactLogEvidence(code, 0)
	require.ErrorContains(t, err, "gaussian likelihood only, not for poisson")
}
