package hbm

import (
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti/internal/made"
)

// Link maps the real numbers in which a latent variable is inferred to its values.
type Link interface {
	// Support returns the set of values.
	Support() Support
	// Dim returns the number of real numbers that ToEvent maps to a value of this shape, or an
	// error if there are no values of this shape.
	Dim(event []int) (int, error)
	// ToEvent maps u [..., Dim] to values [..., event...], with the logarithm of the absolute
	// determinant of the derivative, [...].
	ToEvent(u *Node, event []int) (value, logDet *Node)
}

var _ = []Link{IdentityLink{}, ExpLink{}, SoftmaxLink{}}

// IdentityLink leaves real values as they are.
type IdentityLink struct{}

// ExpLink maps real numbers u to positive values exp u.
type ExpLink struct{}

// SoftmaxLink maps C−1 real numbers u to C shares that sum to one: the softmax of (u, 0), which is
// a bijection. Its determinant is the determinant for the first C−1 shares.
type SoftmaxLink struct{}

func (IdentityLink) Support() Support { return Reals }
func (ExpLink) Support() Support      { return Positives }
func (SoftmaxLink) Support() Support  { return Simplex }

func (IdentityLink) Dim(event []int) (int, error) { return product(event), nil }
func (ExpLink) Dim(event []int) (int, error)      { return product(event), nil }

func (SoftmaxLink) Dim(event []int) (int, error) {
	if len(event) != 1 || event[0] < 2 {
		return 0, fmt.Errorf("got an event of shape %v, want one axis of size 2 or more for shares", event)
	}
	return event[0] - 1, nil
}

func (IdentityLink) ToEvent(u *Node, event []int) (value, logDet *Node) {
	return reshapeLast(u, event), ReduceSum(ZerosLike(u), -1)
}

func (ExpLink) ToEvent(u *Node, event []int) (value, logDet *Node) {
	return reshapeLast(Exp(u), event), ReduceSum(u, -1)
}

func (SoftmaxLink) ToEvent(u *Node, event []int) (value, logDet *Node) {
	last := u.Rank() - 1
	logits := Concatenate([]*Node{u, ZerosLike(SliceAxis(u, last, AxisElem(0)))}, last)
	logShares := made.LogSoftmax(logits)
	return reshapeLast(Exp(logShares), event), ReduceSum(logShares, -1)
}

func reshapeLast(x *Node, event []int) *Node {
	return Reshape(x, append(append([]int{}, x.Shape().Dimensions[:x.Rank()-1]...), event...)...)
}

// ones returns n ones followed by the given dimensions.
func ones(n int, dims ...int) []int {
	return append(slices.Repeat([]int{1}, n), dims...)
}

// Support is the set of values of a density.
type Support int

// The sets of values of densities.
const (
	Reals     Support = iota
	Positives         // numbers above 0
	Simplex           // shares that sum to one
	Binaries          // 0 or 1
	Counts            // 0, 1, 2, …
)

// String describes the values.
func (s Support) String() string {
	return [...]string{"real numbers", "positive numbers", "shares that sum to one", "0 or 1", "counts"}[s]
}

// link returns the default link of a latent variable with this support, or nil if there is none.
func (s Support) link() Link {
	switch s {
	case Reals:
		return IdentityLink{}
	case Positives:
		return ExpLink{}
	case Simplex:
		return SoftmaxLink{}
	}
	return nil
}

// shareTolerance is the largest tolerated distance from one of the sum of observed shares, which
// may be rounded in a file.
const shareTolerance = 1e-6

// check returns an error for the first number of an observed value outside the support.
func (s Support) check(value []float64) error {
	var sum float64
	for i, x := range value {
		in := !math.IsNaN(x) && !math.IsInf(x, 0)
		switch s {
		case Positives:
			in = in && x > 0
		case Simplex:
			in = in && x >= 0
		case Binaries:
			in = x == 0 || x == 1
		case Counts:
			in = in && x >= 0 && x == math.Trunc(x)
		}
		if !in {
			return fmt.Errorf("got %g at position %d of the event, want %s", x, i, s)
		}
		sum += x
	}
	if s == Simplex && math.Abs(sum-1) > shareTolerance {
		return fmt.Errorf("got a sum of %g, want %s", sum, s)
	}
	return nil
}
