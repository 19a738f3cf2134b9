package varsel

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/dense"
	"github.com/transdim/vti/internal/kernel"
	"github.com/transdim/vti/internal/mode"
	"github.com/transdim/vti/internal/proposal"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/varsel/regression"
)

// laplaceFit is the Laplace approximation of one model with a log-concave likelihood.
type laplaceFit struct {
	regression.Active
	target *Target
	scale  float64 // the second parameter of the response; 1 if it has none

	mode      []float64             // θ̂ [k], parameters of categories last
	height    float64               // log joint density at the mode
	curvature []float64             // Hessian H of −log density [k·k], lower, overwritten by factor
	factor    dense.Factor          // of H
	around    proposal.T            // t distribution around the mode
	constant  float64               // terms of the log joint density that are constant
	eta, step []float64             // scratch [n], [k]
	design    []float64             // columns, one after the other
	expansion *likelihood.Expansion // for a categorical response, else nil
}

// vectors computes with many rows at once.
var vectors = kernel.VectorsOf[float64](kernel.Detect())

const (
	// newtonDecrement is the squared distance to the mode, in posterior standard deviations, at
	// which a search ends. A search that ends at a squared distance above newtonLost has failed.
	// Importance weights correct the remaining error, so that neither number needs tuning.
	newtonDecrement, newtonLost = 1e-7, 1e-2
	// cautiousSteps is the number of steps, at the start of a search, with a curvature that makes
	// the log density rise from any starting point ([likelihood.Row]).
	cautiousSteps = 1
	// laplaceDegrees is the degrees of freedom of the t distribution. Its tails are heavier than
	// the tails of the normal priors, which bounds the weights; fewer degrees of freedom would
	// waste draws in many dimensions. Half and twice this number give the same answers
	// (docs/benchmarks/constants.md).
	laplaceDegrees = 8
)

// newLaplaceFit finds the mode of a model by Newton's method with step halving. The argument scale
// is the second parameter of the response, which is fixed. The search begins at start.
func newLaplaceFit(t *Target, a regression.Active, scale float64, start []float64) (*laplaceFit, error) {
	k := len(a.Coordinates)
	f := &laplaceFit{
		Active: a, target: t, scale: scale, mode: slices.Clone(start), curvature: make([]float64, k*k),
		eta: make([]float64, t.Planes()*len(t.Responses.Y)), step: make([]float64, k),
		design: slices.Concat(a.Columns...),
	}
	if t.Responses.Categories != nil {
		f.expansion = likelihood.NewExpansion(t.Responses.Categories, len(t.Responses.Y))
	}
	f.constant = t.LogConstant
	for _, sd := range a.SD {
		f.constant -= math.Log(sd) + halfLog2Pi
	}
	n, round := len(f.eta), 0
	scratch := newtonScratch{make([]float64, n), make([]float64, n), make([]float64, n)}
	r := mode.Climb(f.mode, f.logJoint, func(_, step []float64) (decrement float64, ok bool) {
		decrement, ok = f.newtonStep(scratch, round < cautiousSteps)
		if round < cautiousSteps && decrement <= newtonDecrement { // since at the mode H must be the exact curvature
			decrement, ok = f.newtonStep(scratch, false)
		}
		copy(step, f.step)
		round++
		return decrement, ok
	}, mode.Options{Enough: newtonDecrement})
	if !r.Converged && !(r.Decrement < newtonLost) {
		return nil, errors.New("no mode of the log density was found: rounding errors hide it")
	}
	f.height = r.Value
	f.around = proposal.New(f.mode, f.factor, laplaceDegrees)
	return f, nil
}

// logIntegral returns the log of the integral of the joint density over the coefficients, by
// Laplace's method.
func (f *laplaceFit) logIntegral() float64 { return f.around.LogIntegral(f.height) }

// information returns H, the curvature at the mode.
func (f *laplaceFit) information() *mat.SymDense {
	curvature := mat.NewSymDense(len(f.mode), nil)
	curvature.SymOuterK(1, lower(f.factor))
	return curvature
}

// predict sets the linear predictors eta from coefficients theta.
func (f *laplaceFit) predict(theta []float64) {
	if f.target.Offset != nil {
		copy(f.eta, f.target.Offset)
	} else {
		clear(f.eta)
	}
	for j, column := range f.Columns {
		plane := f.plane(j, f.eta)
		vectors.AddScaled(plane, plane, column, theta[j])
	}
}

// plane returns the part of values that belongs to the linear predictor of coefficient j. values
// [M·n] holds n numbers for each of M linear predictors.
func (f *laplaceFit) plane(j int, values []float64) []float64 {
	n, m := len(f.target.Responses.Y), f.Coordinates[j]%f.target.Planes()
	return values[m*n : (m+1)*n]
}

