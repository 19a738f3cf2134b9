package hard

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mathext"

	"github.com/transdim/vti/internal/line"
	"github.com/transdim/vti/likelihood"
)

// shapedRow returns the rowDensity of a response given a positive parameter, which is a shape, a
// precision or odds. The response has this parameter in addition to the linear predictor η. If log
// p is not concave, the curvature of the rowDensity is the curvature of a quadratic function below
// log p.
type shapedRow func(scale float64) rowDensity

// shapedRows returns the densities of a kind of response. They share no code with the program, so
// that they do not repeat its errors. The result is nil if the response has no additional
// parameter, or if its exact answer is computed by other functions.
func shapedRows(kind likelihood.Kind) shapedRow {
	switch kind {
	case likelihood.NegativeBinomialKind:
		return negativeBinomialRow
	case likelihood.ZeroInflatedKind:
		return zeroInflatedRow
	case likelihood.HurdleKind:
		return hurdleRow
	case likelihood.GammaKind:
		return gammaRow
	case likelihood.BetaKind:
		return betaRow
	case likelihood.WeibullKind:
		return weibullRow
	case likelihood.ExponentialKind:
		return func(float64) rowDensity { return weibullRow(1) }
	}
	return nil
}

// negativeBinomialRow is the density of a count of mean μ = exp η and variance μ + μ²/φ, where φ is
// the shape.
func negativeBinomialRow(shape float64) rowDensity {
	return func(y, eta float64) (value, slope, curvature float64) {
		u := eta - math.Log(shape)
		soft := math.Max(u, 0) + math.Log1p(math.Exp(-math.Abs(u))) // log(1 + μ/φ)
		value = y*(u-soft) - shape*soft
		factorial, _ := math.Lgamma(y + 1)
		value -= factorial
		if y < 1000 { // a sum instead of log Γ(y + φ) − log Γ(φ), whose digits cancel
			for k := range int(y) {
				value += math.Log(shape + float64(k))
			}
		} else {
			above, _ := math.Lgamma(shape + y)
			below, _ := math.Lgamma(shape)
			value += above - below
		}
		share := 1 / (1 + math.Exp(-u))
		return value, y - (y+shape)*share, (y + shape) * share * (1 - share)
	}
}

// zeroInflatedRow is the density of a count that is 0 with odds ω, and otherwise has a Poisson
// distribution.
func zeroInflatedRow(odds float64) rowDensity {
	return func(y, eta float64) (value, slope, curvature float64) {
		value, slope, curvature = poissonRow(y, eta)
		if y == 0 {
			share := math.Exp(value) / (odds + math.Exp(value))
			return math.Log(odds+math.Exp(value)) - math.Log1p(odds), share * slope, share * curvature
		}
		return value - math.Log1p(odds), slope, curvature
	}
}

// hurdleRow is the density of a count that is 0 with odds ω, and otherwise has a Poisson
// distribution without 0.
func hurdleRow(odds float64) rowDensity {
	return func(y, eta float64) (value, slope, curvature float64) {
		if y == 0 {
			return math.Log(odds) - math.Log1p(odds), 0, 0
		}
		value, slope, curvature = poissonRow(y, eta)
		rate := math.Exp(math.Min(eta, 300))
		some := -math.Expm1(-rate)
		none := math.Exp(-rate)
		gain := rate / 2 // derivative of log(1 − exp −μ) in η, by its series for small rates
		if rate > 1e-8 {
			gain = rate * none / some
			curvature += gain * (1 - rate - gain)
		} else {
			gain = 1 - gain
			curvature = rate / 2
		}
		logSome := math.Log(some)
		if rate < 1e-300 {
			logSome = eta
		}
		return value - logSome - math.Log1p(odds), slope - gain, math.Max(curvature, 0)
	}
}

// gammaRow is the density of a gamma variable of mean μ = exp η and the given shape.
func gammaRow(shape float64) rowDensity {
	constant := math.Log(shape/(2*math.Pi))/2 - 1/(12*shape) + 1/(360*shape*shape*shape)
	if shape < 100 { // for larger shapes, constant uses Stirling's series
		factorial, _ := math.Lgamma(shape)
		constant = shape*math.Log(shape) - factorial - shape
	}
	return func(y, eta float64) (value, slope, curvature float64) {
		log := math.Log(y) - eta
		excess := math.Expm1(math.Min(log, 300)) // y/μ − 1
		return constant - shape*(excess-log) - math.Log(y), shape * excess, shape * (1 + excess)
	}
}

