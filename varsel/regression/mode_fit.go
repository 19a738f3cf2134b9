package regression

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/mode"
)

// ModeFit is the search for the mode of one model: of its coefficients given log σ by iterated
// least squares, and of log σ with the coefficients integrated out around theirs, in turn. The
// joint mode would do for neither: with as many coefficients as rows it has no noise at all.
type ModeFit struct {
	Active
	target *Regression
	offset []float64 // [n] or nil

	Theta, eta []float64
	LogScale   float64
	Curvature  float64 // of log σ

	LogEvidence float64 // approximately, where σ is known

	Precision *mat.SymDense // X'WX + Λ
	Linear    *mat.VecDense // X'Wŷ + Λμ
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

// ModeFit begins at the prior means of a model.
func (t *Regression) ModeFit(a Active) *ModeFit {
	rows, _ := t.X.Dims()
	f := &ModeFit{Active: a, target: t, offset: t.Offset, Theta: make([]float64, len(a.Coordinates)), eta: make([]float64, rows), LogScale: t.LogScale}
	copy(f.Theta, a.Mean)
	if t.Scale >= 0 {
		f.LogScale = t.Mean[t.Scale]
	}
	f.Predict(f.Theta, f.offset, f.eta)
	return f
}

// logJoint is the log density of coefficients given log σ, with the linear predictors they have.
func (f *ModeFit) logJoint(theta, eta []float64) float64 {
	sum := f.target.Responses.LogDensityAt(eta, math.Exp(f.LogScale))
	for j, v := range theta {
		z := (v - f.Mean[j]) / f.SD[j]
		sum -= z * z / 2
	}
	return sum
}

// Find moves to the mode, or to mean and precision by expectation propagation where there are
// outliers: their posteriors have several modes, and one says little of the others.
func (f *ModeFit) Find() {
	if t := f.target; t.Outliers != nil && len(f.Columns) > 0 {
		p := NewPropagation(t.Outliers, t.Responses.Y, f.offset, f.Active)
		if f.LogEvidence = p.Run(); p.Finite() {
			copy(f.Theta, p.Means())
			f.Precision, f.Linear = p.Precision(), mat.NewVecDense(len(p.linear), p.linear)
			return
		}
	}
	unknown := f.target.Scale >= 0
	trial, eta := make([]float64, len(f.Theta)), make([]float64, len(f.eta))
	for range modeRounds {
		f.expand(true)
		to := f.solve()
		before, change := f.logJoint(f.Theta, f.eta), 0.0
		for length := 1.0; length > 1e-3; length /= 2 {
			for j := range trial {
				trial[j] = f.Theta[j] + length*(to[j]-f.Theta[j])
			}
			f.Predict(trial, f.offset, eta)
			if f.logJoint(trial, eta) < before {
				continue // not cautious enough
			}
			for i := range eta {
				change = math.Max(change, math.Abs(eta[i]-f.eta[i])*math.Sqrt(f.weights[i]))
			}
			copy(f.Theta, trial)
			copy(f.eta, eta)
			break
		}
		if unknown {
			logScale := f.LogScale
			f.noise()
			change = math.Max(change, math.Abs(f.LogScale-logScale))
		}
		if change < modeTolerance {
			break
		}
	}
	f.expand(false)
	f.LogEvidence = f.laplaceEvidence()
}

// laplaceEvidence is the log evidence as the quadratic at the mode has it; NaN where rounding makes
// that indefinite.
func (f *ModeFit) laplaceEvidence() float64 {
	var cholesky mat.Cholesky
	if !cholesky.Factorize(f.Precision) {
		return math.NaN()
	}
	sum := f.logJoint(f.Theta, f.eta) - cholesky.LogDet()/2
	for _, sd := range f.SD {
		sum -= math.Log(sd)
	}
	return sum
}

// expand sets the quadratic of the log density at the coefficients so far; see Responses.Working.
func (f *ModeFit) expand(cautious bool) {
	f.weights, f.response = f.target.Responses.Working(f.eta, math.Exp(f.LogScale), cautious)
	for i, o := range f.offset {
		f.response[i] -= o
	}
	f.Precision, f.Linear = f.NormalEquations(f.weights, f.response)
}

// NormalEquations are X'WX + Λ and X'Wŷ + Λμ of the columns of a model, with the priors N(μ, Λ⁻¹).
func (a Active) NormalEquations(weights, response []float64) (precision *mat.SymDense, linear *mat.VecDense) {
	k := max(len(a.Columns), 1)
	precision, linear = mat.NewSymDense(k, nil), mat.NewVecDense(k, nil)
	if len(a.Columns) == 0 {
		precision.SetSym(0, 0, 1) // a coordinate that is always zero stands for none
	}
	weighted := make([]float64, len(weights))
	for i, column := range a.Columns {
		floats.MulTo(weighted, column, weights)
		prior := 1 / (a.SD[i] * a.SD[i])
		linear.SetVec(i, floats.Dot(weighted, response)+prior*a.Mean[i])
		for j := range i + 1 {
			sum := floats.Dot(weighted, a.Columns[j])
			if i == j {
				sum += prior
			}
			precision.SetSym(i, j, sum)
		}
	}
	return precision, linear
}

// solve returns the mode of the quadratic, or the coefficients as they are where rounding makes it
// indefinite.
func (f *ModeFit) solve() []float64 {
	if to, ok := Solve(f.Precision, f.Linear); ok {
		return to[:len(f.Theta)]
	}
	return f.Theta
}

// Solve returns the solution of normal equations; it is not ok where rounding makes them
// indefinite.
func Solve(precision *mat.SymDense, linear *mat.VecDense) (theta []float64, ok bool) {
	var cholesky mat.Cholesky
	if !cholesky.Factorize(precision) {
		return nil, false
	}
	var to mat.VecDense
	_ = cholesky.SolveVecTo(&to, linear) // a warning of bad condition: the prior keeps the result usable
	return to.RawVector().Data, true
}

// noise moves log σ to the mode of its density with the coefficients integrated out, and sets its
// curvature there: each coefficient that the data determine, rather than the prior, adds log σ.
func (f *ModeFit) noise() {
	t := f.target
	mean, sd := t.Mean[t.Scale], t.SD[t.Scale]
	determined := f.determined()
	density := func(x float64) float64 {
		z := (x - mean) / sd
		return t.Responses.LogDensityAt(f.eta, math.Exp(x)) + determined*x - z*z/2
	}
	f.LogScale, f.Curvature = mode.Peak(density, f.LogScale, 1/(sd*sd))
}

// determined is the number of coefficients that the data determine: k − tr(Λ (X'WX + Λ)⁻¹).
func (f *ModeFit) determined() float64 {
	var cholesky mat.Cholesky
	var inverse mat.SymDense
	if len(f.Columns) == 0 || !cholesky.Factorize(f.Precision) || cholesky.InverseTo(&inverse) != nil {
		return 0
	}
	sum := 0.0
	for j, sd := range f.SD {
		sum += math.Max(0, 1-inverse.At(j, j)/(sd*sd))
	}
	return sum
}

// Store writes the approximation to precision [D·D] and linear [D] of all coordinates; log σ is
// independent of the coefficients. A coordinate that is not in use has precision 1.
func (f *ModeFit) Store(precision, linear []float64) {
	dim := len(linear)
	for j := range dim {
		precision[j*dim+j] = 1
	}
	for a, j := range f.Coordinates {
		linear[j] = f.Linear.AtVec(a)
		for b, k := range f.Coordinates {
			precision[j*dim+k] = f.Precision.At(a, b)
		}
	}
	if scale := f.target.Scale; scale >= 0 {
		precision[scale*dim+scale], linear[scale] = f.Curvature, f.Curvature*f.LogScale
	}
}
