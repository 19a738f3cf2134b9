package varsel

import (
	"errors"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti"
)

// laplaceBits is a Target with a log-concave likelihood: the posterior of every model has one mode,
// and lighter tails than a t distribution around it.
type laplaceBits struct{ *Target }

// laplaceSlots is such a SlotTarget, and anchoredLaplaceBits such a Target with an approximation of
// each model.
type (
	laplaceSlots        struct{ *SlotTarget }
	anchoredLaplaceBits struct {
		laplaceBits
		*modelAnchors
	}
)

var (
	_ vti.LaplaceTarget   = laplaceBits{}
	_ vti.LaplaceTarget   = laplaceSlots{}
	_ vti.LaplaceTarget   = anchoredLaplaceBits{}
	_ vti.QuadraticTarget = anchoredLaplaceBits{}
	_ vti.QuadraticTarget = laplaceSlots{}
)

// ProposeParameters draws from a t distribution around the mode of a model.
func (t laplaceBits) ProposeParameters(code []int32, n int, random *rand.Rand) (theta *mat.Dense, logJoint, logProposal []float64, err error) {
	return t.proposeParameters(t.active(code), n, t.space.Dim(), random)
}

// ProposeParameters draws from a t distribution around the mode of a model.
func (t laplaceSlots) ProposeParameters(code []int32, n int, random *rand.Rand) (theta *mat.Dense, logJoint, logProposal []float64, err error) {
	return t.bits.proposeParameters(t.active(code), n, t.space.Dim(), random)
}

// proposeParameters draws n times: coordinates of θ [n, dim] at their places.
func (t *Target) proposeParameters(a active, n, dim int, random *rand.Rand) (theta *mat.Dense, logJoint, logProposal []float64, err error) {
	f, err := newLaplaceFit(t, a)
	if err != nil {
		return nil, nil, nil, err
	}
	theta, logJoint, logProposal = mat.NewDense(max(n, 1), dim, nil), make([]float64, n), make([]float64, n)
	values := make([]float64, len(a.coordinates))
	for i := range n {
		logProposal[i] = f.draw(random, values)
		logJoint[i] = f.logJoint(values)
		row := theta.RawRowView(i)
		for k, j := range a.coordinates {
			row[j] = values[k]
		}
	}
	return theta, logJoint, logProposal, nil
}

// laplaceFit is the Laplace approximation of one model with a log-concave likelihood.
type laplaceFit struct {
	active
	target *Target

	mode      []float64 // θ̂ [k]
	factor    []float64 // lower L of H = L Lᵀ [k·k]
	logDet    float64   // log |L|
	constant  float64   // of the log joint density
	eta, step []float64 // scratch [n], [k]
}

const (
	// newtonSteps bounds the steps to a mode, of which few models take more than 6, and
	// newtonDecrement is twice the gain in nats, as the quadratic has it, below which a step is the
	// last one. Chosen by hand: the weights correct what is left.
	newtonSteps     = 100
	newtonDecrement = 2e-3
	// cautiousSteps are the first steps, which climb from anywhere; see [likelihood.Row]. Chosen by
	// hand.
	cautiousSteps = 1
	// laplaceDegrees are those of the t distribution: tails heavier than those of the normal priors
	// bound the weights. Chosen by hand, as few lose more in many dimensions.
	laplaceDegrees = 8
)

// newLaplaceFit climbs to the mode by Newton's method with step halving. It fails where rounding
// makes the curvature indefinite.
func newLaplaceFit(t *Target, a active) (*laplaceFit, error) {
	k := len(a.coordinates)
	f := &laplaceFit{
		active: a, target: t, mode: append([]float64(nil), a.mean...), factor: make([]float64, k*k),
		eta: make([]float64, len(t.responses.y)), step: make([]float64, k),
	}
	f.constant = t.logConstant
	for _, sd := range a.sd {
		f.constant -= math.Log(sd) + halfLog2Pi
	}
	trial := make([]float64, k)
	scratch := newtonScratch{make([]float64, len(f.eta)), make([]float64, len(f.eta)), make([]float64, len(f.eta))}
	value := f.logJoint(f.mode)
	for round := range newtonSteps {
		decrement, ok := f.newtonStep(scratch, round < cautiousSteps)
		if !ok {
			return nil, errors.New("the curvature of the log density at the mode is not positive definite")
		}
		if round >= cautiousSteps && decrement < newtonDecrement {
			floats.Add(f.mode, f.step) // where the curvature is the same to the digits that matter
			break
		}
		gain := 0.0
		for length := 1.0; length > 1e-4; length /= 2 {
			floats.AddScaledTo(trial, f.mode, length, f.step)
			if gain = f.logJoint(trial) - value; gain >= 0 {
				break
			}
		}
		if !(gain >= 0) {
			break // rounding hides the mode
		}
		f.mode, trial = trial, f.mode
		value += gain
	}
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return nil, errors.New("the log density has no mode that rounding leaves")
	}
	f.logDet = 0
	for j := range k {
		f.logDet += math.Log(f.factor[j*k+j])
	}
	return f, nil
}

