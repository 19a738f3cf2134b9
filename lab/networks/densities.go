package networks

import (
	. "github.com/gomlx/gomlx/pkg/core/graph"
)

// LogJoint implements amortize.Family. It leaves out a constant that depends on the data only.
func (t *Task) LogJoint(data []*Node, _, _, theta *Node) *Node {
	var logDet *Node
	if t.options.Computed {
		center, root := ConvertDType(data[centerArray], theta.DType()), ConvertDType(data[rootArray], theta.DType())
		theta = Add(center, Einsum("bij,bj->bi", root, theta))
		logDet = Reshape(ConvertDType(data[logDetArray], theta.DType()), -1)
	}
	rows, present := ConvertDType(data[rowsArray], theta.DType()), ConvertDType(data[presentArray], theta.DType())
	prior := MulScalar(ReduceSum(Square(theta), -1), -0.5)
	joint := Add(prior, ReduceSum(Mul(t.logDensities(rows, theta), present), -1))
	if logDet != nil {
		joint = Add(joint, logDet)
	}
	return joint
}

// logDensities returns the log densities [B, N] of rows [B, N, W] given θ [B, D], up to a constant.
// B is the number of data sets.
func (t *Task) logDensities(rows, theta *Node) *Node {
	g, batch := theta.Graph(), theta.Shape().Dim(0)
	switch t.kind {
	case gaussianMean:
		flat := make([]float64, 0, t.dim*t.dim)
		for i := range t.dim {
			for j := range t.dim {
				flat = append(flat, t.precision.At(i, j))
			}
		}
		h := ConvertDType(Reshape(Const(g, flat), t.dim, t.dim), theta.DType())
		left := Sub(rows, InsertAxes(theta, 1))
		return MulScalar(ReduceSum(Mul(Einsum("bnd,de->bne", left, h), left), -1), -0.5)
	case mixtureMeans:
		means := Reshape(theta, batch, 2, t.dim)
		distances := Sub(InsertAxes(rows, 2), InsertAxes(means, 1)) // [B, N, 2, d]
		terms := MulScalar(ReduceSum(Square(distances), -1), -0.5/mixtureVariance)
		peak := StopGradient(ReduceAndKeep(terms, ReduceMax, -1))
		return Add(Log(ReduceSum(Exp(Sub(terms, peak)), -1)), Squeeze(peak, -1))
	}
	x := SliceAxis(rows, 2, AxisRange(0, t.dim))
	y := Squeeze(SliceAxis(rows, 2, AxisElem(t.dim)), -1)
	eta := t.predictions(x, theta)
	if !t.kind.hasClasses() {
		return MulScalar(Square(Sub(y, eta)), -0.5/regressionVariance)
	}
	margin := MulScalar(Mul(y, eta), -1/temperature) // y is −1 or 1
	return Neg(Add(MaxScalar(margin, 0), Log1P(Exp(Neg(Abs(margin))))))
}

// predictions returns x'θ, or the outputs of the network with weights θ, for each row [B, N]. θ
// holds the weights of the hidden units, unit by unit, then their biases, the weights of the
// output, and its bias.
func (t *Task) predictions(x, theta *Node) *Node {
	if !t.kind.isNetwork() {
		return Einsum("bnd,bd->bn", x, theta)
	}
	part := func(from, to int) *Node { return SliceAxis(theta, 1, AxisRange(from, to)) }
	first := hiddenUnits * t.dim
	weights := Reshape(part(0, first), -1, hiddenUnits, t.dim)
	hidden := Tanh(Add(Einsum("bnd,bhd->bnh", x, weights), InsertAxes(part(first, first+hiddenUnits), 1)))
	output := part(first+hiddenUnits, first+2*hiddenUnits)
	return Add(Einsum("bnh,bh->bn", hidden, output), part(first+2*hiddenUnits, first+2*hiddenUnits+1))
}
