package flows

import (
	"math"

	"github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti/dag/score"
)

// Collapsed is the network mechanism with the output layer integrated out. Given the outputs Φ
// [H',n] of the hidden units, which include a row of ones for the bias, x_j is normal with
// covariance σ² I + σ0² ΦᵀΦ, for noise σ and output weights with prior standard deviation σ0. The
// coordinates are the first layer, W1 [N,H] and b1 [H], and log σ if the noise is unknown.
// Collapsed satisfies [Mechanism].
type Collapsed struct{ *Additive }

// Dim returns the number of coordinates D.
func (c Collapsed) Dim() int {
	dim := c.layout.W2()
	if c.layout.Sigma == 0 {
		dim++
	}
	return dim
}

// Mask marks the coordinates that a node with the given parents uses: [B,N] Bool -> [B,D] Bool.
func (c Collapsed) Mask(_, parents *graph.Node) *graph.Node {
	mask, l := c.Additive.Mask(nil, parents), c.layout
	parts := []*graph.Node{graph.SliceAxis(mask, 1, graph.AxisRange(0, l.W2()))}
	if l.Sigma == 0 {
		parts = append(parts, graph.SliceAxis(mask, 1, graph.AxisRange(l.Weights())))
	}
	return graph.Concatenate(parts, 1)
}

// LogJoint returns log p(x_j, W1, b1, σ | x_pa) for the node j and the parents pa of each row.
func (c Collapsed) LogJoint(node, parents, mask, theta *graph.Node) *graph.Node {
	l, sd := c.layout, c.problem.Model.PriorSD
	theta = graph.Where(mask, theta, graph.ZerosLike(theta))
	units, response := c.hidden(node, theta)
	if l.Bias {
		any := graph.ConvertDType(graph.ReduceLogicalOr(parents, -1), theta.DType())
		units = graph.Concatenate([]*graph.Node{units, graph.BroadcastToShape(graph.InsertAxes(any, -1, -1), graph.SliceAxis(units, 1, graph.AxisElem(0)).Shape())}, 1)
	}
	if c.counted != nil {
		counted := c.countedOf(node, theta.DType())
		units, response = graph.Mul(units, graph.InsertAxes(counted, 1)), graph.Mul(response, counted)
	}
	logSigma := c.logSigma(theta, l.W2())
	noise := graph.Exp(graph.MulScalar(logSigma, -2))
	ridge := graph.InsertAxes(graph.ConvertDType(graph.Diagonal(node.Graph(), units.Shape().Dim(1)), theta.DType()), 0)
	gram := graph.Mul(graph.Einsum("bhr,bkr->bhk", units, units), graph.InsertAxes(noise, -1, -1))
	pull := graph.Mul(graph.Einsum("bhr,br->bh", units, response), graph.InsertAxes(noise, -1))
	logJoint := graph.Add(
		graph.Neg(graph.Mul(c.ofNode(theta, node, c.rows), graph.AddScalar(logSigma, score.HalfLog2Pi))),
		graph.MulScalar(graph.Mul(graph.ReduceSum(graph.Square(response), -1), noise), -0.5))
	logJoint = graph.Add(logJoint, logNormalIntegral(graph.Add(gram, graph.MulScalar(ridge, 1/(sd*sd))), pull))
	logJoint = graph.AddScalar(logJoint, -float64(units.Shape().Dim(1))*math.Log(sd))
	return graph.Add(logJoint, c.logPrior(node, mask, theta, l.W2(), logSigma))
}

// logNormalIntegral returns the log of ∫ exp(−½ wᵀAw + bᵀw) dw less a constant of the dimension,
// that is, ½ bᵀA⁻¹b − ½ log |A|: A [B,H,H], b [B,H] -> [B]. Gauss–Jordan elimination gives A⁻¹ and
// μ = A⁻¹b, and with them the gradients −½ (A⁻¹ + μμᵀ) with respect to A and μ with respect to b.
func logNormalIntegral(precision, linear *graph.Node) *graph.Node {
	units := linear.Shape().Dim(1)
	// A with b as a further column; elimination turns it into A⁻¹ with the column μ
	swept := graph.StopGradient(graph.Concatenate([]*graph.Node{precision, graph.InsertAxes(linear, -1)}, 2))
	var logDet *graph.Node
	for k := range units {
		pivot := graph.SliceAxis(graph.SliceAxis(swept, 1, graph.AxisElem(k)), 2, graph.AxisElem(k)) // [B,1,1]
		log := graph.Squeeze(graph.Log(pivot), 1, 2)
		if logDet == nil {
			logDet = log
		} else {
			logDet = graph.Add(logDet, log)
		}
		unit := graph.OneHot(graph.Const(swept.Graph(), int32(k)), units+1, swept.DType())
		column := graph.SliceAxis(swept, 2, graph.AxisElem(k)) // [B,H,1]
		row := graph.Div(graph.SliceAxis(swept, 1, graph.AxisElem(k)), pivot)
		across := graph.InsertAxes(unit, 0, 0) // [1,1,H+1]
		down := graph.InsertAxes(graph.SliceAxis(unit, 0, graph.AxisRange(0, units)), 0, -1)
		row = graph.Add(graph.Mul(row, graph.OneMinus(across)), graph.Mul(graph.Reciprocal(pivot), across))
		rest := graph.Mul(swept, graph.OneMinus(across))
		swept = graph.Add(graph.Mul(graph.Sub(rest, graph.Mul(column, row)), graph.OneMinus(down)), graph.Mul(row, down))
	}
	inverse, mean := graph.SliceAxis(swept, 2, graph.AxisRange(0, units)), graph.Squeeze(graph.SliceAxis(swept, 2, graph.AxisElem(units)), 2)
	value := graph.MulScalar(graph.Sub(graph.ReduceSum(graph.Mul(mean, graph.StopGradient(linear)), -1), logDet), 0.5)
	inverse, mean = graph.StopGradient(inverse), graph.StopGradient(mean)
	outer := graph.Add(inverse, graph.Mul(graph.InsertAxes(mean, -1), graph.InsertAxes(mean, 1)))
	zero := func(x *graph.Node) *graph.Node { return graph.Sub(x, graph.StopGradient(x)) } // zero, with the gradient of x
	value = graph.Sub(graph.StopGradient(value), graph.MulScalar(graph.ReduceSum(graph.Mul(outer, zero(precision)), 1, 2), 0.5))
	return graph.Add(value, graph.ReduceSum(graph.Mul(mean, zero(linear)), -1))
}
