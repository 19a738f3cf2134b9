package simd

import (
	"testing"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/stretchr/testify/require"
)

// programOf compiles a computation of float32 parameters and returns its program.
func programOf(t *testing.T, dims [][]int, f func(b *Builder, in []backends.Op) []backends.Op) *program {
	b := newBackend(t, "threads=1")
	var p *program
	b.observe = func(compiled *program) { p = compiled }
	compiled(t, b, dims, f)
	return p
}

// TestFusedUpdate checks that an update of weights with momentum is one pass over memory, fused
// with the last activation. The update adds an old momentum, which is known at the start, to the
// result of a long chain of layers, which is known at the end.
func TestFusedUpdate(t *testing.T) {
	ok := must(t)
	p := programOf(t, [][]int{{64, 64}, {64, 64}}, func(b *Builder, in []backends.Op) []backends.Op {
		w, momentum := in[0], in[1]
		gradient := w
		for range 2 * maxGap {
			gradient = ok(b.Tanh(ok(b.Dot(gradient, w))))
		}
		decay := ok(b.Constant([]float32{0.9}))
		decay = ok(b.Reshape(decay))
		momentum = ok(b.Add(ok(b.Mul(momentum, decay)), gradient))
		return []backends.Op{momentum, ok(b.Sub(w, momentum))}
	})
	require.Len(t, p.steps, 2*2*maxGap, "a product and an activation per layer, the update with the last one")
}

// TestFusedReductions checks that the pass that computes a matrix also computes its sums along both
// axes, and that operations on these sums are a second pass.
func TestFusedReductions(t *testing.T) {
	ok := must(t)
	p := programOf(t, [][]int{{100, 30}}, func(b *Builder, in []backends.Op) []backends.Op {
		e := ok(b.Exp(in[0]))
		rows := ok(b.ReduceSum(e, 1))
		normal := ok(b.Div(e, ok(b.Reshape(rows, 100, 1))))
		return []backends.Op{normal, ok(b.ReduceSum(e, 0)), rows}
	})
	require.Len(t, p.steps, 2)
	first := p.steps[0].step.(*tileProgram)
	require.Equal(t, shortRows, first.order)
	require.Len(t, first.along, 1)
	require.Len(t, first.down, 1)
}

// TestGradientOfDotIsAProduct checks that the sum of broadcast products, as which GoMLX writes the
// gradient of Dot, is recognised as a matrix product.
func TestGradientOfDotIsAProduct(t *testing.T) {
	ok := must(t)
	p := programOf(t, [][]int{{32, 10}, {32, 20}}, func(b *Builder, in []backends.Op) []backends.Op {
		x, dy := ok(b.Reshape(in[0], 32, 10, 1)), ok(b.Reshape(in[1], 32, 1, 20))
		return []backends.Op{ok(b.ReduceSum(ok(b.Mul(dy, x)), 0))}
	})
	require.Len(t, p.steps, 1)
	q := p.steps[0].step.(*productStep[float32])
	require.Equal(t, [3]int{10, 32, 20}, [3]int{q.m, q.k, q.n})
}

// TestEliminate checks that equal nodes are merged, that nodes that no output needs are dropped,
// and that the compiler computes nodes that depend on constants only.
func TestEliminate(t *testing.T) {
	ok := must(t)
	p := programOf(t, [][]int{{50}}, func(b *Builder, in []backends.Op) []backends.Op {
		one := ok(b.Reshape(ok(b.Constant([]float32{1}))))
		c := ok(b.Exp(ok(b.Sub(one, one))))  // 1
		x := ok(b.Mul(ok(b.Tanh(in[0])), c)) // tanh x
		y := ok(b.Tanh(in[0]))
		ok(b.Sin(y)) // no output needs this
		return []backends.Op{ok(b.Add(x, y))}
	})
	require.Len(t, p.steps, 1)
	require.Len(t, p.steps[0].step.(*tileProgram).code, 2, "tanh and a sum")
}

// TestKeysDiffer checks that two nodes have different keys if the id of an input of one is the
// attribute of the other.
func TestKeysDiffer(t *testing.T) {
	g := &graph{}
	a := g.key(opRandomState, dtypes.Uint64, []int{3}, 23, []*node{{id: 1}})
	b := g.key(opRandomState, dtypes.Uint64, []int{3}, 3, []*node{{id: 12}})
	require.NotEqual(t, a, b)
}