// weibullRow is the density of a Weibull variable of mean exp η and the given shape. A negative y
// is minus the time of censoring.
func weibullRow(shape float64) rowDensity {
	logGamma, _ := math.Lgamma(1 + 1/shape)
	return func(y, eta float64) (value, slope, curvature float64) {
		u := shape * (math.Log(math.Abs(y)) - eta + logGamma)
		power := math.Exp(math.Min(u, 300))
		if y < 0 {
			return -power, shape * power, shape * shape * power
		}
		return math.Log(shape) - math.Log(y) + u - power, shape * (power - 1), shape * shape * power
	}
}

// betaRow is the density of a beta variable of mean μ = 1/(1 + exp −η) and the given precision. Its
// curvature is an approximation.
func betaRow(precision float64) rowDensity {
	whole, _ := math.Lgamma(precision)
	return func(y, eta float64) (value, slope, curvature float64) {
		mean, rest := 1/(1+math.Exp(-eta)), 1/(1+math.Exp(eta))
		a, b := precision*mean, precision*rest
		if !(a > 0 && b > 0) {
			return math.Inf(-1), 0, 1
		}
		logA, _ := math.Lgamma(a)
		logB, _ := math.Lgamma(b)
		log, logRest := math.Log(y), math.Log1p(-y)
		value = (a-1)*log + (b-1)*logRest + whole - logA - logB
		slope = precision * mean * rest * (log - logRest - mathext.Digamma(a) + mathext.Digamma(b))
		return value, slope, (1 + precision) * mean * rest
	}
}

// shaped returns the exact posterior of models of responses with one more parameter, whose
// logarithm has a normal prior if free is true. Given the parameter, coefficients are integrated by
// quadrature. The moments of the parameter itself are NaN: the prior is so wide that the moments
// depend on values too rare for any sample.
func (p *regressionProblem) shaped(rowAt shapedRow, free bool) func(coordinates []int) (modelMoments, error) {
	return p.overScale(free, func(scale float64) (*regressionProblem, rowDensity, float64) {
		return p, rowAt(scale), logNormal(math.Log(scale), p.logSigmaMean, p.logSigmaSD)
	})
}

// ordered returns the exact posterior of models of three ordered categories, whose intercept is the
// last coordinate. It integrates over the distance between the cut points, which is the additional
// parameter of the rows.
func (p *regressionProblem) ordered(kind likelihood.Kind) func(coordinates []int) (modelMoments, error) {
	return p.overScale(true, func(gap float64) (*regressionProblem, rowDensity, float64) {
		levelled := *p
		levelled.level = levelOf(kind, gap)
		return &levelled, gapRow(kind)(gap), math.Log(gap)
	})
}

// overScale integrates over the logarithm of the positive parameter that rows have in addition to
// η. If free is false, the parameter is 1. For a value of the parameter, the argument problemAt
// returns the problem, the density of rows, and the log prior density of the parameter's logarithm.
func (p *regressionProblem) overScale(free bool, problemAt func(scale float64) (*regressionProblem, rowDensity, float64)) func(coordinates []int) (modelMoments, error) {
	return func(coordinates []int) (modelMoments, error) {
		k := len(coordinates)
		if k == 0 || k >= mostParameters {
			return modelMoments{}, fmt.Errorf("quadrature: got %d coefficients, want 1 to %d", k, mostParameters-1)
		}
		// The search for a mode starts from the mode for the nearest value of the parameter: if the
		// shape is large, a search from a point far from the mode fails.
		var logs []float64
		var modes [][]float64
		conditional := func(log float64) (modelMoments, error) {
			problem, row, logPrior := problemAt(math.Exp(log))
			warm := *problem
			if len(logs) > 0 {
				warm.start = modes[floats.NearestIdx(logs, log)]
			}
			mode, axes, err := warm.laplace(coordinates, row)
			if err != nil {
				return modelMoments{}, err
			}
			logs, modes = append(logs, log), append(modes, mode)
			m, err := integrateAlong(func(theta []float64) float64 { return warm.logPosterior(coordinates, row, theta, nil, nil) }, mode, axes, alongAxes)
			if free {
				m.logEvidence += logPrior
			}
			return m, err
		}
		if !free {
			return conditional(0)
		}
		step := math.Min(0.25, 0.7/math.Sqrt(float64(len(p.y))))
		return over(line.Options{From: p.logSigmaMean, To: p.logSigmaMean, Step: step, Depth: 25, Tolerance: 1e-4}, conditional, func(float64) float64 { return math.NaN() })
	}
}
