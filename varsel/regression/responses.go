package regression

import (
	"math"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/distinct"
	"github.com/transdim/vti/likelihood"
)

// Responses holds all rows of a response with their likelihood. Densities include every constant,
// so that the integral over the parameters is the evidence.
type Responses struct {
	likelihood.Likelihood
	// Y holds the responses.
	Y []float64
	// Times holds the number of rows that each response represents; nil if each represents one row.
	Times []float64
	// Categories holds the categories of a categorical response; nil for other responses, which
	// have a Likelihood.
	Categories likelihood.Categories
	// More is the number of observations that Y does not hold, and Residual their sum of squares,
	// which no coefficient can change. Both are 0 except for Gaussian data compressed by
	// [exact.Compress].
	More     int
	Residual float64
}

// LogDensity returns log p(y | eta, scale) [B]. eta [B,n] is the linear predictor of every row with
// the offset. logScale [B,1] is the logarithm of the noise scale in the units of y; a likelihood
// without a noise scale ignores it. For a categorical response eta is [B,M·n], and logScale holds
// the parameters [B,P].
func (r Responses) LogDensity(eta, logScale *Node) *Node {
	if r.Categories != nil {
		return ReduceSum(r.Categories.LogProb(r.Y, Reshape(eta, -1, r.Categories.Predictors(), len(r.Y)), logScale), -1)
	}
	sum := likelihood.LogDensity(r.Likelihood, r.Y, r.Times, eta, logScale)
	if r.More == 0 {
		return sum
	}
	rest := MulScalar(Exp(MulScalar(logScale, -2)), -0.5*r.Residual)
	rest = AddScalar(Sub(rest, MulScalar(logScale, float64(r.More))), float64(r.More)*r.LogConstant(0))
	return Add(sum, Reshape(rest, -1))
}

// LogDensityAt returns the same as LogDensity, computed in Go, for one eta [n] and noise scale.
func (r Responses) LogDensityAt(eta []float64, scale float64) float64 {
	sum := r.LogKernels(eta, scale) + likelihood.LogConstants(r.Likelihood, r.Y, r.Times)
	if r.More != 0 {
		sum += float64(r.More) * r.LogConstant(0)
	}
	return sum
}

// LogKernels returns the part of the log density that depends on eta [n] and scale.
func (r Responses) LogKernels(eta []float64, scale float64) float64 {
	sum := likelihood.LogKernels(r.Likelihood, r.Y, r.Times, eta, scale)
	if r.More != 0 {
		sum -= 0.5*r.Residual/scale/scale + float64(r.More)*math.Log(scale)
	}
	return sum
}

// Working returns positive weights w and responses ŷ such that −½ Σ w_i (η_i − ŷ_i)² has the same
// gradient and curvature as the log density at eta. If cautious is true, its curvature is instead
// so large that the log density rises at each step of iterated maximisation ([likelihood.Row]).
func (r Responses) Working(eta []float64, scale float64, cautious bool) (weights, response []float64) {
	weights, response = make([]float64, len(r.Y)), make([]float64, len(r.Y))
	r.Expand(eta, scale, cautious, response, weights)
	for i, slope := range response {
		response[i] = eta[i] + slope/weights[i]
	}
	return weights, response
}

// Expand writes the derivative of the log density in each element of eta to slope, and minus the
// second derivative to curvature. cautious has the same meaning as in Working.
func (r Responses) Expand(eta []float64, scale float64, cautious bool, slope, curvature []float64) {
	expand := likelihood.Newtons
	if cautious {
		expand = likelihood.Bounds
	}
	expand(r.Likelihood, r.Y, r.Times, eta, scale, slope, curvature)
}

// Constant returns values as a constant in the graph of the node like, in its type of numbers.
func Constant(like *Node, values []float64, dims ...int) *Node {
	return ConvertDType(Reshape(Const(like.Graph(), values), dims...), like.DType())
}

var halfLog2Pi = math.Log(2*math.Pi) / 2

// CountRows merges rows with the same response, offset and columns, and sets Times to their counts.
func (t *Regression) CountRows() {
	y := t.Responses.Y
	found := distinct.Of(len(y), func(key []byte, row int) []byte {
		if t.Offset != nil {
			key = distinct.Key(key, t.Offset[row])
		}
		return distinct.Key(distinct.Key(key, y[row]), t.X.RawRowView(row)...)
	})
	if found == nil {
		return
	}
	t.Responses.Y, t.Responses.Times = distinct.At(y, found.First), found.Times
	if t.Offset != nil {
		t.Offset = distinct.At(t.Offset, found.First)
	}
	_, columns := t.X.Dims()
	x := mat.NewDense(len(found.First), columns, nil)
	for k, row := range found.First {
		x.SetRow(k, t.X.RawRowView(row))
	}
	t.X = x
}
