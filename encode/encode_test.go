package encode_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/encode"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/networks"
	"github.com/transdim/vti/lab/testkit"
)

// numbers is an array of numbers in row-major order with its shape.
type numbers struct {
	values []float64
	dims   []int
}

func random(seed uint64, dims ...int) numbers {
	x, size := stream.Rand(seed, "numbers"), 1
	for _, d := range dims {
		size *= d
	}
	n := numbers{make([]float64, size), dims}
	for i := range n.values {
		n.values[i] = x.NormFloat64()
	}
	return n
}

// permuted returns an array whose entry i along an axis is the entry order[i] of n.
func (n numbers) permuted(axis int, order []int) numbers {
	after := 1
	for _, d := range n.dims[axis+1:] {
		after *= d
	}
	out := numbers{make([]float64, len(n.values)), n.dims}
	block := after * n.dims[axis]
	for at := range n.values {
		outer, i, rest := at/block, at%block/after, at%after
		out.values[at] = n.values[outer*block+order[i]*after+rest]
	}
	return out
}

func (n numbers) tensor(dtype dtypes.DType) *tensors.Tensor {
	if dtype == dtypes.Float64 {
		return tensors.FromFlatDataAndDimensions(n.values, n.dims...)
	}
	single := make([]float32, len(n.values))
	for i, v := range n.values {
		single[i] = float32(v)
	}
	return tensors.FromFlatDataAndDimensions(single, n.dims...)
}

// presence returns a mask [T, size] that is 1 for the first counts[t] members of set t.
func presence(size int, counts ...int) numbers {
	n := numbers{make([]float64, len(counts)*size), []int{len(counts), size}}
	for t, count := range counts {
		for i := range count {
			n.values[t*size+i] = 1
		}
	}
	return n
}

// evaluate runs a graph and returns its outputs as float64. A first execution creates the weights,
// which are then changed, because some initial weights are zero.
func evaluate(t *testing.T, build func(ctx *context.Context, in []*Node) []*Node, dtype dtypes.DType, inputs ...numbers) [][]float64 {
	t.Helper()
	variables := context.New()
	exec, err := context.NewExecAny(testkit.Backend(t), variables, func(ctx *context.Context, in []*Node) []*Node {
		var out []*Node
		for _, node := range build(ctx, in) {
			out = append(out, ConvertDType(node, dtypes.Float64))
		}
		return out
	})
	require.NoError(t, err)
	var args []any
	for _, input := range inputs {
		args = append(args, input.tensor(dtype))
	}
	_, err = exec.Exec(args...)
	require.NoError(t, err)
	for variable := range variables.IterVariables() {
		value, err := variable.Value()
		require.NoError(t, err)
		r := stream.Rand(1, variable.ScopeAndName())
		value.MustMutableFlatData(func(flat any) { shake(flat, r) })
	}
	outputs, err := exec.Exec(args...)
	require.NoError(t, err)
	var values [][]float64
	for _, output := range outputs {
		values = append(values, tensors.MustCopyFlatData[float64](output))
	}
	return values
}

func shake(flat any, r *rand.Rand) {
	switch values := flat.(type) {
	case []float32:
		for i := range values {
			values[i] += float32(0.1 * r.NormFloat64())
		}
	case []float64:
		for i := range values {
			values[i] += 0.1 * r.NormFloat64()
		}
	}
}

func isTrue(x *Node) *Node { return GreaterThan(x, ZerosLike(x)) }

var all = []networks.Encoder{networks.DeepSets, networks.Transformer, networks.InducedSets}

// types holds the float types, with the tolerance for sums whose terms are added in a new order.
var types = map[dtypes.DType]float64{dtypes.Float64: 1e-12, dtypes.Float32: 2e-4}

// Encodings do not depend on the order of rows, nor, to the bit, on the content of absent rows.
// They do depend on the content and the number of present rows.
func TestEncodersAreInvariant(t *testing.T) {
	const n, r = 6, 3
	for _, kind := range all {
		for dtype, tolerance := range types {
			t.Run(fmt.Sprintf("%v/%v", kind, dtype), func(t *testing.T) {
				encoder, err := encode.New(kind.In(encode.Config{Hidden: 8, Heads: 2, Seed: 1}))
				require.NoError(t, err)
				encoded := func(rows, present numbers) []float64 {
					return evaluate(t, func(ctx *context.Context, in []*Node) []*Node {
						return []*Node{encoder.Encode(ctx, in[0], isTrue(in[1]))}
					}, dtype, rows, present)[0]
				}
				rows, present := random(1, 2, n, r), presence(n, 4, 6)
				want := encoded(rows, present)
				order := []int{5, 2, 0, 3, 1, 4}
				require.InDeltaSlice(t, want, encoded(rows.permuted(1, order), present.permuted(1, order)), tolerance)

				absent := random(1, 2, n, r)
				for i := 4 * r; i < n*r; i++ {
					absent.values[i] = 1e6
				}
				require.Equal(t, want, encoded(absent, present))

				changed := random(1, 2, n, r)
				changed.values[1] += 0.5
				got := encoded(changed, present)
				require.Greater(t, distance(want[:8], got[:8]), 0.01)
				require.InDeltaSlice(t, want[8:], got[8:], tolerance) // the other sets stay unchanged
				require.Greater(t, distance(want, encoded(rows, presence(n, 3, 6))), 0.01)

				// a set that contains each row twice has another encoding than a set that contains
				// it once
				twice, half := numbers{dims: []int{1, n, r}}, presence(n, 3)
				twice.values = append(append([]float64{}, rows.values[:3*r]...), rows.values[:3*r]...)
				require.Greater(t, distance(encoded(twice, presence(n, 6)), encoded(twice, half)), 0.01)

				for _, v := range encoded(rows, presence(n, 0, 0)) {
					require.False(t, math.IsNaN(v) || math.IsInf(v, 0))
				}
			})
		}
	}
}

