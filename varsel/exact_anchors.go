package varsel

import (
	gocontext "context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/space"
)

// exactAnchors are the normal approximations of all models of a Gaussian [Target] with unknown
// noise: log σ at its posterior mean, and the coefficients, whose posterior given σ is normal, at
// that σ. They take two numbers a model, since precisions of coefficients are those of one Gram
// matrix. The quadrature that finds them finds the evidences too, which are kept.
type exactAnchors struct {
	target        *Target
	cross         []float64 // X'y [D]
	logEvidence   []float64 // [K], by the index of the code
	location      []float64 // E log σ [K]
	concentration []float64 // 1 / Var log σ [K]
}

// Bounds of the work on exact anchors. Chosen by hand, not tuned: five seconds of one core, of
// which a sum over all models is spared as much.
const (
	exactlyAnchored = 1 << 16
	exactAnchorWork = 4e8 // models times cubed coordinates
)

// newExactAnchors goes through all models, on all cores; nil where they are too many, where σ is
// known, so that one approximation restricted to the coordinates of a model is exact, and where
// sums of squares are not finite.
func newExactAnchors(t *Target) *exactAnchors {
	count, ok := space.Count(t.space)
	dim := t.space.Dim()
	if !ok || t.kind != likelihood.GaussianKind || t.scale < 0 || count > exactlyAnchored || float64(count)*float64(dim*dim*dim) > exactAnchorWork || dim > cosmic.MaxCoupledDim {
		return nil
	}
	codes := make([][]int32, 0, count)
	for _, code := range space.All(t.space.Cards()) {
		codes = append(codes, append([]int32(nil), code...))
	}
	a := &exactAnchors{
		target: t, cross: make([]float64, dim), logEvidence: make([]float64, count),
		location: make([]float64, count), concentration: make([]float64, count),
	}
	mat.NewVecDense(dim, a.cross).MulVec(t.x.T(), mat.NewVecDense(len(t.responses.y), t.responses.y))
	var next, failures atomic.Int64
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < count && failures.Load() == 0; i = int(next.Add(1)) - 1 {
				if !a.find(i, codes[i]) {
					failures.Add(1)
				}
			}
		})
	}
	wait.Wait()
	if failures.Load() > 0 {
		return nil
	}
	return a
}

// find fills in the model with an index, and reports whether its numbers are finite.
func (a *exactAnchors) find(index int, code []int32) bool {
	t := a.target
	model, err := t.conjugate(t.active(code))
	if err != nil {
		return false
	}
	posterior, err := newScalePosterior(model, t.mean[t.scale], t.sd[t.scale])
	if err != nil {
		return false
	}
	var mean, square float64
	middle := posterior.points[len(posterior.points)/2]
	for i, x := range posterior.points {
		mass := math.Exp(posterior.values[i]-posterior.logEvidence) * posterior.step
		mean += mass * (x - middle)
		square += mass * (x - middle) * (x - middle)
	}
	a.logEvidence[index], a.location[index], a.concentration[index] = posterior.logEvidence, middle+mean, 1/(square-mean*mean)
	sum := a.logEvidence[index] + a.location[index] + a.concentration[index]
	return !math.IsNaN(sum) && !math.IsInf(sum, 0) && a.concentration[index] > 0
}

// LogEvidences looks up log p(y | m) of each code.
func (a *exactAnchors) LogEvidences(ctx gocontext.Context, codes [][]int32) ([]float64, error) {
	values := make([]float64, len(codes))
	cards := a.target.space.Cards()
	for i, code := range codes {
		values[i] = a.logEvidence[space.Encode(cards, code)]
	}
	return values, ctx.Err()
}

// Quadratic is X'X/σ² + Λ and X'y/σ² + Λμ for the coefficients, and log σ apart.
func (a *exactAnchors) Quadratic(codes, _ *Node, dtype dtypes.DType) (precision, linear *Node) {
	t, dim := a.target, len(a.cross)
	var gram mat.Dense
	gram.Mul(t.x.T(), t.x)
	prior, priorLinear := mat.NewDense(dim, dim, nil), make([]float64, dim)
	scale := make([]float64, dim)
	scale[t.scale] = 1
	for j, sd := range t.sd {
		if j != t.scale {
			prior.Set(j, j, 1/(sd*sd))
			priorLinear[j] = t.mean[j] / (sd * sd)
		}
	}
	constant := func(values []float64, dimensions ...int) *Node {
		return ConvertDType(Reshape(Const(codes.Graph(), values), dimensions...), dtype)
	}
	index := InsertAxes(space.Index(t.space.Cards(), codes), -1)
	of := func(values []float64) *Node { // [B,1]
		return Gather(constant(values, len(values), 1), index)
	}
	location, concentration := of(a.location), of(a.concentration)
	noise := Exp(MulScalar(location, -2))
	ofScale := constant(scale, 1, dim)
	linear = Add(Mul(noise, constant(a.cross, 1, dim)), constant(priorLinear, 1, dim))
	linear = Add(linear, Mul(Mul(concentration, location), ofScale))
	precision = Add(Mul(InsertAxes(noise, -1), constant(gram.RawMatrix().Data, 1, dim, dim)), constant(prior.RawMatrix().Data, 1, dim, dim))
	ofScaleTwice := Mul(InsertAxes(ofScale, -1), InsertAxes(ofScale, 1)) // [1,D,D]
	return Add(precision, Mul(InsertAxes(concentration, -1), ofScaleTwice)), linear
}
