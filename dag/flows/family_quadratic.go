package flows

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/internal/dense"
)

// familyQuadratic approximates the log density of the parameters of a family near its mode by −½
// θᵀHθ + bᵀθ.
type familyQuadratic struct {
	precision []float64 // H [D·D], the identity where not in use
	linear    []float64 // b [D], 0 where not in use
	mode      []float64 // [D], 0 where not in use
}

// newQuadratic is that of a linear mechanism: exact when the noise is known. When it is not, it is
// that of the normal distribution whose log σ has the mode and the curvature of the posterior of
// log σ alone, and whose weights follow as they do there: a joint mode would lie at much less noise
// where rows are few. gram is Σ x xᵀ over the rows that count for the node [N·N].
func newQuadratic(l sem.Layout, form *score.LinearForm, gram *mat.Dense, parents dgraph.Set, priorSD float64) familyQuadratic {
	of, dim := parents.List(), l.Dim()
	q := familyQuadratic{make([]float64, dim*dim), make([]float64, dim), make([]float64, dim)}
	set := func(a, b int, value float64) { q.precision[a*dim+b], q.precision[b*dim+a] = value, value }
	for k := range dim {
		set(k, k, 1)
	}
	given, err := form.Family(parents)
	if err != nil { // squares overflow, and the scores of the families will say so
		return q
	}
	logSigma, curvature := given.Peak()
	weights := make([]float64, len(of))
	given.Mode(logSigma, weights)
	shrinkage, trace := 1/(priorSD*priorSD), 0.0
	for _, i := range of {
		trace += gram.At(i, i)
	}
	// else rounding would make the curvature indefinite
	precision := math.Min(math.Exp(-2*logSigma), steepest*shrinkage/trace)
	inner, cross := make([]float64, len(of)*len(of)), make([]float64, len(of))
	for a, i := range of {
		q.mode[i] = weights[a]
		for b, k := range of {
			inner[a*len(of)+b] = precision * gram.At(i, k)
			set(i, k, inner[a*len(of)+b])
		}
		inner[a*len(of)+a] += shrinkage
		set(i, i, inner[a*len(of)+a])
		if l.Sigma == 0 {
			// The gradient in the weights, X_paᵀ(x_j − X_pa w)/σ² − w/σ0², is zero here, and its
			// derivative in log σ −2 w/σ0².
			cross[a] = 2 * shrinkage * weights[a]
			set(i, l.Weights(), cross[a])
		}
	}
	factor, _ := dense.Factorize(inner, len(of), 0) // at least the factor of the prior
	factor.SolveLower(cross)
	curvature += floats.Dot(cross, cross) // what the weights take from the curvature in log σ
	if l.Sigma == 0 {
		q.mode[l.Weights()] = logSigma
		set(l.Weights(), l.Weights(), curvature)
	}
	for a := range dim {
		for b := range dim {
			q.linear[a] += q.precision[a*dim+b] * q.mode[b]
		}
	}
	return q
}

// steepest is the largest curvature in units of that of the prior.
const steepest = 1e12
