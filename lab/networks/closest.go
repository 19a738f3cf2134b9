package networks

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/stream"
)

// closest returns the mean θ and the slopes S of the normal N(θ, (I + S Sᵀ)⁻¹) that minimises
// KL(normal ‖ posterior) for the posterior of a linear classification. At the minimum, each row
// acts as a normal observation of xᵀθ. The slope and the precision of this observation are the
// means of the first and of minus the second derivative of log p(y | xᵀθ) under the normal itself
// (Opper and Archambeau 2009, section 3). The normal and these means are therefore computed in
// turn, starting from the argument center. An expansion at the mode would be far wider than the
// posterior, because rows far from the boundary between classes have almost no second derivative.
func (t *Task) closest(rows [][]float64, center []float64) (theta []float64, slopes *mat.Dense, err error) {
	n, dim := len(rows), len(center)
	x := mat.NewDense(n, dim, nil)
	for i, row := range rows {
		x.SetRow(i, row[:dim])
	}
	var products mat.SymDense // K, the prior covariance of Xθ
	products.SymOuterK(1, x)
	precisions, weighted := make([]float64, n), make([]float64, n) // of the observations: precisions, and values times precisions
	mean, variance := mat.NewVecDense(n, nil), make([]float64, n)
	mean.MulVec(x, mat.NewVecDense(dim, center))
	for i := range variance {
		variance[i] = products.At(i, i) / 10
	}
	var coefficients mat.VecDense // θ = Xᵀ coefficients
	part := 1.0                   // the first iteration goes all the way to its new values
	for range mostClosestSteps {
		moved := 0.0
		for i, row := range rows {
			slope, information := expectedClass(row[dim], mean.AtVec(i), variance[i])
			moved = math.Max(moved, approach(&precisions[i], information, part))
			moved = math.Max(moved, approach(&weighted[i], information*mean.AtVec(i)+slope, part))
		}
		part = closestPart
		// Var(Xθ) = (K⁻¹ + Λ)⁻¹ = K − K Λ½ (I + Λ½ K Λ½)⁻¹ Λ½ K with Λ = diag(precisions)
		inner := mat.NewSymDense(n, nil)
		for i := range n {
			for j := i; j < n; j++ {
				inner.SetSym(i, j, math.Sqrt(precisions[i]*precisions[j])*products.At(i, j))
			}
			inner.SetSym(i, i, inner.At(i, i)+1)
		}
		var factor mat.Cholesky
		if !factor.Factorize(inner) {
			return nil, nil, errors.New("the normal closest to a posterior is singular")
		}
		var lower mat.TriDense
		factor.LTo(&lower)
		scaled := mat.NewDense(n, n, nil) // Λ½ K
		scaled.Apply(func(i, _ int, v float64) float64 { return math.Sqrt(precisions[i]) * v }, &products)
		right := mat.NewVecDense(n, nil)
		right.MulVec(scaled, mat.NewVecDense(n, weighted))
		var left mat.VecDense
		if err := factor.SolveVecTo(&left, right); err != nil {
			return nil, nil, err
		}
		for i, v := range weighted {
			left.SetVec(i, v-math.Sqrt(precisions[i])*left.AtVec(i))
		}
		coefficients.CloneFromVec(&left)
		mean.MulVec(&products, &coefficients)
		var solved mat.Dense
		if err := solved.Solve(&lower, scaled); err != nil {
			return nil, nil, err
		}
		for i := range n {
			column := solved.ColView(i)
			variance[i] = products.At(i, i) - mat.Dot(column, column)
		}
		if moved < closestTolerance {
			break
		}
	}
	var eta mat.VecDense
	eta.MulVec(x.T(), &coefficients)
	slopes = mat.NewDense(dim, n, nil)
	for i, row := range rows {
		column := append([]float64(nil), row[:dim]...)
		floats.Scale(math.Sqrt(precisions[i]), column)
		slopes.SetCol(i, column)
	}
	return eta.RawVector().Data, slopes, nil
}

// approach moves a number towards the argument next, by a fraction, part, of the distance between
// them. It returns the distance divided by 1 + |next|.
func approach(number *float64, next, part float64) (way float64) {
	way = math.Abs(next-*number) / (1 + math.Abs(next))
	*number += part * (next - *number)
	return way
}

// These are the limits of the iteration of closest, and the fraction of the step to the new values
// that each iteration takes. With whole steps, the iteration would alternate between normals that
// are too wide and too narrow.
const (
	mostClosestSteps = 200
	closestPart      = 0.3
	closestTolerance = 1e-3 // largest relative change of precisions at the end
)