// Every weight of an encoder has a gradient.
func TestGradientsReachAllWeights(t *testing.T) {
	build := map[string]func(ctx *context.Context, cells, rows, columns *Node) *Node{}
	for _, kind := range all {
		cfg := kind.In(encode.Config{Hidden: 8, Heads: 2, Seed: 1})
		encoder, err := encode.New(cfg)
		require.NoError(t, err)
		build[kind.String()] = func(ctx *context.Context, cells, rows, _ *Node) *Node {
			return encoder.Encode(ctx, Reshape(cells, 2, 5, -1), rows)
		}
		table, err := encode.NewTable(cfg)
		require.NoError(t, err)
		build["table of "+kind.String()] = func(ctx *context.Context, cells, rows, columns *Node) *Node {
			each, whole := table.Encode(ctx, cells, rows, columns, ReduceMean(cells, 1))
			return Concatenate([]*Node{Reshape(each, 2, -1), whole}, -1)
		}
	}
	for name, encoder := range build {
		t.Run(name, func(t *testing.T) {
			names := []string{}
			gradients := evaluate(t, func(ctx *context.Context, in []*Node) []*Node {
				encoding := encoder(ctx, in[0], isTrue(in[1]), isTrue(in[2]))
				loss := ReduceAllSum(Mul(encoding, Cos(MulScalar(IotaFull(encoding.Graph(), encoding.Shape()), 3))))
				var values []*Node
				names = names[:0]
				for variable := range ctx.IterVariables() {
					values, names = append(values, variable.ValueGraph(loss.Graph())), append(names, variable.ScopeAndName())
				}
				return Gradient(loss, values...)
			}, dtypes.Float64, random(2, 2, 5, 4, 2), presence(5, 4, 5), presence(4, 3, 4))
			require.NotEmpty(t, gradients)
			for i, gradient := range gradients {
				require.Greater(t, distance(gradient, make([]float64, len(gradient))), 1e-9, names[i])
			}
		})
	}
}

// The encoding of a column by the encoder of tables moves with the column, and does not depend on
// the order of rows; the encoding of the table depends on neither the order of rows nor the order
// of columns. The content of absent rows and columns changes no bit.
func TestTablesAreEquivariant(t *testing.T) {
	const n, p, f, h = 5, 4, 2, 8
	for _, kind := range all {
		for dtype, tolerance := range types {
			t.Run(fmt.Sprintf("%v/%v", kind, dtype), func(t *testing.T) {
				table, err := encode.NewTable(kind.In(encode.Config{Hidden: h, Heads: 2, Seed: 1}))
				require.NoError(t, err)
				encoded := func(cells, rows, columns, about numbers) (each, whole numbers) {
					out := evaluate(t, func(ctx *context.Context, in []*Node) []*Node {
						each, whole := table.Encode(ctx, in[0], isTrue(in[1]), isTrue(in[2]), in[3])
						return []*Node{each, whole}
					}, dtype, cells, rows, columns, about)
					return numbers{out[0], []int{2, p, h}}, numbers{out[1], []int{2, h}}
				}
				cells, rows, columns, about := random(1, 2, n, p, f), presence(n, 4, 5), presence(p, 3, 4), random(2, 2, p, 3)
				each, whole := encoded(cells, rows, columns, about)

				order := []int{4, 1, 3, 0, 2}
				e, w := encoded(cells.permuted(1, order), rows.permuted(1, order), columns, about)
				require.InDeltaSlice(t, each.values, e.values, tolerance)
				require.InDeltaSlice(t, whole.values, w.values, tolerance)

				order = []int{2, 0, 3, 1}
				e, w = encoded(cells.permuted(2, order), rows, columns.permuted(1, order), about.permuted(1, order))
				require.InDeltaSlice(t, each.permuted(1, order).values, e.values, tolerance)
				require.InDeltaSlice(t, whole.values, w.values, tolerance)

				absent := random(1, 2, n, p, f)
				for at := range absent.values {
					table, row, column := at/(n*p*f), at/(p*f)%n, at/f%p
					if table == 0 && (row == 4 || column == 3) {
						absent.values[at] = -1e5
					}
				}
				e, w = encoded(absent, rows, columns, about)
				require.Equal(t, each.values, e.values)
				require.Equal(t, whole.values, w.values)

				changed := random(1, 2, n, p, f)
				changed.values[0] += 1 // the first column of the first table
				e, _ = encoded(changed, rows, columns, about)
				for column := range 3 { // the other columns depend on it through attention
					require.Greater(t, distance(each.values[column*h:(column+1)*h], e.values[column*h:(column+1)*h]), 10*tolerance)
				}
			})
		}
	}
}

func TestConfigsAreChecked(t *testing.T) {
	for _, c := range []struct {
		cfg  encode.Config
		want string
	}{
		{encode.Config{Hidden: 10, Heads: 4}, "want a multiple of the 4 Heads"},
		{encode.Config{Layers: -1}, "want at least 1 each"},
	} {
		_, err := encode.New(c.cfg)
		require.ErrorContains(t, err, c.want)
		_, err = encode.NewTable(c.cfg)
		require.ErrorContains(t, err, c.want)
	}
	for _, kind := range all {
		parsed, err := networks.ParseEncoder(kind.String())
		require.NoError(t, err)
		require.Equal(t, kind, parsed)
	}
	_, err := networks.ParseEncoder("lstm")
	require.ErrorContains(t, err, `unknown encoder "lstm"`)
}

func distance(a, b []float64) (largest float64) {
	for i := range a {
		largest = math.Max(largest, math.Abs(a[i]-b[i]))
	}
	return largest
}
