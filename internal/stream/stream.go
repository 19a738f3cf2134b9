// Package stream derives independent, named random streams from one seed.
//
// Every source of randomness in vti has a name ("init", "codes", "noise", "certify", …). A stream
// depends only on the seed and its own name, so adding a stream, or drawing more from one, never
// changes the numbers of another.
package stream

import (
	"hash/fnv"
	"math/rand/v2"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/apply"
)

// scope is the scope of the state variables of graph streams in a context.
const scope = "stream"

// Seed returns the seed of the stream called name under the root seed: the 64-bit FNV-1a hash of
// the name, mixed with the root by the SplitMix64 finaliser so that neighbouring roots are
// unrelated.
func Seed(root uint64, name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	x := root + 0x9e3779b97f4a7c15*(h.Sum64()|1)
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return x ^ (x >> 31)
}

// Rand returns the stream as a random generator for code outside of graphs.
func Rand(root uint64, name string) *rand.Rand { return rand.New(Source(root, name)) }

// Source returns the PCG generator of the stream for code outside of graphs. It holds the whole
// state of the stream.
func Source(root uint64, name string) *rand.PCG {
	return rand.NewPCG(Seed(root, name), Seed(root, name+"/increment"))
}

// Normals returns n standard normal draws.
func Normals(random *rand.Rand, n int) []float64 {
	return apply.UpTo(n, func(int) float64 { return random.NormFloat64() })
}

// Uniform draws values in [0, 1) of the given shape inside graph g and advances the stream's state
// variable. The state starts from (root, name) the first time the context sees the stream; later it
// is the state in the context, so a restored context continues where it stopped.
func Uniform(ctx *context.Context, g *graph.Graph, root uint64, name string, shape shapes.Shape) *graph.Node {
	return draw(ctx, g, root, name, shape, graph.RandomUniform)
}

// Normal draws standard normal values. In all other respects it is like Uniform.
func Normal(ctx *context.Context, g *graph.Graph, root uint64, name string, shape shapes.Shape) *graph.Node {
	return draw(ctx, g, root, name, shape, graph.RandomNormal)
}

type generator func(state *graph.Node, shape shapes.Shape) (newState, values *graph.Node)

func draw(ctx *context.Context, g *graph.Graph, root uint64, name string, shape shapes.Shape, generate generator) *graph.Node {
	initial := []uint64{Seed(root, name), Seed(root, name+"/1"), Seed(root, name+"/2")}
	state := ctx.InAbsPath("/"+scope).Checked(false).VariableWithValue(name, initial).SetTrainable(false)
	next, values := generate(state.ValueGraph(g), shape)
	state.SetValueGraph(next)
	return values
}
