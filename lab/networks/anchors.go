package networks

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/stream"
)

// anchor is a normal approximation N(center, root rootᵀ) of the posterior given a data set. At the
// mode of the posterior, each row is approximated to second order by a normal observation of θ (a
// Gauss-Newton expansion, with Fisher information for classes and mixtures). The approximation is
// the prior times these observations. It is exact for means and linear regressions. For
// classifications, an anchor is instead the normal closest to the posterior (closest.go).
type anchor struct {
	center []float64
	mode   []float64 // the mode that was found; it differs from center only for classifications
	root   *mat.Dense
	logDet float64 // log |root|
	// root is axes·diag(scales)·axesᵀ if symmetric is true, and axes·diag(scales) otherwise.
	axes      *mat.Dense
	scales    []float64
	symmetric bool
}

// These are the limits of the search for a mode. For regressions and means, one step finds it. The
// search for networks may end some nats below the mode, where predictions are nearly the same.
const (
	mostNewtonSteps = 40
	mostDamping     = 1e12
	newtonTolerance = 1e-6 // nats
)

// anchor computes the anchor of a data set.
func (t *Task) anchor(rows [][]float64) (*anchor, error) {
	theta := t.startOfMode(rows)
	value, gradient, slopes := t.expand(rows, theta)
	damping := 0.0
	for range mostNewtonSteps {
		step, err := newtonStep(gradient, slopes, 1+damping)
		if err != nil {
			return nil, err
		}
		next := make([]float64, len(theta))
		floats.AddTo(next, theta, step)
		nextValue, nextGradient, nextSlopes := t.expand(rows, next)
		if !(nextValue > value) {
			if damping = math.Max(1e-3, damping*10); damping > mostDamping || floats.Dot(gradient, step) < newtonTolerance {
				break
			}
			continue
		}
		gain := nextValue - value
		theta, value, gradient, slopes = next, nextValue, nextGradient, nextSlopes
		damping /= 10
		if gain < newtonTolerance {
			break
		}
	}
	var a *anchor
	var err error
	switch t.kind {
	case classes:
		center, observed, failure := t.closest(rows, theta)
		if failure != nil {
			return nil, failure
		}
		a, err = t.newAnchor(center, observed)
	case nonlinearClasses:
		a = diagonalAnchor(t.closestDiagonal(rows, theta))
	default:
		a, err = t.newAnchor(theta, slopes)
	}
	if err != nil {
		return nil, err
	}
	a.mode = theta
	return a, nil
}

// newtonStep returns (prior·I + S Sᵀ)⁻¹ g, where S is the argument slopes and g the gradient. It
// factorises a matrix whose size is the number of columns of S, because networks have more weights
// than a data set has rows.
func newtonStep(gradient []float64, slopes *mat.Dense, prior float64) ([]float64, error) {
	_, n := slopes.Dims()
	inner := mat.NewSymDense(n, nil)
	inner.SymOuterK(1, slopes.T())
	for i := range n {
		inner.SetSym(i, i, inner.At(i, i)+prior)
	}
	var factor mat.Cholesky
	var along, back mat.VecDense
	g := mat.NewVecDense(len(gradient), gradient)
	along.MulVec(slopes.T(), g)
	if !factor.Factorize(inner) || factor.SolveVecTo(&along, &along) != nil {
		return nil, errors.New("the expansion at a mode is singular")
	}
	back.MulVec(slopes, &along)
	back.SubVec(g, &back)
	back.ScaleVec(1/prior, &back)
	return back.RawVector().Data, nil
}

// newAnchor returns the anchor with the given center and precision I + S Sᵀ, where S is the
// argument slopes. In θ = center + root z, its root is symmetric, so that each coordinate of z
// belongs to one parameter. For networks, the root is not symmetric: the coordinates of z are
// directions in the space of weights, ordered from those that the data determine best to those that
// they leave to the prior.
func (t *Task) newAnchor(center []float64, slopes *mat.Dense) (*anchor, error) {
	var directions mat.SVD
	if !directions.Factorize(slopes, mat.SVDFullU) {
		return nil, errors.New("the directions of a precision were not found")
	}
	dim := len(center)
	a := &anchor{center: center, axes: mat.NewDense(dim, dim, nil), root: mat.NewDense(dim, dim, nil), scales: make([]float64, dim)}
	directions.UTo(a.axes)
	copy(a.scales, directions.Values(nil))
	for k, v := range a.scales {
		a.scales[k] = 1 / math.Hypot(1, v) // at most 1, the scale of the prior
		a.logDet += math.Log(a.scales[k])
	}
	scaled := mat.NewDense(dim, dim, nil)
	scaled.Apply(func(_, k int, v float64) float64 { return v * a.scales[k] }, a.axes)
	if a.symmetric = !t.kind.isNetwork(); a.symmetric {
		a.root.Mul(scaled, a.axes.T())
	} else {
		a.root = scaled
	}
	return a, nil
}

