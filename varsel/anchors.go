package varsel

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/space"
)

// modelAnchors are the normal approximations of all models of a [Target], each at its own mode and
// at its own noise scale (under outliers by expectation propagation, which is wide enough for
// several modes), from which flow and chains start. One approximation for all, that of the largest
// model restricted to the coordinates of the others, is hopeless for the others where the largest
// explains a few rows almost without noise, or counts of millions. [SlotTarget] has such
// approximations by other means.
type modelAnchors struct {
	cards             []int
	dim               int
	precision, linear []float64 // [K·D·D] and [K·D], by the index of the code
	logEvidence       []float64 // approximate log p(y | m) where no scale is inferred [K]
}

// Bounds of the work on anchors. Chosen by hand, not tuned: a second or two on two cores.
const (
	anchoredModels = 1 << 12
	anchorNumbers  = 1 << 22 // in the precisions of all models
	anchorWork     = 4e8     // models times rows times squared coordinates
)

// needsAnchors reports whether models differ in more than which coordinates they have, and are few
// enough for one each.
func (t *Target) needsAnchors() bool {
	count, ok := space.Count(t.space)
	rows, _ := t.x.Dims()
	if !ok || !anchorable(count, rows*t.planes(), t.dim, t.outliers != nil) {
		return false
	}
	return t.scale >= 0 || t.kind.Link() != likelihood.IdentityLink || t.outliers != nil
}

// startsAtModes reports whether a flow has to begin at the modes of models: under responses with a
// shape or precision of their own, which grows without limit where the largest model explains a few
// rows almost without noise. Under heavy tails starts at modes were no faster.
func (t *Target) startsAtModes() bool {
	return t.scale >= 0 && !t.kind.Conjugate() && t.kind != likelihood.StudentKind && t.kind != likelihood.RobustKind
}

// startAtModes lets flows begin at the modes of models.
func (p *Problem) startAtModes() {
	p.anchors = sync.OnceValue(func() *modelAnchors { return newModelAnchors(p.Target) })
}

// anchorable reports whether so many models are few enough for an approximation of each.
func anchorable(count, rows, dim int, outliers bool) bool {
	work := float64(count) * float64(rows*dim*dim)
	if outliers {
		work *= 10 // more rounds, each with exponentials of every row
	}
	return count <= anchoredModels && count*dim*dim <= anchorNumbers && work <= anchorWork && dim <= cosmic.MaxCoupledDim
}

// newModelAnchors finds the approximations of all models, on all cores; nil where they are not
// needed or too many.
func newModelAnchors(t *Target) *modelAnchors {
	if !t.needsAnchors() {
		return nil
	}
	cards := t.space.Cards()
	count, _ := space.Count(t.space)
	dim := t.space.Dim()
	a := &modelAnchors{cards, dim, make([]float64, count*dim*dim), make([]float64, count*dim), make([]float64, count)}
	codes := make([][]int32, 0, count)
	for _, code := range space.All(cards) {
		codes = append(codes, append([]int32(nil), code...))
	}
	var next atomic.Int64
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < count; i = int(next.Add(1)) - 1 {
				if t.responses.categories != nil {
					t.storeCategories(codes[i], a.precision[i*dim*dim:(i+1)*dim*dim], a.linear[i*dim:(i+1)*dim])
					continue
				}
				fit := newModeFit(t, t.active(codes[i]))
				fit.find()
				fit.store(t.scale, a.precision[i*dim*dim:(i+1)*dim*dim], a.linear[i*dim:(i+1)*dim])
				a.logEvidence[i] = fit.logEvidence
			}
		})
	}
	wait.Wait()
	return a
}

// Quadratic looks up the approximations of models.
func (a *modelAnchors) Quadratic(codes, _ *Node, dtype dtypes.DType) (precision, linear *Node) {
	index := InsertAxes(space.Index(a.cards, codes), -1)
	count := len(a.linear) / a.dim
	of := func(values []float64, width int) *Node {
		return Gather(ConvertDType(Reshape(Const(codes.Graph(), values), count, width), dtype), index)
	}
	return Reshape(of(a.precision, a.dim*a.dim), -1, a.dim, a.dim), of(a.linear, a.dim)
}

