package calibrate

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
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

// logPosterior is log p(y, θ), and optionally its gradient and the Hessian of its negative.
func (p *regressionProblem) logPosterior(coordinates []int, row rowDensity, theta []float64, gradient *mat.VecDense, hessian *mat.SymDense) float64 {
	sum := 0.0
	if gradient != nil {
		gradient.Zero()
		hessian.Zero()
	}
	for a, j := range coordinates {
		z := (theta[a] - p.priorMean[j]) / p.priorSD[j]
		sum -= z*z/2 + math.Log(p.priorSD[j]) + halfLog2Pi
		if gradient != nil {
			gradient.SetVec(a, -z/p.priorSD[j])
			hessian.SetSym(a, a, 1/(p.priorSD[j]*p.priorSD[j]))
		}
	}
	for i, y := range p.y {
		eta := 0.0
		if p.offset != nil {
			eta = p.offset[i]
		}
		for a, j := range coordinates {
			eta += theta[a] * p.x.At(i, j)
		}
		value, slope, curvature := row(y, eta)
		sum += value
		if gradient == nil {
			continue
		}
		for a, j := range coordinates {
			gradient.SetVec(a, gradient.AtVec(a)+slope*p.x.At(i, j))
			for b := range a + 1 {
				hessian.SetSym(a, b, hessian.At(a, b)+curvature*p.x.At(i, j)*p.x.At(i, coordinates[b]))
			}
		}
	}
	return sum
}

// laplace returns the mode, by Newton's method with halved steps, and the axes [k, k]: columns of
// the inverse transposed Cholesky factor of the Hessian.
func (p *regressionProblem) laplace(coordinates []int, row rowDensity) (mode []float64, axes *mat.Dense, err error) {
	k := len(coordinates)
	mode = make([]float64, k)
	for a, j := range coordinates {
		mode[a] = p.priorMean[j]
	}
	if p.start != nil {
		copy(mode, p.start)
	}
	gradient, hessian := mat.NewVecDense(k, nil), mat.NewSymDense(k, nil)
	var factor mat.Cholesky
	now := p.logPosterior(coordinates, row, mode, gradient, hessian)
	const mostSteps = 500
	for range mostSteps {
		if !factor.Factorize(hessian) {
			return nil, nil, errors.New("laplace: the Hessian is not positive definite")
		}
		var step mat.VecDense
		if err := factor.SolveVecTo(&step, gradient); err != nil && k > 1 {
			return nil, nil, err
		}
		if decrement := mat.Dot(&step, gradient); decrement < 1e-12 {
			break
		}
		scale := 1.0
		for ; scale > 1e-12; scale /= 2 {
			next := append([]float64(nil), mode...)
			floats.AddScaled(next, scale, step.RawVector().Data)
			if value := p.logPosterior(coordinates, row, next, nil, nil); value > now {
				mode, now = next, p.logPosterior(coordinates, row, next, gradient, hessian)
				break
			}
		}
		if scale <= 1e-12 {
			break // the mode, up to rounding
		}
	}
	if !factor.Factorize(hessian) {
		return nil, nil, errors.New("laplace: the Hessian is not positive definite")
	}
	var upper mat.TriDense
	factor.UTo(&upper)
	axes = mat.NewDense(k, k, nil)
	identity := mat.NewDense(k, k, nil)
	for a := range k {
		identity.Set(a, a, 1)
	}
	if err := axes.Solve(&upper, identity); err != nil {
		var condition mat.Condition
		if !errors.As(err, &condition) {
			return nil, nil, err
		}
	}
	return mode, axes, nil
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
