package calibrate

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/mode"
)

// rowDensity is log p(y | η) of one row with its slope and the curvature of −log p in η; log p is
// concave.
type rowDensity func(y, eta float64) (value, slope, curvature float64)

// logisticRow is y ~ Bernoulli(1 / (1 + exp −η)).
func logisticRow(y, eta float64) (value, slope, curvature float64) {
	p := 1 / (1 + math.Exp(-eta))
	return y*eta - math.Max(eta, 0) - math.Log1p(math.Exp(-math.Abs(eta))), y - p, p * (1 - p)
}

// poissonRow is y ~ Poisson(exp η), as the deviance from η = log y, which loses no digits.
func poissonRow(y, eta float64) (value, slope, curvature float64) {
	rate := math.Exp(math.Min(eta, 300))
	if y == 0 {
		return -rate, -rate, rate
	}
	ratio := eta - math.Log(y)
	return y*(ratio-math.Expm1(math.Min(ratio, 300))) + poissonSaturated(y), y - rate, rate
}

// poissonSaturated is log p(y | rate y), by Stirling's series from 30 on.
func poissonSaturated(y float64) float64 {
	if y < 30 {
		logFactorial, _ := math.Lgamma(y + 1)
		return y*math.Log(y) - y - logFactorial
	}
	return -halfLog2Pi - math.Log(y)/2 - 1/(12*y) + 1/(360*y*y*y) - 1/(1260*math.Pow(y, 5))
}

// Quadrature: the first half-width in standard deviations of the Laplace approximation, the log
// density below the largest at which the box may end, and the points of a side by the number of
// parameters.
const (
	firstWidth = 8.0
	boxDepth   = 30.0
	mostRounds = 12
)

var sidePoints = []int{1, 400, 160, 80}

// mostParameters is the largest number of parameters that quadrature integrates over.
const mostParameters = 3

// quadrature returns the exact posterior of models with a concave log likelihood, by the
// trapezoidal rule on a box along the axes of the Laplace approximation. The box grows until the
// density at its faces is negligible, and the answer is compared with that of every second point.
func (p *regressionProblem) quadrature(row rowDensity) func(coordinates []int) (modelMoments, error) {
	return func(coordinates []int) (modelMoments, error) {
		k := len(coordinates)
		if k == 0 || k > mostParameters {
			return modelMoments{}, errors.New("quadrature: got none or too many parameters")
		}
		mode, axes, err := p.laplace(coordinates, row)
		if err != nil {
			return modelMoments{}, err
		}
		return integrateBox(func(theta []float64) float64 { return p.logPosterior(coordinates, row, theta, nil, nil) }, mode, axes, sidePoints[k], 1e-5)
	}
}

// integrateBox integrates a log density of a few coordinates by the trapezoidal rule on a box
// along axes [k, k] around a mode, with so many points a side at first, until the log integral is
// known to a tolerance.
func integrateBox(logDensity func(theta []float64) float64, mode []float64, axes *mat.Dense, side int, tolerance float64) (modelMoments, error) {
	k := len(mode)
	low, high := make([]float64, k), make([]float64, k)
	for a := range k {
		low[a], high[a] = -firstWidth, firstWidth
	}
	for range mostRounds {
		g := evaluateGrid(logDensity, mode, axes, low, high, side)
		if g.widen(low, high) {
			continue
		}
		fine, coarse := g.moments(1), g.moments(2)
		if math.Abs(fine.logEvidence-coarse.logEvidence) > tolerance {
			side = side * 3 / 2
			if math.Pow(float64(side), float64(k)) > 2e7 {
				return modelMoments{}, errors.New("quadrature: too narrow a ridge")
			}
			continue
		}
		return fine, nil
	}
	return modelMoments{}, errors.New("quadrature: the box does not hold the posterior")
}