// modeFit is the search for the mode of one model: of its coefficients given log σ by iterated
// least squares, and of log σ with the coefficients integrated out around theirs, in turn. The
// joint mode would do for neither: with as many coefficients as rows it has no noise at all.
type modeFit struct {
	active
	target *Target
	offset []float64 // [n] or nil

	theta, eta []float64
	logScale   float64
	curvature  float64 // of log σ

	logEvidence float64 // approximately, where σ is known

	precision *mat.SymDense // X'WX + Λ
	linear    *mat.VecDense // X'Wŷ + Λμ
	weights   []float64     // w
	response  []float64     // ŷ, less the offset
}

// Iterated least squares stop when no linear predictor moves by more than modeTolerance working
// standard deviations, at the latest after modeRounds rounds. Chosen by hand, not tuned: what is
// left is small against the width of a posterior.
const (
	modeRounds    = 60
	modeTolerance = 1e-4
)

func newModeFit(t *Target, a active) *modeFit {
	rows, _ := t.x.Dims()
	f := &modeFit{active: a, target: t, offset: t.offset, theta: make([]float64, len(a.coordinates)), eta: make([]float64, rows), logScale: t.logScale}
	copy(f.theta, a.mean)
	if t.scale >= 0 {
		f.logScale = t.mean[t.scale]
	}
	f.predict(f.theta, f.eta)
	return f
}

// predict writes the linear predictors of coefficients, with offset, to eta.
func (f *modeFit) predict(theta, eta []float64) {
	clear(eta)
	copy(eta, f.offset)
	for j, column := range f.columns {
		floats.AddScaled(eta, theta[j], column)
	}
}

// logJoint is the log density of coefficients given log σ, with the linear predictors they have.
func (f *modeFit) logJoint(theta, eta []float64) float64 {
	sum := f.target.responses.logDensityAt(eta, math.Exp(f.logScale))
	for j, v := range theta {
		z := (v - f.mean[j]) / f.sd[j]
		sum -= z * z / 2
	}
	return sum
}

// find moves to the mode, or to mean and precision by expectation propagation where there are
// outliers: their posteriors have several modes, one of which says little of the others.
func (f *modeFit) find() {
	if t := f.target; t.outliers != nil && len(f.columns) > 0 {
		p := newPropagation(t.outliers, t.responses.y, f.offset, f.active)
		if f.logEvidence = p.run(); p.finite() {
			copy(f.theta, p.mean())
			f.precision, f.linear = p.precision(), mat.NewVecDense(len(p.linear), p.linear)
			return
		}
	}
	unknown := f.target.scale >= 0
	trial, eta := make([]float64, len(f.theta)), make([]float64, len(f.eta))
	for range modeRounds {
		f.expand(true)
		to := f.solve()
		before, change := f.logJoint(f.theta, f.eta), 0.0
		for length := 1.0; length > 1e-3; length /= 2 {
			for j := range trial {
				trial[j] = f.theta[j] + length*(to[j]-f.theta[j])
			}
			f.predict(trial, eta)
			if f.logJoint(trial, eta) < before {
				continue // not cautious enough
			}
			for i := range eta {
				change = math.Max(change, math.Abs(eta[i]-f.eta[i])*math.Sqrt(f.weights[i]))
			}
			copy(f.theta, trial)
			copy(f.eta, eta)
			break
		}
		if unknown {
			logScale := f.logScale
			f.noise()
			change = math.Max(change, math.Abs(f.logScale-logScale))
		}
		if change < modeTolerance {
			break
		}
	}
	f.expand(false)
	f.logEvidence = f.laplaceEvidence()
}

// laplaceEvidence is the log evidence as the quadratic at the mode has it; NaN where rounding makes
// that indefinite.
func (f *modeFit) laplaceEvidence() float64 {
	var cholesky mat.Cholesky
	if !cholesky.Factorize(f.precision) {
		return math.NaN()
	}
	sum := f.logJoint(f.theta, f.eta) - cholesky.LogDet()/2
	for _, sd := range f.sd {
		sum -= math.Log(sd)
	}
	return sum
}

