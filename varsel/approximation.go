package varsel

import (
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/varsel/regression"
)

// approximation is a normal approximation of the posterior of one model, at a mode of the
// coefficients. An unknown log σ is independent of the coefficients.
type approximation struct {
	regression.Active
	theta       []float64     // the mean of the coefficients; NaN if no mode was found
	precision   *mat.SymDense // of the coefficients
	linear      *mat.VecDense // precision times mean
	logScale    float64
	curvature   float64 // precision of an unknown log σ at its mode
	logEvidence float64 // approximate log evidence; not set if σ is unknown
}

// approximate returns the approximation of a model. The noise scale must be known unless the
// likelihood is normal.
func (t *Target) approximate(a regression.Active) *approximation {
	k := len(a.Columns)
	f := &approximation{Active: a, theta: make([]float64, k), precision: mat.NewSymDense(k, nil), linear: mat.NewVecDense(k, nil), logScale: t.LogScale}
	var err error
	if t.Kind.Conjugate() {
		err = f.atPeak(t)
	} else {
		err = f.atMode(t)
	}
	if err != nil {
		f.logEvidence = math.NaN()
		for j := range f.theta {
			f.theta[j] = math.NaN()
			f.precision.SetSym(j, j, 1)
		}
	}
	return f
}

// atPeak sets the approximation of a model of a normal response, at the mode of log σ with the
// coefficients integrated out.
func (f *approximation) atPeak(t *Target) error {
	posterior, err := t.Posterior(f.Active)
	if err != nil {
		return err
	}
	f.logScale, f.curvature = posterior.Peak()
	posterior.Mode(f.logScale, f.theta)
	weights := apply.UpTo(len(t.Responses.Y), func(int) float64 { return math.Exp(-2 * f.logScale) })
	f.precision, f.linear = f.NormalEquations(weights, t.Responses.Y)
	return nil
}

// atMode sets the Laplace approximation at the mode of the coefficients.
func (f *approximation) atMode(t *Target) error {
	fit, err := newLaplaceFit(t, f.Active, math.Exp(t.LogScale), f.Mean)
	if err != nil {
		return err
	}
	f.theta, f.precision, f.logEvidence = fit.mode, fit.information(), fit.logIntegral()
	f.linear.MulVec(f.precision, mat.NewVecDense(len(f.theta), f.theta))
	return nil
}

// store writes the approximation in all D coordinates: its precision matrix to precision [D·D], and
// the precision matrix times the mean to linear [D]. An unused coordinate gets precision 1.
func (f *approximation) store(precision, linear []float64) {
	dim := len(linear)
	for j := range dim {
		precision[j*dim+j] = 1
	}
	for a, j := range f.Coordinates {
		linear[j] = f.linear.AtVec(a)
		for b, k := range f.Coordinates {
			precision[j*dim+k] = f.precision.At(a, b)
		}
	}
	if f.Scale >= 0 {
		precision[f.Scale*dim+f.Scale], linear[f.Scale] = f.curvature, f.curvature*f.logScale
	}
}

// modelAnchors holds a normal approximation of each of the K models of a [Target], from which
// amortized networks start. To restrict the approximation of the largest model to the coordinates
// of a smaller model would be useless if the largest model explains a few rows almost without
// noise, or if counts reach millions. A [SlotTarget] finds its approximations by other means.
type modelAnchors struct {
	cards             []int
	dim               int
	precision, linear []float64 // [K·D·D] and [K·D], by the index of the code
	logEvidence       []float64 // approximate log p(y | m) [K]; not set if a scale is inferred
}

// Bounds of the work on anchors (approximations of all models): a second or two on two cores.
const (
	anchoredModels = 1 << 12
	anchorNumbers  = 1 << 22 // number of elements of the precision matrices of all models
	anchorWork     = 4e8     // number of models times rows times squared coordinates
)

// anchorable reports whether approximations of count models of at most dim coordinates are
// affordable.
func anchorable(count, rows, dim int) bool {
	work := float64(count) * float64(rows*dim*dim)
	return count <= anchoredModels && count*dim*dim <= anchorNumbers && work <= anchorWork && dim <= cosmic.MaxCoupledDim
}

// newModelAnchors finds the approximations of all models, on all cores. It returns nil if there are
// too many models.
func newModelAnchors(t *Target) *modelAnchors {
	cards, dim := t.space.Cards(), t.space.Dim()
	rows, _ := t.X.Dims()
	count, ok := space.Count(t.space)
	if !ok || !anchorable(count, rows, dim) {
		return nil
	}
	a := &modelAnchors{cards, dim, make([]float64, count*dim*dim), make([]float64, count*dim), make([]float64, count)}
	codes := make([][]int32, 0, count)
	for _, code := range space.All(cards) {
		codes = append(codes, append([]int32(nil), code...))
	}
	parallel.Run(count, func(i int) {
		f := t.approximate(t.active(codes[i]))
		f.store(a.precision[i*dim*dim:(i+1)*dim*dim], a.linear[i*dim:(i+1)*dim])
		a.logEvidence[i] = f.logEvidence
	})
	return a
}

// Quadratic returns the precision matrices of the approximations of models, by their codes, and the
// products of these matrices with the means.
func (a *modelAnchors) Quadratic(codes, _ *Node, dtype dtypes.DType) (precision, linear *Node) {
	index := InsertAxes(space.Index(a.cards, codes), -1)
	count := len(a.linear) / a.dim
	lookUp := func(values []float64, width int) *Node {
		return Gather(ConvertDType(Reshape(Const(codes.Graph(), values), count, width), dtype), index)
	}
	return Reshape(lookUp(a.precision, a.dim*a.dim), -1, a.dim, a.dim), lookUp(a.linear, a.dim)
}
