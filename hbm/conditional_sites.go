package hbm

import (
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/made"
)

// siteGaussian is a normal distribution with the precision and the mean that follow from sites
// (siteEncoder). In units x of the prior at typical values, with Λ = Σ w F F' + diag exp a,
//
//	x = Λ⁻¹ (Σ w F r + h + B z_before) + noise,   noise ~ N(0, Λ⁻¹).
type siteGaussian struct{}

// width counts the sites, a, h and B.
func (siteGaussian) width(l *latent) int {
	if !l.hasSites() {
		return gaussian{dense: true}.width(l)
	}
	return siteNumbers(l.dim) + 2*l.dim + l.dim*l.after
}

func (siteGaussian) push(ctx *context.Context, l *latent, in given) (u, logDet *Node) {
	d := l.dim
	if !l.hasSites() {
		return gaussian{dense: true}.push(ctx, l, in)
	}
	precision, linear, rest := splitSites(in.encoding, d)
	last, width := rest.Rank()-1, rest.Shape().Dim(-1)
	// learns faster than networks
	fixed := made.Variable(ctx, rest.Graph(), 0, "fixed", rest.DType(), made.Zeros, width)
	rest = Add(rest, Reshape(fixed, ones(last, width)...))
	at := 0
	next := func(dims ...int) *Node { // [plates..., draws or 1, dims...]
		part := SliceAxis(rest, last, AxisRange(at, at+product(dims)))
		at += product(dims)
		return reshapeLast(part, dims)
	}
	logPrior := next(d)
	linear = Add(linear, next(d))
	if l.after > 0 {
		linear = Add(linear, timesVector(next(d, l.after), in.before))
	}
	factor := cholesky(precision, Exp(logPrior))
	x := factor.solveTransposed(Add(factor.solve(linear), in.noise))
	u = Add(in.typicalMean, Mul(in.typicalSD, x))
	logDet = Sub(ReduceSum(Log(in.typicalSD), -1), factor.logDet())
	return u, BroadcastToDims(logDet, in.noise.Shape().Dimensions[:in.noise.Rank()-1]...)
}

// lower are the columns of lower triangular matrices L, column j from row j on: [..., d − j].
type lower []*Node

// cholesky is the factor of A + diag(more), for positive semidefinite A [..., d, d] and positive
// more [..., d], written out for small d.
func cholesky(a, more *Node) lower {
	d := a.Shape().Dim(-1)
	columns := make(lower, d)
	for j := range d {
		axis := a.Rank() - 1
		column := Squeeze(SliceAxis(a, axis, AxisElem(0)), axis) // [..., d − j]
		axis--
		// what is below zero is rounding
		pivot := Sqrt(Add(MaxScalar(SliceAxis(column, axis, AxisElem(0)), 0), SliceAxis(more, axis, AxisElem(j))))
		if j == d-1 {
			columns[j] = pivot
			break
		}
		below := Div(SliceAxis(column, axis, AxisRange(1)), pivot)
		columns[j] = Concatenate([]*Node{pivot, below}, -1)
		a = SliceAxis(SliceAxis(a, axis, AxisRange(1)), axis+1, AxisRange(1))
		a = Sub(a, Mul(InsertAxes(below, -1), InsertAxes(below, -2)))
	}
	return columns
}

// entry is L_ij, [..., 1].
func (l lower) entry(i, j int) *Node { return SliceAxis(l[j], l[j].Rank()-1, AxisElem(i-j)) }

// solve is L⁻¹ b for b [..., d].
func (l lower) solve(b *Node) *Node {
	axis := b.Rank() - 1
	solved := make([]*Node, len(l))
	for j := range l {
		solved[j] = Div(SliceAxis(b, axis, AxisElem(0)), l.entry(j, j))
		if j < len(l)-1 {
			b = Sub(SliceAxis(b, axis, AxisRange(1)), Mul(SliceAxis(l[j], l[j].Rank()-1, AxisRange(1)), solved[j]))
		}
	}
	return Concatenate(solved, -1)
}

// solveTransposed is L'⁻¹ b for b [..., d].
func (l lower) solveTransposed(b *Node) *Node {
	axis := b.Rank() - 1
	var solved *Node // of the last rows
	for j := len(l) - 1; j >= 0; j-- {
		rest := SliceAxis(b, axis, AxisElem(j))
		if solved != nil {
			rest = Sub(rest, InsertAxes(ReduceSum(Mul(SliceAxis(l[j], l[j].Rank()-1, AxisRange(1)), solved), -1), -1))
		}
		row := Div(rest, l.entry(j, j))
		if solved == nil {
			solved = row
		} else {
			solved = Concatenate([]*Node{row, solved}, -1)
		}
	}
	return solved
}

// logDet is log |L|, [...].
func (l lower) logDet() *Node {
	var sum *Node
	for j := range l {
		sum = plus(sum, Squeeze(Log(l.entry(j, j)), -1))
	}
	return sum
}