// expand sets the quadratic of the log density at the coefficients so far; see responses.working.
func (f *modeFit) expand(cautious bool) {
	f.weights, f.response = f.target.responses.working(f.eta, math.Exp(f.logScale), cautious)
	for i, o := range f.offset {
		f.response[i] -= o
	}
	k := max(len(f.columns), 1)
	f.precision, f.linear = mat.NewSymDense(k, nil), mat.NewVecDense(k, nil)
	if len(f.columns) == 0 {
		f.precision.SetSym(0, 0, 1) // a coordinate that is always zero stands for none
	}
	weighted := make([]float64, len(f.eta))
	for a, column := range f.columns {
		floats.MulTo(weighted, column, f.weights)
		prior := 1 / (f.sd[a] * f.sd[a])
		f.linear.SetVec(a, floats.Dot(weighted, f.response)+prior*f.mean[a])
		for b := range a + 1 {
			sum := floats.Dot(weighted, f.columns[b])
			if a == b {
				sum += prior
			}
			f.precision.SetSym(a, b, sum)
		}
	}
}

// solve returns the mode of the quadratic, or the coefficients as they are where rounding makes it
// indefinite.
func (f *modeFit) solve() []float64 {
	var cholesky mat.Cholesky
	if !cholesky.Factorize(f.precision) {
		return f.theta
	}
	var to mat.VecDense
	// a warning of bad condition: the prior keeps the result usable
	_ = cholesky.SolveVecTo(&to, f.linear)
	return to.RawVector().Data[:len(f.theta)]
}

// noise moves log σ to the mode of its density with the coefficients integrated out, and sets its
// curvature there: each coefficient that the data determine, rather than the prior, adds log σ.
func (f *modeFit) noise() {
	t := f.target
	mean, sd := t.mean[t.scale], t.sd[t.scale]
	determined := f.determined()
	density := func(x float64) float64 {
		z := (x - mean) / sd
		return t.responses.logDensityAt(f.eta, math.Exp(x)) + determined*x - z*z/2
	}
	f.logScale, f.curvature = peak(density, f.logScale, 1/(sd*sd))
}

// determined is the number of coefficients that the data determine: k − tr(Λ (X'WX + Λ)⁻¹).
func (f *modeFit) determined() float64 {
	var cholesky mat.Cholesky
	var inverse mat.SymDense
	if len(f.columns) == 0 || !cholesky.Factorize(f.precision) || cholesky.InverseTo(&inverse) != nil {
		return 0
	}
	sum := 0.0
	for j, sd := range f.sd {
		sum += math.Max(0, 1-inverse.At(j, j)/(sd*sd))
	}
	return sum
}

// peak climbs a log density from a start, by Newton's method on differences with steps of at most
// 1, and returns where it is largest and the curvature there, which is at least that of the prior.
func peak(density func(x float64) float64, start, prior float64) (at, curvature float64) {
	const h = 1e-3
	at = start
	for range 100 {
		here, above, below := density(at), density(at+h), density(at-h)
		slope := (above - below) / (2 * h)
		curvature = -(above - 2*here + below) / (h * h)
		// far away the curvature may be negative
		step := slope / math.Max(curvature, math.Abs(slope))
		if slope == 0 || math.IsNaN(step) {
			break
		}
		at += step
		if math.Abs(step) < 1e-9 {
			break
		}
	}
	return at, math.Max(curvature, prior)
}

// store writes the approximation to precision [D·D] and linear [D] of all coordinates; log σ, at
// scale, is independent of the coefficients. A coordinate that is not in use has precision 1.
func (f *modeFit) store(scale int, precision, linear []float64) {
	dim := len(linear)
	for j := range dim {
		precision[j*dim+j] = 1
	}
	for a, j := range f.coordinates {
		linear[j] = f.linear.AtVec(a)
		for b, k := range f.coordinates {
			precision[j*dim+k] = f.precision.At(a, b)
		}
	}
	if scale >= 0 {
		precision[scale*dim+scale], linear[scale] = f.curvature, f.curvature*f.logScale
	}
}
