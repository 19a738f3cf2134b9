package mixture

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// logDeterminant is the log absolute determinant of the derivative of f at x by finite differences.
func logDeterminant(f func(x []float64) []float64, x []float64) float64 {
	const d = 1e-6
	jacobian := mat.NewDense(len(x), len(x), nil)
	for j := range x {
		up, down := append([]float64(nil), x...), append([]float64(nil), x...)
		up[j] += d
		down[j] -= d
		high, low := f(up), f(down)
		for i := range high {
			jacobian.Set(i, j, (high[i]-low[i])/(2*d))
		}
	}
	log, _ := mat.LogDet(jacobian)
	return log
}

// The Jacobian of a split is that of finite differences, merging leads back, and both keep weight,
// mean and variance.
func TestSplit(t *testing.T) {
	x := []float64{0.4, -0.2, 0.09, 0.3, 0.6, 0.45}
	both := func(x []float64) []float64 {
		left, right := component{x[0], x[1], x[2]}.split(x[3], x[4], x[5])
		return []float64{left.weight, right.weight, left.mean, right.mean, left.variance, right.variance}
	}
	one := component{x[0], x[1], x[2]}
	left, right := one.split(x[3], x[4], x[5])
	require.InDelta(t, logDeterminant(both, x), logSplitJacobian(one, left, right, x[4], x[5]), 1e-6)
	back, u1, u2, u3 := merged(left, right)
	require.InDeltaSlice(t, x, []float64{back.weight, back.mean, back.variance, u1, u2, u3}, 1e-12)
	second := func(c component) float64 { return c.weight * (c.mean*c.mean + c.variance) }
	require.InDelta(t, second(one), second(left)+second(right), 1e-12)

	// Clusters have no weights: at a given u1 the rest has this Jacobian.
	rest := func(x []float64) []float64 {
		left, right := component{1, x[0], x[1]}.split(0.3, x[2], x[3])
		return []float64{left.mean, right.mean, left.variance, right.variance}
	}
	at := []float64{-0.2, 0.09, 0.6, 0.45}
	one.weight = 1
	left, right = one.split(0.3, 0.6, 0.45)
	require.InDelta(t, logDeterminant(rest, at), logSplitJacobian(one, left, right, 0.6, 0.45), 1e-6)
}

// The acceptance ratio of a split is made of the density of the states, the choices of the moves
// and the densities of the numbers drawn.
func TestSplitRatioIsThatOfDensities(t *testing.T) {
	p := problemOf(t, Options{MaxComponents: 5, Concentration: 1.7}, []float64{1, 2.5, 2.7, 4, 9, 9.3})
	before := state{[]float64{0.4, 0.6}, []float64{-0.3, 0.3}, []float64{0.02, 0.05}, 0.4}
	one := component{0.6, 0.3, 0.05}
	left, right := one.split(0.4, 0.5, 0.6)
	after := state{[]float64{0.4, left.weight, right.weight}, []float64{-0.3, left.mean, right.mean}, []float64{0.02, left.variance, right.variance}, 0.4}
	require.True(t, after.ordered())
	c := p.newChain(before, nil)
	want := p.logPrior(&after) - p.logPrior(&before) - logBeta2(0.4) - logBeta2(0.5) + logSplitJacobian(one, left, right, 0.5, 0.6)
	require.InDelta(t, want, c.logSplitRatio(one, left, right, 0.4, 0.5, 0.6, 2), 1e-10)
	require.InDelta(t, p.logLikelihood(&before), c.logLik, 1e-10)
}

// Products instead of logarithms lose nothing, also where they leave the range of float64.
func TestLogSum(t *testing.T) {
	x := []float64{1e-120, 1e-130, 1e-90, 3, 1e250, 1e-310, 7}
	want := -400*math.Ln10 + math.Log(21)
	require.InDelta(t, want, logSum(x), 1e-6) // 1e-310 has few digits
	require.True(t, math.IsInf(logSum([]float64{1, 0, 2}), -1))
}
