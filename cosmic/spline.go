package cosmic

import (
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
)

const (
	// bound is the half-width of the square in which the spline acts. Outside of the square it is
	// the identity. A standard normal draw lies outside with probability 1 in 1.7 million.
	bound = 5
	// minBin is the smallest width or height of a bin, as a share of the square, as in the code
	// that Durkan et al. (2019) published.
	minBin = 1e-3
)

// spline is the monotone rational-quadratic spline of Durkan et al. (2019) on [-bound, bound],
// continued by the identity. The map affine follows it and can move mass beyond the square. Both
// maps are the identity at ρ = 0: the bins are equal and the slopes one, and there is no shift or
// scale.
//
// Outside of the square the spline is exact at any distance. A spline on [0, 1] between a sigmoid
// and a logit would be inaccurate in the tails, which decide importance weights.
type spline struct{ bins int }

// outputs returns the numbers of widths, heights, slopes at the inner knots, shifts and log-scales.
func (s spline) outputs() []int { return []int{s.bins, s.bins, s.bins - 1, 1, 1} }

func (s spline) toParams(rho []*graph.Node, z *graph.Node) (theta, logSlope *graph.Node) {
	inside := insideSquare(z)
	widths, heights := s.bars(rho[0], z), s.bars(rho[1], z)
	x := graph.Where(inside, z, graph.ZerosLike(z))
	b := s.find(widths, widths, heights, s.slopes(rho[2], z), x)

	xi := b.fraction(graph.Div(graph.Sub(x, b.x0), b.width)) // ξ
	y, log := b.evaluate(xi)
	theta, logScale := affine{}.toParams(rho[3:], graph.Where(inside, y, z))
	return theta, graph.Add(graph.Where(inside, log, graph.ZerosLike(z)), logScale)
}

func (s spline) toBase(rho []*graph.Node, theta *graph.Node) (z, logSlope *graph.Node) {
	v, logScale := affine{}.toBase(rho[3:], theta)
	inside := insideSquare(v)
	widths, heights := s.bars(rho[0], v), s.bars(rho[1], v)
	y := graph.Where(inside, v, graph.ZerosLike(v))
	b := s.find(heights, widths, heights, s.slopes(rho[2], v), y)

	// ξ solves a quadratic equation (eq. 6 to 8 of Durkan et al.). This form of the root does not
	// subtract nearly equal numbers.
	rise := graph.Sub(y, b.y0)
	bend := graph.Mul(rise, b.curvature())
	qa := graph.Add(graph.Mul(b.height, graph.Sub(b.secant, b.d0)), bend)
	qb := graph.Sub(graph.Mul(b.height, b.d0), bend)
	qc := graph.Neg(graph.Mul(b.secant, rise))
	discriminant := graph.Sub(graph.Square(qb), graph.MulScalar(graph.Mul(qa, qc), 4))
	// The discriminant is zero only by rounding. A tiny positive number then keeps the gradient of
	// the root finite.
	tiny := graph.MulScalar(graph.OnesLike(y), 1e-30)
	root := graph.Sqrt(graph.Max(discriminant, tiny))
	xi := b.fraction(graph.Div(graph.MulScalar(qc, -2), graph.Add(qb, root)))
	_, log := b.evaluate(xi)
	z = graph.Where(inside, graph.Add(b.x0, graph.Mul(xi, b.width)), v)
	return z, graph.Add(graph.Where(inside, log, graph.ZerosLike(v)), logScale)
}

func insideSquare(x *graph.Node) *graph.Node {
	return graph.LessThan(graph.Abs(x), graph.MulScalar(graph.OnesLike(x), bound))
}

// bars returns the widths or heights of the bins, positive and summing to 2·bound, [B, D, K].
func (s spline) bars(rho, x *graph.Node) *graph.Node {
	share := graph.Softmax(graph.Reshape(rho, x.Shape().Dim(0), x.Shape().Dim(1), s.bins), -1)
	share = graph.AddScalar(graph.MulScalar(share, 1-minBin*float64(s.bins)), minBin)
	return graph.MulScalar(share, 2*bound)
}

// slopes returns the slopes at the inner knots, [B, D, K-1]; the slopes at the ends are 1.
func (s spline) slopes(rho, x *graph.Node) *graph.Node {
	return graph.Exp(softClamp(graph.Reshape(rho, x.Shape().Dim(0), x.Shape().Dim(1), s.bins-1)))
}