// logJoint returns log p(y, θ | m), including all constants. It sets eta to the linear predictors.
func (f *laplaceFit) logJoint(theta []float64) float64 {
	f.predict(theta)
	sum := f.constant
	if f.expansion == nil {
		sum += f.target.Responses.LogKernels(f.eta, f.scale)
	} else {
		sum += f.categoriesAt(theta).LogProbs(f.target.Responses.Y, f.eta)
	}
	for j, v := range theta {
		z := (v - f.Mean[j]) / f.SD[j]
		sum -= z * z / 2
	}
	return sum
}

// newtonScratch holds buffers with one number for each row.
type newtonScratch struct{ slope, curvature, weighted []float64 }

// newtonStep factors the curvature at the linear predictors in eta, and sets step to the Newton
// step, which leads to the mode of the quadratic approximation. The quadratic approximation rises
// by half the decrement. ok reports whether the curvature is positive definite.
func (f *laplaceFit) newtonStep(s newtonScratch, cautious bool) (decrement float64, ok bool) {
	if f.expansion == nil {
		f.expandRows(s, cautious)
	} else {
		f.expandCategories(s.weighted)
	}
	if f.factor, ok = dense.Factorize(f.curvature, len(f.mode), 0); !ok {
		return 0, false
	}
	f.factor.SolveLower(f.step)
	decrement = floats.Dot(f.step, f.step)
	f.factor.SolveUpper(f.step)
	return decrement, true
}

// expandRows sets step to the gradient of the log joint density, and curvature to minus its second
// derivatives.
func (f *laplaceFit) expandRows(s newtonScratch, cautious bool) {
	k, n := len(f.mode), len(f.eta)
	f.target.Responses.Expand(f.eta, f.scale, cautious, s.slope, s.curvature)
	vectors.DotRows(f.step, f.design, n, s.slope)
	for a, column := range f.Columns {
		prior := 1 / (f.SD[a] * f.SD[a])
		f.step[a] -= prior * (f.mode[a] - f.Mean[a])
		vectors.Mul(s.weighted, column, s.curvature)
		vectors.DotRows(f.curvature[a*k:a*k+a+1], f.design, n, s.weighted)
		f.curvature[a*k+a] += prior
	}
}

// categoriesAt returns the distribution of categories, given the parameters of categories in theta.
func (f *laplaceFit) categoriesAt(theta []float64) likelihood.CategoriesAt {
	return f.target.Responses.Categories.At(theta[len(f.Columns):])
}

// expandCategories sets step and curvature, as expandRows does, for a categorical response. Far
// from the mode the log density may not be concave in the parameters of categories; the curvature
// then leaves out the terms that make it indefinite. weighted is scratch, with a number for each
// row and linear predictor.
func (f *laplaceFit) expandCategories(weighted []float64) {
	k, coefficients, e := len(f.mode), len(f.Columns), f.expansion
	planes, n := len(e.Slope), len(f.target.Responses.Y)
	f.categoriesAt(f.mode).Expand(f.target.Responses.Y, f.eta, e)
	for a, column := range f.Columns {
		prior, m := 1/(f.SD[a]*f.SD[a]), f.Coordinates[a]%planes
		f.step[a] = floats.Dot(column, e.Slope[m]) - prior*(f.mode[a]-f.Mean[a])
		for other := range planes {
			floats.MulTo(weighted[other*n:(other+1)*n], column, e.Curvature[m*planes+other])
		}
		for b := range a + 1 {
			f.curvature[a*k+b] = floats.Dot(f.plane(b, weighted), f.Columns[b])
		}
		f.curvature[a*k+a] += prior
	}
	parameters := k - coefficients
	if parameters == 0 {
		return
	}
	for p := range parameters {
		row := coefficients + p
		prior := 1 / (f.SD[row] * f.SD[row])
		f.step[row] = e.Gradient[p] - prior*(f.mode[row]-f.Mean[row])
		for a, column := range f.Columns {
			f.curvature[row*k+a] = floats.Dot(column, e.Cross[f.Coordinates[a]%planes*parameters+p])
		}
	}
	f.fillParameters(e.Information)
	if _, ok := dense.Factorize(slices.Clone(f.curvature), k, 0); !ok {
		f.fillParameters(e.Concave)
	}
}

// fillParameters sets the block of the curvature that belongs to the parameters of categories.
func (f *laplaceFit) fillParameters(information []float64) {
	k, first := len(f.mode), len(f.Columns)
	parameters := k - first
	for p := range parameters {
		row := first + p
		for q := range p + 1 {
			f.curvature[row*k+first+q] = information[p*parameters+q]
		}
		f.curvature[row*k+row] += 1 / (f.SD[row] * f.SD[row])
	}
}
