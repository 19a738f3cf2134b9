package hbm

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/pkg/core/graph"
)

// Link maps the real numbers in which a latent variable is inferred to its values.
type Link interface {
	// Support is the set of values.
	Support() Support
	// Dim is the number of real numbers behind a value of the shape given, or an error if there are
	// no values of this shape.
	Dim(event []int) (int, error)
	// ToEvent maps u [..., Dim] to values [..., event...], with the logarithm of the absolute
	// determinant of the derivative, [...].
	ToEvent(u *Node, event []int) (value, logDet *Node)
}

var _ = []Link{IdentityLink{}, ExpLink{}, SoftplusLink{}, IntervalLink{}, SoftmaxLink{}, CholeskyLink{}}

// IdentityLink leaves real values as they are.
type IdentityLink struct{}

// ExpLink is θ = exp u > 0.
type ExpLink struct{}

// SoftplusLink is θ = log(1 + exp u) > 0.
type SoftplusLink struct{}

// IntervalLink is θ = Low + (High − Low) / (1 + exp −u).
type IntervalLink struct{ Low, High float64 }

// SoftmaxLink maps C−1 real numbers to C shares that sum to one: the softmax of (u, 0), which is a
// bijection. The determinant is that of the first C−1 shares.
type SoftmaxLink struct{}

// CholeskyLink maps d(d+1)/2 real numbers, the rows of a lower triangle, to a lower triangular [d,
// d] matrix with a positive diagonal: ½(u + √(u² + 4)) on the diagonal, the proximal map of the
// entropy of a normal distribution (appendix A of the branch paper), which decays to zero slowly.
// The determinant is that of the entries of the triangle.
type CholeskyLink struct{}

func (IdentityLink) Support() Support   { return Reals }
func (ExpLink) Support() Support        { return Positives }
func (SoftplusLink) Support() Support   { return Positives }
func (s IntervalLink) Support() Support { return Interval(s.Low, s.High) }
func (SoftmaxLink) Support() Support    { return Simplex }
func (CholeskyLink) Support() Support   { return CholeskyFactors }

func (IdentityLink) Dim(event []int) (int, error) { return product(event), nil }
func (ExpLink) Dim(event []int) (int, error)      { return product(event), nil }
func (SoftplusLink) Dim(event []int) (int, error) { return product(event), nil }

func (s IntervalLink) Dim(event []int) (int, error) {
	if !(s.Low < s.High) || math.IsInf(s.Low, 0) || math.IsInf(s.High, 0) {
		return 0, fmt.Errorf("got an interval from %g to %g, want finite ends in ascending order", s.Low, s.High)
	}
	return product(event), nil
}

func (SoftmaxLink) Dim(event []int) (int, error) {
	if len(event) != 1 || event[0] < 2 {
		return 0, fmt.Errorf("got an event of shape %v, want one axis of size 2 or more for shares", event)
	}
	return event[0] - 1, nil
}

func (CholeskyLink) Dim(event []int) (int, error) {
	if len(event) != 2 || event[0] != event[1] {
		return 0, fmt.Errorf("got an event of shape %v, want a square one for a Cholesky factor", event)
	}
	return event[0] * (event[0] + 1) / 2, nil
}

func (IdentityLink) ToEvent(u *Node, event []int) (value, logDet *Node) {
	return reshapeLast(u, event), ReduceSum(ZerosLike(u), -1)
}

func (ExpLink) ToEvent(u *Node, event []int) (value, logDet *Node) {
	return reshapeLast(Exp(u), event), ReduceSum(u, -1)
}

func (SoftplusLink) ToEvent(u *Node, event []int) (value, logDet *Node) {
	return reshapeLast(softplus(u), event), ReduceSum(Neg(softplus(Neg(u))), -1)
}

func (s IntervalLink) ToEvent(u *Node, event []int) (value, logDet *Node) {
	width := s.High - s.Low
	value = AddScalar(MulScalar(Logistic(u), width), s.Low)
	logSlope := AddScalar(Neg(Add(softplus(u), softplus(Neg(u)))), math.Log(width))
	return reshapeLast(value, event), ReduceSum(logSlope, -1)
}

func (SoftmaxLink) ToEvent(u *Node, event []int) (value, logDet *Node) {
	last := u.Rank() - 1
	logits := Concatenate([]*Node{u, ZerosLike(SliceAxis(u, last, AxisElem(0)))}, last)
	logShares := Sub(logits, InsertAxes(logSumExp(logits), -1))
	return reshapeLast(Exp(logShares), event), ReduceSum(logShares, -1)
}

