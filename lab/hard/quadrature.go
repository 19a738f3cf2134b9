package hard

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/line"
	"github.com/transdim/vti/internal/mode"
)

// rowDensity computes log p(y | η) of one row, which must be concave in the linear predictor η, its
// derivative in η, and minus its second derivative.
type rowDensity func(y, eta float64) (value, slope, curvature float64)

// logisticRow is the density of y ~ Bernoulli(1 / (1 + exp −η)).
func logisticRow(y, eta float64) (value, slope, curvature float64) {
	p := 1 / (1 + math.Exp(-eta))
	return y*eta - math.Max(eta, 0) - math.Log1p(math.Exp(-math.Abs(eta))), y - p, p * (1 - p)
}

// poissonRow is the density of y ~ Poisson(exp η). It is computed from the difference η − log y, so
// that no digits cancel.
func poissonRow(y, eta float64) (value, slope, curvature float64) {
	rate := math.Exp(math.Min(eta, 300))
	if y == 0 {
		return -rate, -rate, rate
	}
	ratio := eta - math.Log(y)
	return y*(ratio-math.Expm1(math.Min(ratio, 300))) + poissonSaturated(y), y - rate, rate
}

// poissonSaturated returns the log density of y under a Poisson distribution with rate y. From 30
// on it uses Stirling's series.
func poissonSaturated(y float64) float64 {
	if y < 30 {
		logFactorial, _ := math.Lgamma(y + 1)
		return y*math.Log(y) - y - logFactorial
	}
	return -halfLog2Pi - math.Log(y)/2 - 1/(12*y) + 1/(360*y*y*y) - 1/(1260*math.Pow(y, 5))
}

// mostParameters is the largest number of parameters in a quadrature.
const mostParameters = 3

// quadrature returns a function that computes the exact posterior of models with a concave log
// likelihood. It uses nested integrals along the axes of the Laplace approximation.
func (p *regressionProblem) quadrature(row rowDensity) func(coordinates []int) (modelMoments, error) {
	return func(coordinates []int) (modelMoments, error) {
		k := len(coordinates)
		if k == 0 || k > mostParameters {
			return modelMoments{}, fmt.Errorf("quadrature: got %d parameters, want 1 to %d", k, mostParameters)
		}
		mode, axes, err := p.laplace(coordinates, row)
		if err != nil {
			return modelMoments{}, err
		}
		return integrateAlong(func(theta []float64) float64 { return p.logPosterior(coordinates, row, theta, nil, nil) }, mode, axes, alongAxes)
	}
}

// alongAxes holds the options of the nested integrals of quadrature. The unit of length is the
// standard deviation of the Laplace approximation.
var alongAxes = line.Options{Step: 0.5, Depth: 25, Tolerance: 1e-5}

// integrateAlong integrates a density, given its logarithm, by nested integrals along k axes that
// cross at its mode. The directions of the axes are the columns of the argument axes.
func integrateAlong(logDensity func(theta []float64) float64, mode []float64, axes *mat.Dense, o line.Options) (modelMoments, error) {
	k := len(mode)
	var from func(axis int, theta []float64) (modelMoments, error)
	from = func(axis int, theta []float64) (modelMoments, error) {
		if axis == k {
			return modelMoments{logDensity(theta), theta, make([]float64, k)}, nil
		}
		return over(o, func(z float64) (modelMoments, error) {
			point := slices.Clone(theta)
			for b := range point {
				point[b] += axes.At(b, axis) * z
			}
			return from(axis+1, point)
		}, nil)
	}
	out, err := from(0, mode)
	for a := range k {
		out.logEvidence += math.Log(math.Abs(axes.At(a, a)))
	}
	return out, err
}

// logPosterior returns log p(y, θ). Unless the slice gradient is nil, it adds the gradient to this
// slice, and the lower triangle of minus the Hessian to the slice curvature.
func (p *regressionProblem) logPosterior(coordinates []int, row rowDensity, theta, gradient, curvature []float64) float64 {
	k, sum := len(coordinates), 0.0
	for a, j := range coordinates {
		if p.level != nil && j == len(p.priorSD)-1 {
			value, slope, bend := p.level(0, theta[a])
			if sum += value; gradient != nil {
				gradient[a] += slope
				curvature[a*k+a] += bend
			}
			continue
		}
		sum += logNormal(theta[a], p.priorMean[j], p.priorSD[j])
		if gradient != nil {
			precision := 1 / (p.priorSD[j] * p.priorSD[j])
			gradient[a] -= (theta[a] - p.priorMean[j]) * precision
			curvature[a*k+a] += precision
		}
	}
	for i, y := range p.y {
		eta, x := 0.0, p.x.RawRowView(i)
		if p.offset != nil {
			eta = p.offset[i]
		}
		for a, j := range coordinates {
			eta += theta[a] * x[j]
		}
		value, slope, bend := row(y, eta)
		sum += value
		if gradient == nil {
			continue
		}
		for a, j := range coordinates {
			gradient[a] += slope * x[j]
			for b := range a + 1 {
				curvature[a*k+b] += bend * x[j] * x[coordinates[b]]
			}
		}
	}
	return sum
}

// laplace returns the mode of the posterior of a model, and axes along which the Laplace
// approximation there has independent standard normal coordinates.
func (p *regressionProblem) laplace(coordinates []int, row rowDensity) (peak []float64, axes *mat.Dense, err error) {
	for _, j := range coordinates {
		peak = append(peak, p.priorMean[j])
	}
	if p.start != nil {
		copy(peak, p.start)
	}
	found, curvature := mode.Find(peak, mode.Density{
		Value:  func(x []float64) float64 { return p.logPosterior(coordinates, row, x, nil, nil) },
		Expand: func(x, gradient, curvature []float64) { p.logPosterior(coordinates, row, x, gradient, curvature) },
	}, mode.Options{Enough: 1e-12, Steps: 500})
	if !(found.Decrement <= mode.Hidden) { // close to the mode if curvatures are approximate
		return nil, nil, fmt.Errorf("quadrature: no mode was found in %d steps", found.Steps)
	}
	return peak, axesOf(curvature), nil
}
