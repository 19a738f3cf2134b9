package hbm

import (
	"fmt"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/made"
)

// MaxJoint is the largest number of latent numbers that Joint takes: its covariance has the square
// of it.
const MaxJoint = 2048

// checkJoint reports a model that is too large for Joint, by the number of unconstrained numbers of
// all members of all latent variables.
func checkJoint(m *Model) error {
	n := 0
	for _, l := range latents(m, false) {
		n += l.Members() * l.dim
	}
	if n > MaxJoint {
		return fmt.Errorf("hbm: family %v takes models of at most %d latent numbers, this has %d: use %v or %v", Joint, MaxJoint, n, PAVIF, Branch)
	}
	return nil
}

// mix multiplies the noise of all variables, taken as one vector for each draw, by a lower
// triangular matrix with ones on its diagonal, whose determinant is one.
func (c *cascade) mix(ctx *context.Context, r *replica, noise map[*Variable]*Node) map[*Variable]*Node {
	var parts []*Node
	for _, l := range c.latents {
		z := drawsTo(noise[l.Variable], len(l.plates), 0)
		parts = append(parts, Reshape(z, z.Shape().Dim(0), -1))
	}
	all := Concatenate(parts, 1) // [draws, D]
	n := all.Shape().Dim(1)
	square := shapes.Make(dtypes.Int32, n, n)
	below := GreaterThan(Iota(r.graph, square, 0), Iota(r.graph, square, 1))
	factor := made.Variable(ctx, r.graph, 0, "factor", r.dtype, made.Zeros, n, n)
	factor = Where(below, factor, ZerosLike(factor))
	all = Add(all, Einsum("kj,ij->ki", all, factor))
	mixed := map[*Variable]*Node{}
	at := 0
	for _, l := range c.latents {
		size := l.Members() * l.dim
		part := SliceAxis(all, 1, AxisRange(at, at+size))
		at += size
		part = Reshape(part, append(append([]int{all.Shape().Dim(0)}, r.dims(l.Variable)...), l.dim)...)
		mixed[l.Variable] = drawsTo(part, 0, len(l.plates))
	}
	return mixed
}

// drawsTo moves one axis of x to another place.
func drawsTo(x *Node, from, to int) *Node {
	var permutation []int
	for axis := range x.Rank() {
		if axis != from {
			permutation = append(permutation, axis)
		}
	}
	permutation = append(permutation[:to], append([]int{from}, permutation[to:]...)...)
	return transposed(x, permutation)
}