func (CholeskyLink) ToEvent(u *Node, event []int) (value, logDet *Node) {
	d := event[0]
	root := Sqrt(AddScalar(Square(u), 4))
	diagonal := MulScalar(Add(u, root), 0.5)
	// Where u is very negative u + root cancels; 2/(root − u) is the same number.
	diagonal = Where(LessThan(u, ZerosLike(u)), DivScalar(Reciprocal(Sub(root, MinScalar(u, 0))), 0.5), diagonal)
	logSlope := Sub(Log(diagonal), Log(root)) // d/du ½(u + √(u²+4)) = diagonal / root

	on, place := make([]float64, d*(d+1)/2), make([][]float64, d*(d+1)/2)
	for i, k := 0, 0; i < d; i++ {
		for j := 0; j <= i; j, k = j+1, k+1 {
			place[k] = make([]float64, d*d)
			place[k][i*d+j] = 1
			if i == j {
				on[k] = 1
			}
		}
	}
	g := u.Graph()
	isDiagonal := GreaterThan(BroadcastToShape(Reshape(ConvertDType(Const(g, on), u.DType()), ones(u.Rank()-1, len(on))...), u.Shape()), ZerosLike(u))
	entries := Where(isDiagonal, diagonal, u)
	flat := Reshape(entries, -1, len(on))
	// a product with zeros and ones: exact
	full := MatMul(flat, ConvertDType(Const(g, place), u.DType()))
	return Reshape(full, append(append([]int{}, u.Shape().Dimensions[:u.Rank()-1]...), event...)...),
		ReduceSum(Where(isDiagonal, logSlope, ZerosLike(u)), -1)
}

// reshapeLast replaces the last axis of x by axes of the dimensions given.
func reshapeLast(x *Node, event []int) *Node {
	return Reshape(x, append(append([]int{}, x.Shape().Dimensions[:x.Rank()-1]...), event...)...)
}

// ones are n ones followed by the dimensions given.
func ones(n int, dims ...int) []int {
	all := make([]int, n, n+len(dims))
	for i := range all {
		all[i] = 1
	}
	return append(all, dims...)
}

// Support is the set of values of a density. The zero value is Reals.
type Support struct {
	kind      supportKind
	low, high float64
}

type supportKind int

const (
	realKind supportKind = iota
	positiveKind
	intervalKind
	simplexKind
	triangularKind
	binaryKind
	countKind
)

// The supports without parameters.
var (
	Reals           = Support{kind: realKind}
	Positives       = Support{kind: positiveKind}
	Simplex         = Support{kind: simplexKind}    // shares that sum to one
	CholeskyFactors = Support{kind: triangularKind} // square, with a positive diagonal
	Binaries        = Support{kind: binaryKind}     // 0 or 1
	Counts          = Support{kind: countKind}      // 0, 1, 2, …
)

// Interval is the support of numbers between low and high.
func Interval(low, high float64) Support { return Support{kind: intervalKind, low: low, high: high} }

// String says what the values are.
func (s Support) String() string {
	switch s.kind {
	case positiveKind:
		return "positive numbers"
	case intervalKind:
		return fmt.Sprintf("numbers from %g to %g", s.low, s.high)
	case simplexKind:
		return "shares that sum to one"
	case triangularKind:
		return "lower triangular matrices with a positive diagonal"
	case binaryKind:
		return "0 or 1"
	case countKind:
		return "counts"
	}
	return "real numbers"
}

// link is the link that a latent variable of this support has by default; nil if there is none.
func (s Support) link() Link {
	switch s.kind {
	case realKind:
		return IdentityLink{}
	case positiveKind:
		return ExpLink{}
	case intervalKind:
		return IntervalLink{s.low, s.high}
	case simplexKind:
		return SoftmaxLink{}
	case triangularKind:
		return CholeskyLink{}
	}
	return nil
}

// shareTolerance is how far shares read from a file may be from summing to one.
const shareTolerance = 1e-6

// check reports the first number of an observed value that is not in the support.
func (s Support) check(value []float64) error {
	var sum float64
	for i, x := range value {
		in := !math.IsNaN(x) && !math.IsInf(x, 0)
		switch s.kind {
		case positiveKind:
			in = in && x > 0
		case intervalKind:
			in = in && x >= s.low && x <= s.high
		case simplexKind:
			in = in && x >= 0
		case binaryKind:
			in = x == 0 || x == 1
		case countKind:
			in = in && x >= 0 && x == math.Trunc(x)
		}
		if !in {
			return fmt.Errorf("got %g at position %d of the event, want %s", x, i, s)
		}
		sum += x
	}
	if s.kind == simplexKind && math.Abs(sum-1) > shareTolerance {
		return fmt.Errorf("got a sum of %g, want %s", sum, s)
	}
	return nil
}
