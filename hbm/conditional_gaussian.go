package hbm

import (
	"slices"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/made"
	"github.com/transdim/vti/internal/rank"
)

// startLogSD is the logarithm of the standard deviation at which normal distributions start, in
// units of the standard deviation of the prior.
const startLogSD = -1

// gaussian is a normal distribution of a latent variable given earlier variables. The encoding of a
// member (a repetition of the variable over plates) holds the mean, the covariance, and the
// coefficients of a regression on the earlier variables.
type gaussian struct {
	dense bool // whether the covariance of a member is dense; else it is diagonal
}

// width returns the number of entries of an encoding: the mean, the log diagonal of the Cholesky
// factor of the covariance, the factor below its diagonal, and the coefficients of the regression.
func (n gaussian) width(l *latent) int {
	width := 2*l.dim + l.dim*l.after
	if n.dense {
		width += l.dim * (l.dim - 1) / 2
	}
	return width
}

// normalParts holds the parameters of a normal distribution, from an encoding. Their unit is the
// typical sd, the standard deviation of the prior at typical values of the parents. u are the U
// unconstrained numbers of a member.
type normalParts struct {
	center       *Node // mean of u given the variables before, [plates..., draws or 1, U]
	logSD        *Node // log diagonal of the Cholesky factor of the covariance, in units of typical sd
	lower        *Node // the factor below its diagonal [..., U, U]; nil stands for zero
	unit, logDet *Node // the typical sd, and the log determinant of the map from noise to u
}

func (n gaussian) parts(l *latent, in conditionalInputs) normalParts {
	last := in.encoding.Rank() - 1
	at := 0
	next := func(size int, dims ...int) *Node { // [plates..., draws or 1, dims...]
		part := SliceAxis(in.encoding, last, AxisRange(at, at+size))
		at += size
		return reshapeLast(part, dims)
	}
	shift := next(l.dim, l.dim)
	p := normalParts{logSD: AddScalar(next(l.dim, l.dim), startLogSD), unit: in.typicalSD}
	if n.dense && l.dim > 1 {
		p.lower = strictlyLower(next(l.dim*(l.dim-1)/2, l.dim*(l.dim-1)/2), l.dim)
	}
	if l.after > 0 {
		shift = Add(shift, timesVector(next(l.dim*l.after, l.dim, l.after), in.before))
	}
	p.center = Add(in.typicalMean, Mul(in.typicalSD, shift))
	p.logDet = Add(sumPresent(p.logSD, in.present), sumPresent(Log(in.typicalSD), in.present))
	return p
}

func (n gaussian) push(_ *context.Context, l *latent, in conditionalInputs, z *Node) (u, logDet *Node) {
	p, noise := n.parts(l, in), z
	if in.present != nil {
		noise = Mul(noise, in.present)
	}
	x := Mul(Exp(p.logSD), noise)
	if p.lower != nil {
		x = Add(x, timesVector(p.lower, noise))
	}
	return Add(p.center, Mul(p.unit, x)), BroadcastToDims(p.logDet, z.Shape().Dimensions[:z.Rank()-1]...)
}

// pull solves for the noise z that push maps to u, one number after the other.
func (n gaussian) pull(_ *context.Context, l *latent, in conditionalInputs, u *Node) (z, logDet *Node) {
	p := n.parts(l, in)
	x, last := Div(Sub(u, p.center), p.unit), u.Rank()-1
	logDet = BroadcastToDims(p.logDet, u.Shape().Dimensions[:last]...)
	if p.lower == nil {
		return Div(x, Exp(p.logSD)), logDet
	}
	column := func(x *Node, i int) *Node { return SliceAxis(x, x.Rank()-1, AxisElem(i)) }
	var noise []*Node
	for i := range l.dim {
		rest := column(x, i)
		for j, earlier := range noise {
			if in.present != nil {
				earlier = Mul(earlier, column(in.present, j))
			}
			entry := column(Squeeze(SliceAxis(p.lower, p.lower.Rank()-2, AxisElem(i)), p.lower.Rank()-2), j)
			rest = Sub(rest, Mul(entry, earlier))
		}
		noise = append(noise, Div(rest, Exp(column(p.logSD, i))))
	}
	return Concatenate(noise, last), logDet
}

// timesVector returns the product of matrices [..., n, m] and vectors [..., m], whose leading axes
// broadcast.
func timesVector(matrix, vector *Node) *Node {
	return ReduceSum(Mul(matrix, InsertAxes(vector, -2)), -1)
}

// strictlyLower puts entries [..., n(n−1)/2], row by row, below the diagonal of matrices [..., n,
// n].
func strictlyLower(entries *Node, n int) *Node {
	place := make([][]float64, n*(n-1)/2)
	for i, k := 1, 0; i < n; i++ {
		for j := range i {
			place[k] = make([]float64, n*n)
			place[k][i*n+j] = 1
			k++
		}
	}
	flat := Reshape(entries, -1, len(place))
	full := MatMul(flat, ConvertDType(Const(entries.Graph(), place), entries.DType()))
	return Reshape(full, append(append([]int{}, entries.Shape().Dimensions[:entries.Rank()-1]...), n, n)...)
}

// MaxJoint is the largest number of unconstrained latent numbers for Joint, whose covariance has
// the square of this number of entries.
const MaxJoint = 2048

// mix multiplies the standard normal noise of all variables, taken as one vector for each draw, by
// a trained lower triangular matrix with ones on its diagonal, whose determinant is 1.
func (c *cascade) mix(ctx *context.Context, r *replica, noise map[*Variable]*Node) map[*Variable]*Node {
	all := together(c.latents, noise)
	n := all.Shape().Dim(1)
	square := shapes.Make(dtypes.Int32, n, n)
	below := GreaterThan(Iota(r.graph, square, 0), Iota(r.graph, square, 1))
	if c.blocks {
		var variable []int32 // index of the variable to which each number belongs
		for i, l := range c.latents {
			variable = append(variable, slices.Repeat([]int32{int32(i)}, l.Members()*l.dim)...)
		}
		index := Const(r.graph, variable)
		below = LogicalAnd(below, Equal(InsertAxes(index, -1), InsertAxes(index, 0)))
	}
	factor := made.Variable(ctx, r.graph, 0, "factor", r.dtype, made.Zeros, n, n)
	factor = Where(below, factor, ZerosLike(factor))
	return apart(r, c.latents, Add(all, Einsum("kj,ij->ki", all, factor)))
}

// moved moves an axis of x, such as the axis of draws, to another position.
func moved(x *Node, from, to int) *Node {
	rest := slices.Delete(rank.UpTo(x.Rank()), from, from+1)
	return transposed(x, slices.Insert(rest, to, from))
}
