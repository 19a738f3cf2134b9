package psis

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// ControlledDraws is the number of draws from which on the regression on the components reduces the
// error: its bias is then below a fifth of its standard error (TestControlledErrorsAreRight in
// package vti).
const ControlledDraws = 1024

// Controlled returns the log of the mean of weights with its standard error. The components of the
// mixture that the draws come from are control variates (Owen and Zhou 2000): their means are
// known, so the part of the weights that they explain is no error. Weights of an exact flow are a
// multiple of its component, and have no error. smoothed is the result of Pareto smoothing for the
// weights; its mean stays where the weights have no variance or are too few for a regression.
// components are the components of each draw, one draw after the other.
func Controlled(logWeights []float64, smoothed Result, components []float64) (logMean, se float64) {
	n := len(logWeights)
	if n < ControlledDraws || len(components) == 0 || smoothed.K > FiniteVariance || !(math.Abs(smoothed.LogMean) <= math.MaxFloat64) {
		return smoothed.LogMean, smoothed.LogMeanSE
	}
	k := len(components) / n
	// w = mean + Σ β_k (c_k − 1) + residual, with w relative to the plain mean
	design, w := mat.NewDense(n, k+1, nil), mat.NewVecDense(n, nil)
	for i, logWeight := range logWeights {
		w.SetVec(i, math.Exp(logWeight-smoothed.LogMean))
		design.Set(i, 0, 1)
		for c := range k {
			design.Set(i, c+1, components[i*k+c]-1)
		}
	}
	var factor mat.QR
	factor.Factorize(design)
	var beta mat.VecDense
	if err := factor.SolveVecTo(&beta, false, w); err != nil {
		return smoothed.LogMean, smoothed.LogMeanSE // components that cannot be distinguished
	}
	mean := beta.AtVec(0)
	if !(mean > 0) {
		return smoothed.LogMean, smoothed.LogMeanSE
	}
	se = interceptError(design, w, &beta, &factor)
	return smoothed.LogMean + math.Log(mean), se / mean
}

// interceptError is the standard error of the first coefficient of a regression whose residuals
// differ in variance and whose rows in leverage (HC3 of MacKinnon and White 1985): the weights that
// the components explain worst are those with the largest components. NaN if it cannot be had.
func interceptError(design *mat.Dense, response *mat.VecDense, beta *mat.VecDense, factor *mat.QR) float64 {
	n, k := design.Dims()
	var r mat.Dense
	factor.RTo(&r)
	upper := mat.NewTriDense(k, mat.Upper, nil)
	for i := range k {
		for j := i; j < k; j++ {
			upper.SetTri(i, j, r.At(i, j))
		}
	}
	// rows of Q = X R⁻¹: leverages are their squares, the intercept's influence R⁻¹ Q
	var q, inverse mat.Dense
	if inverse.Solve(upper, identity(k)) != nil {
		return math.NaN()
	}
	q.Mul(design, &inverse)
	var sum float64
	for i := range n {
		residual, leverage, influence := response.AtVec(i), 0.0, 0.0
		for j := range k {
			residual -= design.At(i, j) * beta.AtVec(j)
			leverage += q.At(i, j) * q.At(i, j)
			influence += inverse.At(0, j) * q.At(i, j)
		}
		// a row that decides a coefficient alone has no residual to judge it by
		term := influence * residual / math.Max(1-leverage, 1e-3)
		sum += term * term
	}
	return math.Sqrt(sum)
}

func identity(n int) *mat.DiagDense {
	ones := make([]float64, n)
	for i := range ones {
		ones[i] = 1
	}
	return mat.NewDiagDense(n, ones)
}
