package hbm

import (
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"
)

// startLogSD is the logarithm of the standard deviation at which normal distributions start, in
// units of that of the prior.
const startLogSD = -1

// gaussian is a normal distribution whose mean, covariance and regression on the variables before
// it are the encoding itself.
type gaussian struct {
	dense bool // the covariance of one member; else it is diagonal
}

// width counts the mean, the logarithms of the diagonal of the factor of the covariance, the rest
// of the factor, and the regression.
func (n gaussian) width(l *latent) int {
	width := 2*l.dim + l.dim*l.after
	if n.dense {
		width += l.dim * (l.dim - 1) / 2
	}
	return width
}

func (n gaussian) push(_ *context.Context, l *latent, in given) (u, logDet *Node) {
	last := in.encoding.Rank() - 1
	at := 0
	next := func(size int, dims ...int) *Node { // [plates..., draws or 1, dims...]
		part := SliceAxis(in.encoding, last, AxisRange(at, at+size))
		at += size
		return reshapeLast(part, dims)
	}
	shift, logSD := next(l.dim, l.dim), AddScalar(next(l.dim, l.dim), startLogSD)
	noise := in.noise
	if in.present != nil {
		noise = Mul(noise, in.present)
	}
	x := Mul(Exp(logSD), noise)
	if n.dense && l.dim > 1 {
		x = Add(x, timesVector(strictlyLower(next(l.dim*(l.dim-1)/2, l.dim*(l.dim-1)/2), l.dim), noise))
	}
	if l.after > 0 {
		x = Add(x, timesVector(next(l.dim*l.after, l.dim, l.after), in.before))
	}
	u = Add(in.typicalMean, Mul(in.typicalSD, Add(shift, x)))
	logDet = Add(sumPresent(logSD, in.present), sumPresent(Log(in.typicalSD), in.present))
	return u, BroadcastToDims(logDet, in.noise.Shape().Dimensions[:in.noise.Rank()-1]...)
}

// timesVector is the product of matrices [..., n, m] and vectors [..., m], whose leading axes
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