// predict sets the linear predictors of coefficients.
func (f *laplaceFit) predict(theta []float64) {
	if f.target.offset != nil {
		copy(f.eta, f.target.offset)
	} else {
		clear(f.eta)
	}
	for j, column := range f.columns {
		floats.AddScaled(f.eta, theta[j], column)
	}
}

// logJoint is log p(y, θ | m), every constant kept. It leaves the linear predictors in eta.
func (f *laplaceFit) logJoint(theta []float64) float64 {
	f.predict(theta)
	sum := f.constant + f.target.responses.logKernels(f.eta)
	for j, v := range theta {
		z := (v - f.mean[j]) / f.sd[j]
		sum -= z * z / 2
	}
	return sum
}

// newtonScratch are buffers of a number for each row.
type newtonScratch struct{ slope, curvature, weighted []float64 }

// newtonStep factors the curvature at the mode so far, whose linear predictors eta holds, and sets
// the step to the mode of the quadratic, which gains half the decrement there. It reports whether
// the curvature is positive definite.
func (f *laplaceFit) newtonStep(s newtonScratch, cautious bool) (decrement float64, ok bool) {
	k := len(f.mode)
	r := f.target.responses
	newton := r.NewtonAt
	if cautious {
		newton = r.BoundAt
	}
	for i, y := range r.y {
		s.slope[i], s.curvature[i] = newton(y, f.eta[i], 1)
	}
	for a, column := range f.columns {
		prior := 1 / (f.sd[a] * f.sd[a])
		f.step[a] = floats.Dot(column, s.slope) - prior*(f.mode[a]-f.mean[a])
		floats.MulTo(s.weighted, column, s.curvature)
		for b := range a + 1 {
			f.factor[a*k+b] = floats.Dot(s.weighted, f.columns[b])
		}
		f.factor[a*k+a] += prior
	}
	if !cholesky(f.factor, k) {
		return 0, false
	}
	for a := range k { // L u = gradient
		f.step[a] = (f.step[a] - floats.Dot(f.factor[a*k:a*k+a], f.step[:a])) / f.factor[a*k+a]
	}
	decrement = floats.Dot(f.step, f.step)
	backSolve(f.factor, f.step)
	return decrement, true
}

// cholesky replaces the lower triangle of a [k·k] by its factor, and reports whether a is positive
// definite.
func cholesky(a []float64, k int) bool {
	for i := range k {
		row := a[i*k : i*k+i+1]
		for j := range i {
			row[j] = (row[j] - floats.Dot(row[:j], a[j*k:j*k+j])) / a[j*k+j]
		}
		square := row[i] - floats.Dot(row[:i], row[:i])
		if !(square > 0) || math.IsInf(square, 0) {
			return false
		}
		row[i] = math.Sqrt(square)
	}
	return true
}

// backSolve replaces x [k] by L⁻ᵀ x.
func backSolve(factor, x []float64) {
	k := len(x)
	for i := k - 1; i >= 0; i-- {
		x[i] /= factor[i*k+i]
		floats.AddScaled(x[:i], -x[i], factor[i*k:i*k+i])
	}
}

// draw writes a draw of the coefficients to theta [k] and returns its log density.
func (f *laplaceFit) draw(random *rand.Rand, theta []float64) (logDensity float64) {
	k := len(theta)
	var chi float64 // χ² of so many degrees over their number
	for range laplaceDegrees {
		x := random.NormFloat64()
		chi += x * x / laplaceDegrees
	}
	square := 0.0
	for a := range theta {
		z := random.NormFloat64() / math.Sqrt(chi)
		theta[a] = z
		square += z * z
	}
	backSolve(f.factor, theta)
	floats.Add(theta, f.mode)
	top, _ := math.Lgamma(float64(laplaceDegrees+k) / 2)
	bottom, _ := math.Lgamma(laplaceDegrees / 2.0)
	return top - bottom - float64(k)/2*math.Log(laplaceDegrees*math.Pi) + f.logDet - float64(laplaceDegrees+k)/2*math.Log1p(square/laplaceDegrees)
}
