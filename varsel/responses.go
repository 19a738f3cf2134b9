package varsel

import (
	"math"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/distinct"
	"github.com/transdim/vti/likelihood"
)

// responses are those of all rows with their likelihood. Every constant of a density is kept, so
// that the integral over the parameters is the evidence.
type responses struct {
	likelihood.Likelihood
	y []float64
	// times are how many rows each stands for; nil for one
	times []float64
	// categories are those of the response; nil for others, which have a Likelihood
	categories likelihood.Categories
	// more is the number of observations beyond those of y, and residual their sum of squares,
	// which no coefficient can change: both are 0 but for gaussian data compressed by
	// [exact.Compress].
	more     int
	residual float64
}

// logDensity returns log p(y | eta, scale) [B]. eta [B,n] is the linear predictor of every row,
// offset included; logScale [B,1] is the logarithm of the noise scale in the units of y, unused by
// a likelihood without one. For categories they are eta [B,M·n] and parameters [B,P].
func (r responses) logDensity(eta, logScale *Node) *Node {
	if r.categories != nil {
		return ReduceSum(r.categories.LogProb(r.y, Reshape(eta, -1, r.categories.Predictors(), len(r.y)), logScale), -1)
	}
	sum := likelihood.LogDensity(r.Likelihood, r.y, r.times, eta, logScale)
	if r.more == 0 {
		return sum
	}
	rest := MulScalar(Exp(MulScalar(logScale, -2)), -0.5*r.residual)
	rest = AddScalar(Sub(rest, MulScalar(logScale, float64(r.more))), float64(r.more)*r.LogConstant(0))
	return Add(sum, Reshape(rest, -1))
}

// logDensityAt is the same on the host for one eta [n] and noise scale.
func (r responses) logDensityAt(eta []float64, scale float64) float64 {
	sum := likelihood.LogDensityAt(r.Likelihood, r.y, r.times, eta, scale)
	if r.more > 0 {
		rest := -0.5*r.residual/scale/scale - float64(r.more)*math.Log(scale)
		sum += rest + float64(r.more)*r.LogConstant(0)
	}
	return sum
}

// logKernels is the part of the log density that depends on eta [n] and scale, of responses that
// are not compressed.
func (r responses) logKernels(eta []float64, scale float64) float64 {
	return likelihood.LogKernels(r.Likelihood, r.y, r.times, eta, scale)
}

// working returns positive weights w and responses ŷ such that −½ Σ w_i (η_i − ŷ_i)² has the
// gradient of the log density at eta. Its curvature is that of the log density; with cautious it is
// large enough for iterated maximisation to climb. See [likelihood.Row].
func (r responses) working(eta []float64, scale float64, cautious bool) (weights, response []float64) {
	weights, response = make([]float64, len(r.y)), make([]float64, len(r.y))
	r.expand(eta, scale, cautious, response, weights)
	for i, slope := range response {
		response[i] = eta[i] + slope/weights[i]
	}
	return weights, response
}

// expand writes the slope and the curvature of the log density in each of eta, the latter as
// cautious as in working.
func (r responses) expand(eta []float64, scale float64, cautious bool, slope, curvature []float64) {
	newton := r.NewtonAt
	if cautious {
		newton = r.BoundAt
	}
	for i, y := range r.y {
		slope[i], curvature[i] = newton(y, eta[i], scale)
	}
	for i, t := range r.times {
		slope[i], curvature[i] = t*slope[i], t*curvature[i]
	}
}

// constant puts values into the graph of like, in its float type.
func constant(like *Node, values []float64, dims ...int) *Node {
	return ConvertDType(Reshape(Const(like.Graph(), values), dims...), like.DType())
}

var halfLog2Pi = math.Log(2*math.Pi) / 2

// countRows leaves one of the rows that are the same in response, offset and columns, with how many
// they are.
func (t *Target) countRows() {
	y := t.responses.y
	found := distinct.Of(len(y), func(key []byte, row int) []byte {
		if t.offset != nil {
			key = distinct.Key(key, t.offset[row])
		}
		return distinct.Key(distinct.Key(key, y[row]), t.x.RawRowView(row)...)
	})
	if found == nil {
		return
	}
	t.responses.y, t.responses.times = distinct.At(y, found.First), found.Times
	if t.offset != nil {
		t.offset = distinct.At(t.offset, found.First)
	}
	_, columns := t.x.Dims()
	x := mat.NewDense(len(found.First), columns, nil)
	for k, row := range found.First {
		x.SetRow(k, t.x.RawRowView(row))
	}
	t.x = x
}
