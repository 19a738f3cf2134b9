package varsel

import (
	"errors"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/likelihood"
)

// laplaceFit is the Laplace approximation of one model with a log-concave likelihood.
type laplaceFit struct {
	active
	target *Target

	mode      []float64             // θ̂ [k], parameters of the response last
	height    float64               // the log joint density there
	factor    []float64             // lower L of H = L Lᵀ [k·k]
	logDet    float64               // log |L|
	constant  float64               // of the log joint density
	eta, step []float64             // scratch [n], [k]
	expansion *likelihood.Expansion // of a response of categories
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

// newLaplaceFit climbs to the mode by Newton's method with step halving, from the prior mean, or so
// far from that of the other parameter of the response. It fails where rounding makes the curvature
// indefinite.
func newLaplaceFit(t *Target, a active, start float64) (*laplaceFit, error) {
	k := len(a.coordinates)
	f := &laplaceFit{
		active: a, target: t, mode: append([]float64(nil), a.mean...), factor: make([]float64, k*k),
		eta: make([]float64, t.planes()*len(t.responses.y)), step: make([]float64, k),
	}
	if t.responses.categories != nil {
		f.expansion = likelihood.NewExpansion(t.responses.categories, len(t.responses.y))
	}
	if f.scaled() {
		f.mode[k-1] += start
	}
	f.constant = t.logConstant
	for _, sd := range a.sd {
		f.constant -= math.Log(sd) + halfLog2Pi
	}
	trial := make([]float64, k)
	scratch := newtonScratch{make([]float64, len(f.eta)), make([]float64, len(f.eta)), make([]float64, len(f.eta)), make([]float64, len(f.eta))}
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
	f.logDet, f.height = 0, value
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
		floats.AddScaled(f.plane(j, f.eta), theta[j], column)
	}
}

// plane is what values of all rows and linear predictors have of the predictor that coefficient j
// belongs to.
func (f *laplaceFit) plane(j int, values []float64) []float64 {
	n, m := len(f.target.responses.y), f.coordinates[j]%f.target.planes()
	return values[m*n : (m+1)*n]
}

// scaled reports whether the response has another parameter, whose logarithm is the last
// coordinate.
func (f *laplaceFit) scaled() bool { return f.expansion == nil && len(f.coordinates) > len(f.columns) }

// scale is that parameter of coordinates; 1 where there is none.
func (f *laplaceFit) scale(theta []float64) float64 {
	if !f.scaled() {
		return 1
	}
	return math.Exp(theta[len(theta)-1])
}

// logJoint is log p(y, θ | m), every constant kept. It leaves the linear predictors in eta.
func (f *laplaceFit) logJoint(theta []float64) float64 {
	f.predict(theta)
	sum := f.constant
	if f.expansion == nil {
		sum += f.target.responses.logKernels(f.eta, f.scale(theta))
	} else {
		sum += f.given(theta).LogProbs(f.target.responses.y, f.eta)
	}
	for j, v := range theta {
		z := (v - f.mean[j]) / f.sd[j]
		sum -= z * z / 2
	}
	return sum
}

// newtonScratch are buffers of a number for each row.
type newtonScratch struct{ slope, curvature, weighted, change []float64 }