// diagonalAnchor returns an anchor in which parameters are independent.
func diagonalAnchor(center, scales []float64) *anchor {
	a := &anchor{center: center, scales: scales, axes: mat.NewDense(len(center), len(center), nil), root: mat.NewDense(len(center), len(center), nil)}
	for j, s := range scales {
		a.axes.Set(j, j, 1)
		a.root.Set(j, j, s)
		a.logDet += math.Log(s)
	}
	return a
}

// toBase returns the z for which θ = center + root z.
func (a *anchor) toBase(theta []float64) []float64 {
	left := mat.NewVecDense(len(theta), nil)
	left.SubVec(mat.NewVecDense(len(theta), theta), mat.NewVecDense(len(theta), a.center))
	var along mat.VecDense
	along.MulVec(a.axes.T(), left)
	for k, s := range a.scales {
		along.SetVec(k, along.AtVec(k)/s)
	}
	if !a.symmetric {
		return along.RawVector().Data
	}
	left.MulVec(a.axes, &along)
	return left.RawVector().Data
}

// toParams returns θ = center + root z for each row of z.
func (a *anchor) toParams(z *mat.Dense) *mat.Dense {
	var theta mat.Dense
	theta.Mul(z, a.root.T())
	theta.Apply(func(_, j int, v float64) float64 { return v + a.center[j] }, &theta)
	return &theta
}

// logDensity returns the log density of N(center, root rootᵀ) at theta.
func (a *anchor) logDensity(theta []float64) float64 {
	z := a.toBase(theta)
	return -floats.Dot(z, z)/2 - a.logDet - float64(len(z))/2*math.Log(2*math.Pi)
}

// isExact reports whether anchors of the task equal the posterior.
func (t *Task) isExact() bool { return t.kind == gaussianMean || t.kind == regression }

func (t *Task) summaries() int {
	switch {
	case !t.options.Computed:
		return 0
	case t.kind.isNetwork():
		return t.parameters()
	}
	return 2 * t.parameters()
}

// summary returns the numbers of an anchor that the trained network reads: the logarithms of scales
// and the center. For tasks of networks it leaves out the center, because single weights have no
// meaning.
func (t *Task) summary(a *anchor) []float64 {
	var values []float64
	if !t.kind.isNetwork() {
		values = append(values, a.center...)
		for j := range a.center {
			values = append(values, math.Log(a.root.At(j, j)))
		}
		return values
	}
	for _, s := range a.scales {
		values = append(values, math.Log(s))
	}
	return values
}

// startOfMode returns the start of the search for a mode. For networks it is the same for all data
// sets. For a mixture of two components it is two rows far apart.
func (t *Task) startOfMode(rows [][]float64) []float64 {
	theta := make([]float64, t.parameters())
	switch {
	case t.kind == mixtureMeans:
		middle := make([]float64, t.dim)
		for _, row := range rows {
			floats.AddScaled(middle, 1/float64(len(rows)), row)
		}
		first := farthest(rows, middle)
		copy(theta, first)
		copy(theta[t.dim:], farthest(rows, first))
		if theta[0] > theta[t.dim] { // the order of the components is arbitrary
			theta = append(theta[t.dim:], theta[:t.dim]...)
		}
	case t.kind.isNetwork():
		copy(theta, normals(len(theta), stream.Rand(1, "mode")))
		floats.Scale(0.5, theta)
	}
	return theta
}

func farthest(rows [][]float64, from []float64) (best []float64) {
	largest := -1.0
	for _, row := range rows {
		if d := floats.Distance(row, from, 2); d > largest {
			best, largest = row, d
		}
	}
	return best
}