// logPosterior is log p(y, θ), and unless gradient is nil adds its gradient and the lower triangle
// of minus its Hessian to what is there.
func (p *regressionProblem) logPosterior(coordinates []int, row rowDensity, theta, gradient, curvature []float64) float64 {
	k, sum := len(coordinates), 0.0
	for a, j := range coordinates {
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

// laplace returns the mode and axes of the curvature there.
func (p *regressionProblem) laplace(coordinates []int, row rowDensity) (at []float64, axes *mat.Dense, err error) {
	for _, j := range coordinates {
		at = append(at, p.priorMean[j])
	}
	if p.start != nil {
		copy(at, p.start)
	}
	found, curvature := mode.Find(at, mode.Density{
		Value:  func(x []float64) float64 { return p.logPosterior(coordinates, row, x, nil, nil) },
		Expand: func(x, gradient, curvature []float64) { p.logPosterior(coordinates, row, x, gradient, curvature) },
	}, mode.Options{Enough: 1e-12, Steps: 500})
	if !found.Converged {
		return nil, nil, fmt.Errorf("quadrature: no mode was found in %d steps", found.Steps)
	}
	return at, axesOf(curvature), nil
}

// grid is a log density on the points of a box.
type grid struct {
	side   int
	dims   int
	values []float64   // [side^dims], first axis slowest
	theta  [][]float64 // of each point
	logDet float64     // of a cell
	top    float64
}

func evaluateGrid(logDensity func(theta []float64) float64, mode []float64, axes *mat.Dense, low, high []float64, side int) *grid {
	k := len(mode)
	side |= 1 // so that every second point ends at both faces
	count := int(math.Pow(float64(side), float64(k)) + 0.5)
	g := &grid{side: side, dims: k, values: make([]float64, count), theta: make([][]float64, count), top: math.Inf(-1)}
	for a := range k {
		g.logDet += math.Log(math.Abs(axes.At(a, a))) + math.Log((high[a]-low[a])/float64(side-1))
	}
	for at := range count {
		theta := append([]float64(nil), mode...)
		rest := at
		for a := k - 1; a >= 0; a-- {
			z := low[a] + (high[a]-low[a])*float64(rest%side)/float64(side-1)
			rest /= side
			for b := range k {
				theta[b] += axes.At(b, a) * z
			}
		}
		g.theta[at] = theta
		g.values[at] = logDensity(theta)
		g.top = math.Max(g.top, g.values[at])
	}
	return g
}

// widen moves the faces at which the density is not negligible outwards, and reports whether it
// did.
func (g *grid) widen(low, high []float64) (moved bool) {
	for a := range g.dims {
		stride := 1
		for range g.dims - 1 - a {
			stride *= g.side
		}
		faces := [2]float64{math.Inf(-1), math.Inf(-1)}
		for at, value := range g.values {
			switch at / stride % g.side {
			case 0:
				faces[0] = math.Max(faces[0], value)
			case g.side - 1:
				faces[1] = math.Max(faces[1], value)
			}
		}
		if faces[0] > g.top-boxDepth {
			low[a] *= 1.5
			moved = true
		}
		if faces[1] > g.top-boxDepth {
			high[a] *= 1.5
			moved = true
		}
	}
	return moved
}

// moments integrates over every step-th point of each axis.
func (g *grid) moments(step int) modelMoments {
	out := modelMoments{mean: make([]float64, g.dims), variance: make([]float64, g.dims)}
	var mass float64
	for pass := range 2 {
		for at, value := range g.values {
			rest, used := at, true
			for range g.dims {
				used = used && rest%g.side%step == 0
				rest /= g.side
			}
			w := math.Exp(value - g.top)
			if !used || w == 0 {
				continue
			}
			if pass == 0 {
				mass += w
			}
			for b, v := range g.theta[at] {
				if pass == 0 {
					out.mean[b] += w * v
				} else {
					out.variance[b] += w / mass * (v - out.mean[b]) * (v - out.mean[b])
				}
			}
		}
		if pass == 0 {
			floats.Scale(1/mass, out.mean)
		}
	}
	out.logEvidence = g.top + math.Log(mass) + g.logDet + float64(g.dims)*math.Log(float64(step))
	return out
}
