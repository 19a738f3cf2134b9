package regression

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/pick"
	"github.com/transdim/vti/likelihood"
)

// response is the distribution of a response given its linear predictors, on the working scale, on
// which a continuous response is standardised. A row has one predictor, or M for categories without
// an order. Predictors and slopes of n rows are [M·n], plane by plane. Curvatures are [M (M+1)/2 ·
// n]; the pair of predictors a ≥ b is in row a (a+1)/2 + b.
type response struct {
	likelihood.Row // nil for categories without an order
	unordered      likelihood.UnorderedCategories
	sigma          float64
	// cuts are the cut points of ordered categories in the units of the table; nil for others.
	cuts []float64
}

// responseAt returns the distribution of the response at θ.
func (r *Regression) responseAt(mask []bool, theta []float64) response {
	switch {
	case r.unordered != nil:
		return response{unordered: r.unordered, sigma: 1}
	case r.categories == nil:
		return response{Row: r.rowLikelihood(), sigma: r.noiseAt(theta)}
	}
	categories := r.categories.At(theta[r.firstCut : r.firstCut+r.categories.Parameters()]).(*likelihood.Cuts)
	shift := 0.0
	for j, mean := range r.xMean {
		if mask[j] {
			shift += theta[j] / r.xSD[j] * mean
		}
	}
	cuts := slices.Clone(categories.Points)
	floats.AddConst(shift, cuts)
	return response{Row: categories, sigma: 1, cuts: cuts}
}

// logKernelSums computes [likelihood.LogKernelSums] for m sets of predictors eta [m, M·n].
func (g response) logKernelSums(y, times, eta, sums []float64) {
	if g.unordered != nil {
		g.unordered.LogProbSums(y, times, eta, sums)
		return
	}
	likelihood.LogKernelSums(g.Row, y, times, eta, g.sigma, sums)
}

// logKernels returns the sum of logKernelSums for one set of predictors.
func (g response) logKernels(y, times, eta []float64) float64 {
	var sum [1]float64
	g.logKernelSums(y, times, eta, sum[:])
	return sum[0]
}

// newtons computes [likelihood.Newtons].
func (g response) newtons(y, times, eta, slope, curvature []float64) {
	if g.unordered != nil {
		g.unordered.Newtons(y, times, eta, slope, curvature)
		return
	}
	likelihood.Newtons(g.Row, y, times, eta, g.sigma, slope, curvature)
}

// draws writes a response of every row with predictors eta to dst [n].
func (g response) draws(eta []float64, random *rand.Rand, dst []float64) {
	if g.unordered == nil {
		for i := range dst {
			dst[i] = g.Draw(eta[i], g.sigma, random)
		}
		return
	}
	categories := g.unordered.Levels()
	shares := make([]float64, categories*len(dst))
	g.probabilities(eta, shares)
	for i := range dst {
		dst[i] = float64(pick.Func(categories, random.Float64(), func(k int) float64 { return shares[k*len(dst)+i] }))
	}
}

// probabilities writes probabilities of unordered categories at predictors eta to dst [K·n],
// category by category.
func (g response) probabilities(eta, dst []float64) {
	n := len(dst) / g.unordered.Levels()
	rowEta, shares := make([]float64, g.unordered.Predictors()), make([]float64, g.unordered.Levels())
	for i := range n {
		for m := range rowEta {
			rowEta[m] = eta[m*n+i]
		}
		g.unordered.At(nil).Probabilities(rowEta, shares)
		for k, p := range shares {
			dst[k*n+i] = p
		}
	}
}

// linearised returns a response roughly on the scale of the linear predictor. For positive
// responses it is exactly on this scale, because a shape parameter of a thousand determines effects
// to a thousandth. Censored responses are stored as negative numbers.
func (r *Regression) linearised(y float64) float64 {
	if r.Frame.Response.HasUnit() {
		return math.Log(math.Abs(y))
	}
	if r.categories != nil { // as if categories were equally spaced shares
		y /= float64(r.categories.Levels() - 1)
	}
	return r.Frame.Response.Link().Linear(y)
}
