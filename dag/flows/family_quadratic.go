package flows

import (
	"math"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
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
// where rows are few.
func newQuadratic(l sem.Layout, stats *score.LinearStats, f dgraph.Family, priorSD float64) familyQuadratic {
	of := f.Parents.List()
	given := stats.Spectrum(f.Parents)
	logSigma, curvature := math.Log(l.Sigma), 0.0
	if l.Sigma == 0 {
		logSigma, curvature = given.HighestMode(stats.LogSD, priorSD)
	}
	shrinkage := 1 / (priorSD * priorSD)
	precision := math.Exp(-2 * logSigma)
	for _, value := range given.Values {
		// else rounding would make the curvature indefinite
		precision = math.Min(precision, steepest*shrinkage/value)
	}
	weights := make([]float64, len(of))
	for k, value := range given.Values {
		along := given.Signed[k] * precision / (value*precision + shrinkage)
		for a := range weights {
			weights[a] += given.Vectors.At(a, k) * along
		}
		curvature += score.Square(2*shrinkage*along) / (value*precision + shrinkage)
	}
	dim := l.Dim()
	q := familyQuadratic{make([]float64, dim*dim), make([]float64, dim), make([]float64, dim)}
	set := func(a, b int, value float64) { q.precision[a*dim+b], q.precision[b*dim+a] = value, value }
	for k := range dim {
		set(k, k, 1)
	}
	for a, i := range of {
		q.mode[i] = weights[a]
		for _, k := range of {
			set(i, k, precision*stats.Gram.At(i, k))
		}
		set(i, i, precision*stats.Gram.At(i, i)+shrinkage)
		if l.Sigma == 0 {
			// The gradient in the weights, X_paᵀ(x_j − X_pa w)/σ² − w/σ0², is zero here, and its
			// derivative in log σ −2 w/σ0². What this takes from the curvature in log σ given the
			// weights is in the sum above.
			set(i, l.Weights(), 2*shrinkage*weights[a])
		}
	}
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