// closestDiagonal returns the centers and scales of a normal with independent parameters that is
// close to the posterior of a network. It minimises KL(normal ‖ posterior) approximately, by
// stochastic gradient steps from a mode (Kucukelbir et al. 2017, equation 5; Adam). An expansion at
// the mode would be far wider than the posterior of a classification, and over such distances a
// network is not linear.
func (t *Task) closestDiagonal(rows [][]float64, mode []float64) (center, scales []float64) {
	dim := len(mode)
	random := stream.Rand(1, "closest")
	parameters := append(slices.Clone(mode), make([]float64, dim)...) // center, then log scales
	for j := range dim {
		parameters[dim+j] = math.Log(firstScale)
	}
	steps := adam{first: make([]float64, 2*dim), second: make([]float64, 2*dim)}
	theta, gradient := make([]float64, dim), make([]float64, 2*dim)
	for i := range diagonalSteps {
		z := normals(dim, random)
		for j := range theta {
			theta[j] = parameters[j] + math.Exp(parameters[dim+j])*z[j]
		}
		_, slope := t.slope(rows, theta)
		for j, s := range slope {
			gradient[j], gradient[dim+j] = s, s*z[j]*math.Exp(parameters[dim+j])+1
		}
		steps.climb(parameters, gradient, largestStep/2*(1+math.Cos(math.Pi*float64(i)/diagonalSteps)))
	}
	center, scales = parameters[:dim], parameters[dim:]
	for j, v := range scales {
		scales[j] = math.Exp(v)
	}
	return center, scales
}

// These are the settings of closestDiagonal.
const (
	diagonalSteps = 400
	firstScale    = 0.1
	largestStep   = 0.02
)

// adam holds the moving averages of gradients and their squares (Kingma and Ba 2015).
type adam struct {
	first, second             []float64
	firstWeight, secondWeight float64 // total weights in the two moving averages
}

// climb adds a step of size rate, in the direction of the averaged gradient, to parameters.
func (a *adam) climb(parameters, gradient []float64, rate float64) {
	const firstDecay, secondDecay = 0.9, 0.99
	a.firstWeight = firstDecay*a.firstWeight + 1 - firstDecay
	a.secondWeight = secondDecay*a.secondWeight + 1 - secondDecay
	for j, g := range gradient {
		a.first[j] = firstDecay*a.first[j] + (1-firstDecay)*g
		a.second[j] = secondDecay*a.second[j] + (1-secondDecay)*g*g
		parameters[j] += rate * a.first[j] / a.firstWeight / (1e-8 + math.Sqrt(a.second[j]/a.secondWeight))
	}
}

// slope returns log p(data, θ) of a regression or classification, up to a constant, and its
// gradient.
func (t *Task) slope(rows [][]float64, theta []float64) (value float64, gradient []float64) {
	gradient = make([]float64, len(theta))
	floats.AddScaled(gradient, -1, theta)
	value = -floats.Dot(theta, theta) / 2
	slopes := make([]float64, len(theta))
	for _, row := range rows {
		logDensity, first, _ := t.response(row[t.dim], t.predict(row[:t.dim], theta, slopes))
		value += logDensity
		floats.AddScaled(gradient, first, slopes)
	}
	return value, gradient
}

// logisticParts approximates the logistic function by Σ weight·Φ(scale·x) (Monahan and Stefanski
// 1992), so that means of the logistic function under a normal distribution have closed forms.
var logisticParts = [...]struct{ weight, scale float64 }{
	{0.003246343272134, 1.365340806296348},
	{0.051517477033972, 1.059523971016916},
	{0.195077912673858, 0.830791313765644},
	{0.315569823632818, 0.650732166639391},
	{0.274149576158423, 0.508135425366489},
	{0.131076880695470, 0.396313345166341},
	{0.027912418727972, 0.308904252267995},
	{0.001449567805354, 0.238212616409306},
}

// expectedClass returns the means of the first derivative of log p(y | η) in η, and of minus the
// second derivative, under η ~ N(mean, variance), for classes with odds exp(η / temperature).
func expectedClass(y, mean, variance float64) (slope, information float64) {
	for _, part := range logisticParts {
		scale := part.scale / math.Sqrt(temperature*temperature+part.scale*part.scale*variance)
		z := y * mean * scale
		slope += part.weight * math.Erfc(z/math.Sqrt2) / 2
		information += part.weight * scale * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
	}
	return y * slope / temperature, information / temperature
}