// bin holds, for each coordinate, the bin that contains its value: the lower left corner, the sides
// and the slopes at both ends, [B, D] each.
type bin struct {
	x0, y0, width, height, secant, d0, d1 *graph.Node
}

// find returns the bin of each value of x [B, D]. The argument steps holds the widths of the bins
// if x is an argument of the spline, and their heights if x is a value. The function compares x
// with all knots. The corner is the sum of the sides of the bins to the left. The comparisons enter
// as factors 0 and 1 without a gradient.
func (s spline) find(steps, widths, heights, slopes, x *graph.Node) bin {
	g, dtype, batch, dim := x.Graph(), x.DType(), x.Shape().Dim(0), x.Shape().Dim(1)
	grid := shapes.Make(dtypes.Int32, s.bins, s.bins-1)
	upTo := graph.ConvertDType(graph.LessOrEqual(graph.Iota(g, grid, 0), graph.Iota(g, grid, 1)), dtype)
	knots := graph.AddScalar(graph.MatMul(steps, upTo), -bound) // inner knots, [B, D, K-1]
	positions := graph.BroadcastToShape(graph.InsertAxes(x, -1), knots.Shape())
	passed := graph.ConvertDType(graph.GreaterOrEqual(positions, knots), dtype) // 1 … 1 0 … 0

	one := graph.Ones(g, shapes.Make(dtype, batch, dim, 1))
	// before marks the bins to the left of the bin that contains x.
	before := graph.Concatenate([]*graph.Node{passed, graph.ZerosLike(one)}, -1)
	here := graph.Sub(graph.Concatenate([]*graph.Node{one, passed}, -1), before) // 1 for x's bin
	first := graph.Slice(here, graph.AxisRange(), graph.AxisRange(), graph.AxisElem(0))
	last := graph.Slice(here, graph.AxisRange(), graph.AxisRange(), graph.AxisElem(s.bins-1))
	pick := func(values, selector *graph.Node) *graph.Node {
		return graph.ReduceSum(graph.Mul(values, graph.StopGradient(selector)), -1)
	}
	end := func(selector *graph.Node) *graph.Node { // the slope is 1 at both ends of the square
		return graph.StopGradient(graph.Reshape(selector, batch, dim))
	}
	afterFirst := graph.Slice(here, graph.AxisRange(), graph.AxisRange(), graph.AxisRange(1))
	beforeLast := graph.Slice(here, graph.AxisRange(), graph.AxisRange(), graph.AxisRange(0, s.bins-1))
	b := bin{
		x0:     graph.AddScalar(pick(widths, before), -bound),
		y0:     graph.AddScalar(pick(heights, before), -bound),
		width:  pick(widths, here),
		height: pick(heights, here),
		d0:     graph.Add(pick(slopes, afterFirst), end(first)),
		d1:     graph.Add(pick(slopes, beforeLast), end(last)),
	}
	b.secant = graph.Div(b.height, b.width)
	return b
}

// fraction clamps ξ to [0, 1], because rounding at a knot may put ξ outside.
func (b bin) fraction(xi *graph.Node) *graph.Node {
	return graph.Min(graph.OnesLike(xi), graph.Max(xi, graph.ZerosLike(xi)))
}

// curvature returns d0 + d1 - 2·secant, with d0 and d1 the slopes at the ends of the bin and secant
// its mean slope.
func (b bin) curvature() *graph.Node {
	return graph.Sub(graph.Add(b.d0, b.d1), graph.MulScalar(b.secant, 2))
}

// evaluate returns the value of the spline at the fraction ξ of the bin's width and the logarithm
// of its slope there (eq. 4 and 5 of Durkan et al.).
func (b bin) evaluate(xi *graph.Node) (y, logSlope *graph.Node) {
	rest := graph.OneMinus(xi)
	cross := graph.Mul(xi, rest)
	square := graph.Square(xi)
	denominator := graph.Add(b.secant, graph.Mul(b.curvature(), cross))
	rise := graph.Div(graph.Add(graph.Mul(b.secant, square), graph.Mul(b.d0, cross)), denominator)
	y = graph.Add(b.y0, graph.Mul(b.height, rise))

	slope := graph.Add(graph.Add(
		graph.Mul(b.d1, square),
		graph.Mul(graph.MulScalar(b.secant, 2), cross)),
		graph.Mul(b.d0, graph.Square(rest)))
	// logSlope is the logarithm of secant²·slope/denominator². With the square taken last it needs
	// one logarithm instead of two.
	logSlope = graph.Log(graph.Mul(slope, graph.Square(graph.Div(b.secant, denominator))))
	return y, logSlope
}
