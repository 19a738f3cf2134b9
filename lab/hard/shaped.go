package hard

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mathext"

	"github.com/transdim/vti/internal/line"
	"github.com/transdim/vti/likelihood"
)

// shapedRow is a rowDensity given the positive parameter that a response has in addition to η. If
// log p is not concave, the curvature is the curvature of a quadratic below it.
type shapedRow func(scale float64) rowDensity

// shapedRows returns densities written down again, so that an error in the program is not repeated
// here. nil: the response has no such parameter, or another exact answer.
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

// negativeBinomialRow is a count of mean μ = exp η and variance μ + μ²/φ.
func negativeBinomialRow(shape float64) rowDensity {
	return func(y, eta float64) (value, slope, curvature float64) {
		u := eta - math.Log(shape)
		soft := math.Max(u, 0) + math.Log1p(math.Exp(-math.Abs(u))) // log(1 + μ/φ)
		value = y*(u-soft) - shape*soft
		factorial, _ := math.Lgamma(y + 1)
		value -= factorial
		if y < 1000 { // log Γ(y + φ) − log Γ(φ) without the loss of digits
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

// zeroInflatedRow is 0 with odds ω, and else a Poisson count.
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

// hurdleRow is 0 with odds ω, and else a Poisson count that is not 0.
func hurdleRow(odds float64) rowDensity {
	return func(y, eta float64) (value, slope, curvature float64) {
		if y == 0 {
			return math.Log(odds) - math.Log1p(odds), 0, 0
		}
		value, slope, curvature = poissonRow(y, eta)
		rate := math.Exp(math.Min(eta, 300))
		some := -math.Expm1(-rate)
		none := math.Exp(-rate)
		gain := rate / 2 // of log(1 − exp −μ), by its series
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

// gammaRow has mean exp η and shape α.
func gammaRow(shape float64) rowDensity {
	constant := math.Log(shape/(2*math.Pi))/2 - 1/(12*shape) + 1/(360*shape*shape*shape)
	if shape < 100 { // beyond, Stirling's series
		factorial, _ := math.Lgamma(shape)
		constant = shape*math.Log(shape) - factorial - shape
	}
	return func(y, eta float64) (value, slope, curvature float64) {
		log := math.Log(y) - eta
		excess := math.Expm1(math.Min(log, 300)) // y/μ − 1
		return constant - shape*(excess-log) - math.Log(y), shape * excess, shape * (1 + excess)
	}
}

// weibullRow has mean exp η and shape k; a time below 0 is minus a lower bound.
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

// betaRow is a share of mean μ = 1/(1 + exp −η) and precision φ, with a normal logit's curvature.
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

// shaped returns the exact posterior of models of responses with one more parameter, whose log is
// normal: coefficients by quadrature given it. The moments of the parameter itself are NaN: its
// prior is so wide that they depend on draws that no sample holds.
func (p *regressionProblem) shaped(rowAt shapedRow, free bool) func(coordinates []int) (modelMoments, error) {
	return p.overScale(free, func(scale float64) (*regressionProblem, rowDensity, float64) {
		return p, rowAt(scale), logNormal(math.Log(scale), p.logSigmaMean, p.logSigmaSD)
	})
}

// ordered returns the exact posterior of models of three categories in order, whose intercept is
// the last coordinate: over the distance of the cut points, given which they are shaped rows.
func (p *regressionProblem) ordered(kind likelihood.Kind) func(coordinates []int) (modelMoments, error) {
	return p.overScale(true, func(gap float64) (*regressionProblem, rowDensity, float64) {
		levelled := *p
		levelled.level = levelOf(kind, gap)
		return &levelled, gapRow(kind)(gap), math.Log(gap)
	})
}

// overScale integrates over the logarithm of the positive parameter that rows have beside η, where
// it is free, and else takes it as 1. problemAt returns the problem and the density of rows given
// its value, and the log prior density of its logarithm.
func (p *regressionProblem) overScale(free bool, problemAt func(scale float64) (*regressionProblem, rowDensity, float64)) func(coordinates []int) (modelMoments, error) {
	return func(coordinates []int) (modelMoments, error) {
		k := len(coordinates)
		if k == 0 || k >= mostParameters {
			return modelMoments{}, fmt.Errorf("quadrature: got %d coefficients, want 1 to %d", k, mostParameters-1)
		}
		// A search starts from the mode given the nearest value: far from its mode a large shape
		// leaves no way up.
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