// newtonStep factors the curvature at the mode so far, whose linear predictors eta holds, and sets
// the step to the mode of the quadratic, which gains half the decrement there. It reports whether
// the curvature is positive definite.
func (f *laplaceFit) newtonStep(s newtonScratch, cautious bool) (decrement float64, ok bool) {
	k := len(f.mode)
	if f.expansion == nil {
		f.expandRows(s, cautious)
	} else {
		f.expandCategories(s.weighted)
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

// expandRows sets the gradient in step and the curvature in factor.
func (f *laplaceFit) expandRows(s newtonScratch, cautious bool) {
	k := len(f.mode)
	r, scale := f.target.responses, f.scale(f.mode)
	r.expand(f.eta, scale, cautious, s.slope, s.curvature)
	for a, column := range f.columns {
		prior := 1 / (f.sd[a] * f.sd[a])
		f.step[a] = floats.Dot(column, s.slope) - prior*(f.mode[a]-f.mean[a])
		floats.MulTo(s.weighted, column, s.curvature)
		for b := range a + 1 {
			f.factor[a*k+b] = floats.Dot(s.weighted, f.columns[b])
		}
		f.factor[a*k+a] += prior
	}
	if f.scaled() {
		f.scaleRow(s, scale)
	}
}

// differenceStep is the step of differences in the logarithm of the other parameter of the
// response: second ones lose digits with its square. Chosen by hand, as the fourth root of the
// rounding of float64, and a little.
const differenceStep = 1e-3

// scaleRow sets the last entry of the gradient, and the last row of the curvature, which is that of
// the logarithm of the other parameter. Where the density is not concave, as on the way to the
// mode, the row says only how far a step may go.
func (f *laplaceFit) scaleRow(s newtonScratch, scale float64) {
	k, r := len(f.mode), f.target.responses
	last := k - 1
	above, below := scale*math.Exp(differenceStep), scale*math.Exp(-differenceStep)
	high, here, low := r.logKernels(f.eta, above), r.logKernels(f.eta, scale), r.logKernels(f.eta, below)
	prior := 1 / (f.sd[last] * f.sd[last])
	f.step[last] = (high-low)/(2*differenceStep) - prior*(f.mode[last]-f.mean[last])
	curvature := -(high-2*here+low)/(differenceStep*differenceStep) + prior
	for i, y := range r.y {
		up, _ := r.NewtonAt(y, f.eta[i], above)
		down, _ := r.NewtonAt(y, f.eta[i], below)
		s.change[i] = -(up - down) / (2 * differenceStep)
	}
	for i, t := range r.times {
		s.change[i] *= t
	}
	row := f.factor[last*k : last*k+k]
	for a, column := range f.columns {
		row[a] = floats.Dot(column, s.change)
	}
	row[last] = curvature
	whole := append([]float64(nil), f.factor...)
	if !(curvature > 0) || !cholesky(whole, k) {
		clear(row)
		row[last] = max(math.Abs(curvature), math.Abs(f.step[last]), prior)
	}
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
	root := math.Sqrt(laplaceChi(random))
	square := 0.0
	for a := range theta {
		z := random.NormFloat64() / root
		theta[a] = z
		square += z * z
	}
	backSolve(f.factor, theta)
	floats.Add(theta, f.mode)
	return f.logDensity(square)
}

// laplaceChi draws a χ² of laplaceDegrees over their number.
func laplaceChi(random *rand.Rand) (chi float64) {
	for range laplaceDegrees {
		x := random.NormFloat64()
		chi += x * x / laplaceDegrees
	}
	return chi
}

// logDensity is that of the t distribution at a squared distance in units of the curvature.
func (f *laplaceFit) logDensity(square float64) float64 { return f.standardT(square) + f.logDet }

// standardT is the log density of the standard t distribution at a squared distance.
func (f *laplaceFit) standardT(square float64) float64 {
	k := len(f.mode)
	top, _ := math.Lgamma(float64(laplaceDegrees+k) / 2)
	bottom, _ := math.Lgamma(laplaceDegrees / 2.0)
	return top - bottom - float64(k)/2*math.Log(laplaceDegrees*math.Pi) - float64(laplaceDegrees+k)/2*math.Log1p(square/laplaceDegrees)
}

// distance is the squared distance of coefficients from the mode in units of the curvature.
func (f *laplaceFit) distance(theta []float64) (square float64) {
	k := len(theta)
	for a := range k { // Lᵀ (θ − θ̂)
		sum := 0.0
		for b := a; b < k; b++ {
			sum += f.factor[b*k+a] * (theta[b] - f.mode[b])
		}
		square += sum * sum
	}
	return square
}
