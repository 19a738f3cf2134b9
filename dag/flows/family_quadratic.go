package flows

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/gpu"
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

// transform is T with TTᵀ = H⁻¹ over the coordinates in use, by rows [D·D] and zero elsewhere, and
// its log determinant. A curvature that is not positive definite is an error.
func (q familyQuadratic) transform(mask []bool) (scale []float64, logDet float64, err error) {
	dim := len(mask)
	scale = make([]float64, dim*dim)
	of := used(mask)
	if len(of) == 0 {
		return scale, 0, nil
	}
	precision := mat.NewSymDense(len(of), nil)
	for a, i := range of {
		for b := range a + 1 {
			precision.SetSym(a, b, q.precision[i*dim+of[b]])
		}
	}
	var cholesky mat.Cholesky
	if !cholesky.Factorize(precision) {
		return nil, 0, errors.New("the curvature of a log density at its mode is not positive definite to rounding")
	}
	var upper, inverse mat.TriDense
	cholesky.UTo(&upper)
	// the condition number is bounded by the prior; what rounding leaves is corrected by the
	// weights
	_ = inverse.InverseTri(&upper)
	for a, i := range of {
		logDet -= math.Log(upper.At(a, a))
		for b, k := range of {
			scale[i*dim+k] = inverse.At(a, b)
		}
	}
	return scale, logDet, nil
}

// used lists the coordinates in use.
func used(mask []bool) (of []int) {
	for k, on := range mask {
		if on {
			of = append(of, k)
		}
	}
	return of
}

// LaplaceScores are the log evidences that the quadratics of linear families amount to.
func (t *Target) LaplaceScores(device *gpu.Device) ([]float64, error) {
	dim := t.Families.Dim()
	exec, err := graph.NewExec(device.Backend(), func(codes, theta *graph.Node) *graph.Node {
		return graph.ConvertDType(t.logJointOf(codes, t.Families.Mask(codes), theta), dtypes.Float64)
	})
	if err != nil {
		return nil, err
	}
	codes, modes := make([]int32, 0, 2*len(t.nodes)), make([]float64, 0, dim*len(t.nodes))
	scores := make([]float64, len(t.nodes))
	var stats *score.LinearStats
	for i, f := range t.problem.Families {
		if i == 0 || t.problem.Families[i-1].Node != f.Node {
			stats = score.NewLinearStats(t.problem.Data, f.Node)
		}
		q, mask := newQuadratic(t.layout, stats, f, t.problem.Model.PriorSD), t.layout.Mask(f)
		_, logDet, err := q.transform(mask)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.problem.FamilyName(f), err)
		}
		scores[i] = logDet + float64(len(used(mask)))*score.HalfLog2Pi
		codes, modes = append(codes, t.Families.code(i)...), append(modes, q.mode...)
	}
	outputs, err := exec.Exec(tensors.FromFlatDataAndDimensions(codes, len(t.nodes), len(t.Families.cards)), tensors.FromFlatDataAndDimensions(modes, len(t.nodes), dim))
	if err != nil {
		return nil, fmt.Errorf("pilot scores of families: %w", err)
	}
	for i, value := range tensors.MustCopyFlatData[float64](outputs[0]) {
		if scores[i] += value; math.IsNaN(scores[i]) || math.IsInf(scores[i], 0) {
			return nil, fmt.Errorf("the pilot score of %s is %g", t.problem.FamilyName(t.problem.Families[i]), scores[i])
		}
	}
	return scores, nil
}
