package surrogate

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/apply"
)

// kernel is the covariance of the expected rewards of two codes, a product over sites:
//
//	k(c, c') = s² ∏_s exp(−r_s [c_s ≠ c'_s])
//
// If sites have two outcomes x = ±1 and ρ is defined by exp(−r) = (1 − ρ)/(1 + ρ), each factor is ∝
// 1 + ρ x x'. The product contains every interaction between sites, weighted by the product of the
// ρ of these sites. Small relevances r_s with a large s² represent a nearly additive function.
type kernel struct {
	scale     float64   // s², in nats²
	relevance []float64 // r_s > 0
}

// matrix writes k of every code of a against every code of b: [len(a), len(b)].
func (k kernel) matrix(a, b [][]int32) *mat.Dense {
	factor := apply.To(k.relevance, func(r float64) float64 { return math.Exp(-r) })
	out := mat.NewDense(len(a), len(b), nil)
	for i, left := range a {
		row := out.RawRowView(i)
		for j, right := range b {
			value := k.scale
			for s, f := range factor {
				if left[s] != right[s] {
					value *= f
				}
			}
			row[j] = value
		}
	}
	return out
}

// jitter is added to the diagonal of covariances between inducing codes, in units of s²: about the
// square root of the precision of float64. It makes the Cholesky factorisation possible.
const jitter = 1e-8

// factor returns the lower Cholesky factor of the covariance of distinct codes.
func (k kernel) factor(codes [][]int32) *mat.TriDense {
	covariance := mat.NewSymDense(len(codes), k.matrix(codes, codes).RawMatrix().Data)
	for i := range codes {
		covariance.SetSym(i, i, k.scale+jitter*k.scale)
	}
	return lowerOf(covariance, 9*jitter*k.scale)
}

// lowerOf returns the lower Cholesky factor of a. While there is none, it adds extra to the
// diagonal of a, then ten times extra, and so on.
func lowerOf(a *mat.SymDense, extra float64) *mat.TriDense {
	var cholesky mat.Cholesky
	for ; !cholesky.Factorize(a); extra *= 10 {
		for i := range a.SymmetricDim() {
			a.SetSym(i, i, a.At(i, i)+extra)
		}
	}
	lower := new(mat.TriDense)
	cholesky.LTo(lower)
	return lower
}