// expand returns log p(data, θ) up to a constant, its gradient, and the slopes S of a normal
// approximation with precision I + S Sᵀ. S has one row for each parameter.
func (t *Task) expand(rows [][]float64, theta []float64) (value float64, gradient []float64, slopes *mat.Dense) {
	dim := len(theta)
	gradient = make([]float64, dim)
	floats.AddScaled(gradient, -1, theta)
	value = -floats.Dot(theta, theta) / 2
	switch t.kind {
	case gaussianMean:
		left := mat.NewVecDense(dim, nil)
		var slope mat.VecDense
		for _, row := range rows {
			left.SubVec(mat.NewVecDense(dim, row), mat.NewVecDense(dim, theta))
			slope.MulVec(&t.precision, left)
			value -= mat.Dot(left, &slope) / 2
			floats.Add(gradient, slope.RawVector().Data)
		}
		slopes = mat.NewDense(dim, dim, nil)
		slopes.Scale(math.Sqrt(float64(len(rows))), t.inverse.T())
	case mixtureMeans:
		precision := make([]float64, dim)
		for _, row := range rows {
			value += t.expandComponents(row, theta, gradient, precision)
		}
		slopes = mat.NewDense(dim, dim, nil)
		for i, v := range precision {
			slopes.Set(i, i, math.Sqrt(v))
		}
	default:
		slopes = mat.NewDense(dim, len(rows), nil) // times the square root of Fisher's information
		slope := make([]float64, dim)
		for i, row := range rows {
			logDensity, first, information := t.response(row[t.dim], t.predict(row[:t.dim], theta, slope))
			value += logDensity
			floats.AddScaled(gradient, first, slope)
			floats.Scale(math.Sqrt(information), slope)
			slopes.SetCol(i, slope)
		}
	}
	return value, gradient, slopes
}

// expandComponents adds the gradient and the precisions of one row of a mixture, and returns the
// row's log density. The precision of a component's mean is the precision given that the row is
// from the component, times the probability of this.
func (t *Task) expandComponents(row, theta, gradient, precision []float64) (logDensity float64) {
	var terms [2]float64
	for k := range terms {
		d := floats.Distance(row, theta[k*t.dim:(k+1)*t.dim], 2)
		terms[k] = -d * d / (2 * mixtureVariance)
	}
	logDensity = floats.LogSumExp(terms[:])
	for k := range terms {
		share := math.Exp(terms[k]-logDensity) / mixtureVariance
		for j := range t.dim {
			at := k*t.dim + j
			gradient[at] += share * (row[j] - theta[at])
			precision[at] += share
		}
	}
	return logDensity
}

// response returns the log density of a response y given a prediction eta, up to a constant, its
// derivative with respect to eta, and Fisher's information about eta.
func (t *Task) response(y, eta float64) (logDensity, slope, information float64) {
	if !t.kind.hasClasses() {
		left := y - eta
		return -left * left / (2 * regressionVariance), left / regressionVariance, 1 / regressionVariance
	}
	margin := y * eta / temperature
	miss := 1 / (1 + math.Exp(margin)) // probability of the class that is not y
	return -math.Max(-margin, 0) - math.Log1p(math.Exp(-math.Abs(margin))), y * miss / temperature, miss * (1 - miss) / (temperature * temperature)
}

// predict returns x'θ, or the output of the network with weights θ for input x. Unless slopes is
// nil, it sets slopes to the gradient with respect to θ.
func (t *Task) predict(x, theta, slopes []float64) float64 {
	if !t.kind.isNetwork() {
		if slopes != nil {
			copy(slopes, x)
		}
		return floats.Dot(x, theta)
	}
	first := hiddenUnits * t.dim
	output := first + hiddenUnits
	eta := theta[output+hiddenUnits]
	for k := range hiddenUnits {
		unit := math.Tanh(floats.Dot(theta[k*t.dim:(k+1)*t.dim], x) + theta[first+k])
		eta += theta[output+k] * unit
		if slopes != nil {
			inner := theta[output+k] * (1 - unit*unit)
			for j, v := range x {
				slopes[k*t.dim+j] = inner * v
			}
			slopes[first+k], slopes[output+k] = inner, unit
		}
	}
	if slopes != nil {
		slopes[output+hiddenUnits] = 1
	}
	return eta
}
