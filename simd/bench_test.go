package simd

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/stretchr/testify/require"
)

// BenchmarkChain runs ten element-wise operations over 64 MiB as one pass over memory. It also
// times a copy of the array, the fastest possible pass, because the speed of memory limits both.
func BenchmarkChain(b *testing.B) {
	const size = 64 << 20 / 4
	backend := newBackend(b, "")
	for _, c := range []struct {
		name string
		f    func(ok func(backends.Op, error) backends.Op, b *Builder, x backends.Op) backends.Op
	}{
		{"copy", func(ok func(backends.Op, error) backends.Op, b *Builder, x backends.Op) backends.Op {
			return ok(b.Identity(x))
		}},
		{"ten", func(ok func(backends.Op, error) backends.Op, b *Builder, x backends.Op) backends.Op {
			y := x
			for i := range 5 {
				c := ok(b.Constant([]float32{float32(i) + 0.5}))
				c = ok(b.Reshape(c))
				y = ok(b.Add(ok(b.Mul(y, c)), x))
			}
			return y
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			e := compiled(b, backend, [][]int{{size}}, func(builder *Builder, in []backends.Op) []backends.Op {
				return []backends.Op{c.f(must(b), builder, in[0])}
			})
			in := []backends.Buffer{buffer32(b, backend, make([]float32, size), size)}
			b.SetBytes(2 * 4 * size)
			for b.Loop() {
				out, err := e.Execute(in, nil, 0)
				require.NoError(b, err)
				require.NoError(b, backend.BufferFinalize(out[0]))
			}
		})
	}
}

// BenchmarkOverhead runs 200 operations on scalars, fused into one pass and as 200 passes.
func BenchmarkOverhead(b *testing.B) {
	for _, config := range []string{"fuse=on", "fuse=off"} {
		b.Run(config, func(b *testing.B) {
			backend := newBackend(b, config)
			ok := must(b)
			e := compiled(b, backend, [][]int{{}, {}}, func(b *Builder, in []backends.Op) []backends.Op {
				x, y := in[0], in[1]
				for range 100 {
					x, y = ok(b.Sin(ok(b.Add(x, y)))), x
				}
				return []backends.Op{x}
			})
			in := []backends.Buffer{buffer32(b, backend, []float32{1}), buffer32(b, backend, []float32{2})}
			for b.Loop() {
				out, err := e.Execute(in, nil, 0)
				require.NoError(b, err)
				require.NoError(b, backend.BufferFinalize(out[0]))
			}
		})
	}
}

// BenchmarkCompile compiles the graph of a loss of a flow and its gradients, 8,568 nodes.
func BenchmarkCompile(b *testing.B) {
	backend := newBackend(b, "")
	s := madeSize{14, 8, 64, 5}
	var nodes int
	for b.Loop() {
		g := NewGraph(backend, "compile")
		x := Parameter(g, "x", shapes.Make(dtypes.Float32, madeBatch, madeDim))
		var weights []*Node
		for i, w := range s.weights(rand.New(rand.NewPCG(1, 2))) {
			weights = append(weights, Parameter(g, fmt.Sprint("w", i), w.Shape()))
		}
		outputs := s.made(x, weights)
		nodes = len(g.Nodes())
		b.StartTimer()
		g.Compile(outputs...)
		g.Finalize()
	}
	b.ReportMetric(float64(nodes), "nodes")
}
