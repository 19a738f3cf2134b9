package regression

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"

	"github.com/transdim/vti/internal/logsum"
)

// quadratureEvidence is log p(y | m) of a gaussian response in the units of the table without
// sampling: effects are integrated out in closed form, and standard deviations, correlations and
// noise by a product of Gauss-Hermite rules around their mode, each with so many nodes.
func quadratureEvidence(t testing.TB, r *Regression, code []int32, nodes int) float64 {
	t.Helper()
	mask := r.space.MaskRow(code, nil)
	free, effects := r.hyperparameters(mask), newJointEffects(r)
	theta := make([]float64, r.Dim())
	integral, err := adaptiveHermite(func(h []float64) float64 {
		for i, j := range free {
			theta[j] = h[i]
		}
		return effects.logMarginal(mask, theta)
	}, len(free), nodes)
	require.NoError(t, err)
	return integral + r.logJacobian
}

// adaptiveHermite is log ∫ exp(f): a product Gauss-Hermite rule in the coordinates in which f has
// unit curvature at its mode.
func adaptiveHermite(f func([]float64) float64, dim, nodes int) (float64, error) {
	best, err := optimize.Minimize(optimize.Problem{Func: func(h []float64) float64 { return finiteOr(-f(h), 1e100) }}, make([]float64, dim),
		&optimize.Settings{FuncEvaluations: 4000}, &optimize.NelderMead{})
	if err != nil {
		return 0, err
	}
	hessian := mat.NewSymDense(dim, nil)
	fd.Hessian(hessian, func(h []float64) float64 { return -f(h) }, best.X, &fd.Settings{Step: 1e-3})
	var eigen mat.EigenSym
	if !eigen.Factorize(hessian, true) {
		return 0, fmt.Errorf("the curvature at the mode has no eigenvalues")
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	logVolume := 0.0
	for i, value := range eigen.Values(nil) {
		width := 1 / math.Sqrt(math.Max(value, 0.05)) // no wider than what the priors allow
		logVolume += math.Log(width)
		for k := range dim {
			vectors.Set(k, i, vectors.At(k, i)*width)
		}
	}
	// ∫ g(x) dx with g(x) = exp(f(mode + W x)) |W|: nodes √2 t and weights w e^(t²) √2 of the rule
	// for e^(−t²).
	t, w := make([]float64, nodes), make([]float64, nodes)
	quad.Hermite{}.FixedLocations(t, w, math.Inf(-1), math.Inf(1))
	place := make([]int, dim)
	h := make([]float64, dim)
	var values []float64
	for {
		copy(h, best.X)
		logWeight := logVolume
		for i, at := range place {
			logWeight += math.Log(w[at]) + t[at]*t[at] + math.Ln2/2
			for k := range dim {
				h[k] += vectors.At(k, i) * t[at] * math.Sqrt2
			}
		}
		values = append(values, finiteOr(f(h), math.Inf(-1))+logWeight)
		i := dim - 1
		for ; i >= 0; i-- {
			if place[i]++; place[i] < nodes {
				break
			}
			place[i] = 0
		}
		if i < 0 {
			return logsum.Of(values), nil
		}
	}
}

func finiteOr(x, fallback float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return fallback
	}
	return x
}

// The quadrature over standard deviations, correlation and noise agrees with a sum over a fine
// grid, and more nodes change nothing.
func TestQuadratureEvidence(t *testing.T) {
	r := newRegression(t, frameOfFile(t, "sleepstudy.csv", FrameOptions{Formula: "Reaction ~ Days + (1 | Subject)"}), Options{})
	effects, mask, theta := newJointEffects(r), r.space.masks[0], make([]float64, r.Dim())
	free := r.hyperparameters(mask)
	require.Len(t, free, 2)
	var values []float64
	const step = 0.05
	for tau := -8.0; tau < 6; tau += step {
		for noise := -2.0; noise < 1; noise += step {
			theta[free[0]], theta[free[1]] = tau, noise
			values = append(values, effects.logMarginal(mask, theta)+2*math.Log(step))
		}
	}
	code := make([]int32, 1)
	assert.InDelta(t, logsum.Of(values)+r.LogJacobian(), quadratureEvidence(t, r, code, 13), 1e-3)
	for _, formula := range []string{"Reaction ~ Days + (Days | Subject)", "Reaction ~ Days + (Days || Subject)"} {
		r := newRegression(t, frameOfFile(t, "sleepstudy.csv", FrameOptions{Formula: formula}), Options{})
		assert.InDelta(t, quadratureEvidence(t, r, code, 13), quadratureEvidence(t, r, code, 9), 2e-3, formula)
	}
}
