package psis

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// ControlledDraws is the smallest number of draws for which Controlled uses a regression. With this
// number or more, the bias of the regression is below a fifth of its standard error
// (TestControlledErrorsAreRight in package vti).
const ControlledDraws = 1024

// Controlled returns the log of the mean of weights with its standard error. The draws come from a
// mixture, whose components are used as control variates (Owen and Zhou 2000). The means of the
// components are known, so the part of the weights that a regression on them explains adds no
// error. If a flow is exact, weights are a multiple of its component and have no error. The
// argument smoothed is the result of Pareto smoothing for the weights. Its mean is returned if the
// weights have no variance or are too few for a regression. The argument components holds for each
// draw in turn the densities of all components divided by the density of the mixture.
func Controlled(logWeights []float64, smoothed Result, components []float64) (logMean, se float64) {
	n := len(logWeights)
	if n < ControlledDraws || len(components) == 0 || smoothed.K > FiniteVariance || !(math.Abs(smoothed.LogMean) <= math.MaxFloat64) {
		return smoothed.LogMean, smoothed.LogMeanSE
	}
	k := len(components) / n
	// The regression is w = mean + Σ β_k (c_k − 1) + residual, where w is a weight divided by the
	// plain mean of the weights, and c_k is an element of components.
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

// interceptError returns the standard error of the first coefficient of a regression. Residuals
// differ in variance and rows in leverage: the components explain the weights worst where the
// components are largest. The standard error is therefore HC3 of MacKinnon and White (1985). It is
// NaN if it cannot be computed.
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
	// q is Q in the factorisation X = Q R of the design. The leverage of a row is the squared norm
	// of its row of Q, and its influence on the intercept follows from R⁻¹ Qᵀ.
	var q, inverse mat.Dense
	if inverse.Solve(upper, mat.NewDiagDense(k, slices.Repeat([]float64{1}, k))) != nil {
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
		// A row that alone determines a coefficient has a residual of 0 and a leverage of 1.
		term := influence * residual / math.Max(1-leverage, 1e-3)
		sum += term * term
	}
	return math.Sqrt(sum)
}
