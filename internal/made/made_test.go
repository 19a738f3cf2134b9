package made

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
)

// dependence reports which outputs of a network depend on which inputs: onInput has a row for each
// of the D inputs, and onCond a row for each of the C columns of cond, over the outputs of all
// heads. It uses gradients at random weights and a random point.
func dependence(t *testing.T, n *Network) (onInput, onCond [][]bool) {
	t.Helper()
	cfg := n.cfg
	ctx := context.New()
	rng := stream.Rand(1, "dependence")
	normal := func(cols int) [][]float64 {
		rows := make([][]float64, 4)
		for r := range rows {
			rows[r] = make([]float64, cols)
			for c := range rows[r] {
				rows[r][c] = rng.NormFloat64()
			}
		}
		return rows
	}
	randomise := false
	exec, err := context.NewExec(testkit.Backend(t), ctx, func(ctx *context.Context, in []*graph.Node) []*graph.Node {
		x := in[0]
		wrt := []*graph.Node{x}
		var cond *graph.Node
		if cfg.Context > 0 {
			cond = in[1]
			wrt = append(wrt, cond)
		}
		outputs := n.Bind(ctx, x.Graph(), x.DType(), cond).Outputs(x)
		if !randomise {
			return outputs
		}
		all := graph.Concatenate(outputs, 1)
		var grads []*graph.Node
		for o := range all.Shape().Dim(1) {
			unit := make([]float64, all.Shape().Dim(1))
			unit[o] = 1
			pick := graph.InsertAxes(graph.ConstAs(all, unit), 0)
			grads = append(grads, graph.Gradient(graph.ReduceAllSum(graph.Mul(all, pick)), wrt...)...)
		}
		return grads
	})
	require.NoError(t, err)
	args := []any{normal(cfg.Inputs)}
	if cfg.Context > 0 {
		args = append(args, normal(cfg.Context))
	}
	for _, out := range exec.MustExec(args...) { // creates the variables; heads are zero
		tensors.MustConstFlatData(out, func(flat []float64) {
			for _, v := range flat {
				require.Zero(t, v)
			}
		})
	}
	for v := range ctx.IterVariables() {
		values := make([]float64, v.Shape().Size())
		for i := range values {
			values[i] = rng.NormFloat64()
		}
		require.NoError(t, v.SetValue(tensors.FromFlatDataAndDimensions(values, v.Shape().Dimensions...)))
	}
	exec.Finalize()
	randomise = true
	grads := exec.MustExec(args...)
	nonzero := func(rows int, from, step int) [][]bool {
		found := make([][]bool, rows)
		for i := from; i < len(grads); i += step {
			for j := range found {
				any := false
				for _, row := range grads[i].Value().([][]float64) {
					any = any || row[j] != 0
				}
				found[j] = append(found[j], any)
			}
		}
		return found
	}
	return nonzero(cfg.Inputs, 0, len(args)), nonzero(cfg.Context, 1, len(args))
}

// TestAutoregressive checks by gradients that each output depends on exactly the inputs before its
// own, and on all of cond.
func TestAutoregressive(t *testing.T) {
	for _, cfg := range []Config{
		{Inputs: 1, Hidden: 4, Blocks: 1, Context: 2, Heads: [][]int{{2}}},
		{Inputs: 1, Hidden: 1, Heads: [][]int{{1}}},
		{Inputs: 2, Hidden: 16, Blocks: 2, Context: 3, Heads: [][]int{slices.Repeat([]int{1}, 2), slices.Repeat([]int{3}, 2)}},
		{Inputs: 5, Hidden: 30, Blocks: 2, Context: 1, Heads: [][]int{{3, 2, 0, 1, 1}}, Activation: LeakyReLU},
		{Inputs: 5, Hidden: 30, Blocks: 0, Heads: [][]int{slices.Repeat([]int{1}, 5)}},
	} {
		t.Run(fmt.Sprintf("D=%d/blocks=%d/C=%d", cfg.Inputs, cfg.Blocks, cfg.Context), func(t *testing.T) {
			n, err := New(cfg)
			require.NoError(t, err)
			onInput, onCond := dependence(t, n)
			var input []int // the input to which each output belongs
			for _, outputs := range cfg.Heads {
				for i, count := range outputs {
					for range count {
						input = append(input, i)
					}
				}
			}
			for o, i := range input {
				for j := range cfg.Inputs {
					require.Equal(t, j < i, onInput[j][o], "output %d of input %d, input %d", o, i, j)
				}
				for c := range cfg.Context {
					require.True(t, onCond[c][o], "output %d, cond %d", o, c)
				}
			}
		})
	}
}

// TestBrokenDegreesSeen shows that TestAutoregressive can fail: if degrees are too high by one,
// each output depends on its own input.
func TestBrokenDegreesSeen(t *testing.T) {
	n, err := New(Config{Inputs: 3, Hidden: 12, Blocks: 1, Heads: [][]int{slices.Repeat([]int{1}, 3)}})
	require.NoError(t, err)
	in, head := n.inputMask(), n.headMask(slices.Repeat([]int{1}, 3))
	for k := range n.degrees {
		n.degrees[k]++
	}
	require.False(t, paths(in, n.hiddenMask(), head, 1)[1][1])
	require.True(t, paths(n.inputMask(), n.hiddenMask(), head, 1)[1][1])
}

// TestVariable checks that the initial values of a variable depend only on the seed and its name,
// that they are the same numbers in another dtype, and that a wrong shape is an error.
func TestVariable(t *testing.T) {
	backend := testkit.Backend(t)
	read := func(ctx *context.Context, seed uint64, name string, dtype dtypes.DType, dims ...int) ([]float64, error) {
		exec, err := context.NewExec(backend, ctx, func(ctx *context.Context, x *graph.Node) *graph.Node {
			v := Variable(ctx.In("here"), x.Graph(), seed, name, dtype, FanIn(4), dims...)
			return graph.Reshape(graph.ConvertDType(v, dtypes.Float64), v.Shape().Size())
		})
		require.NoError(t, err)
		out, err := exec.Exec1(0.)
		if err != nil {
			return nil, err
		}
		return out.Value().([]float64), nil
	}
	ctx := context.New()
	a, err := read(ctx, 1, "a", dtypes.Float64, 2, 3)
	require.NoError(t, err)
	for _, v := range a {
		require.True(t, -0.5 <= v && v < 0.5 && v != 0)
	}
	narrow, err := read(ctx, 1, "a", dtypes.Float32, 2, 3)
	require.NoError(t, err)
	require.InDeltaSlice(t, a, narrow, 1e-7)
	require.Equal(t, 1, ctx.NumVariables())

	other, err := read(ctx, 1, "b", dtypes.Float64, 2, 3)
	require.NoError(t, err)
	require.NotEqual(t, a, other)
	again, err := read(context.New(), 1, "a", dtypes.Float64, 2, 3)
	require.NoError(t, err)
	require.Equal(t, a, again)
	reseeded, err := read(context.New(), 2, "a", dtypes.Float64, 2, 3)
	require.NoError(t, err)
	require.NotEqual(t, a, reseeded)

	_, err = read(ctx, 1, "a", dtypes.Float64, 3, 3)
	require.ErrorContains(t, err, "/here/a has shape (Float64)[2 3], want dimensions [3 3]")
}

// TestConfig checks that New refuses invalid configurations.
func TestConfig(t *testing.T) {
	good := Config{Inputs: 2, Hidden: 3, Heads: [][]int{{1, 1}}}
	_, err := New(good)
	require.NoError(t, err)
	for message, spoil := range map[string]func(*Config){
		"Inputs, want at least 1":       func(c *Config) { c.Inputs = 0 },
		"got Context -1":                func(c *Config) { c.Context = -1 },
		"got Hidden 1, want at least 2": func(c *Config) { c.Hidden = 1 },
		"got -1 Blocks":                 func(c *Config) { c.Blocks = -1 },
		"unknown Activation":            func(c *Config) { c.Activation = 9 },
		"Heads is empty":                func(c *Config) { c.Heads = nil },
		"Heads[0] lists 1 inputs":       func(c *Config) { c.Heads = [][]int{{1}} },
		"Heads[0][1] is negative":       func(c *Config) { c.Heads = [][]int{{1, -1}} },
		"Heads[0] has no outputs":       func(c *Config) { c.Heads = [][]int{{0, 0}} },
	} {
		cfg := good
		spoil(&cfg)
		_, err := New(cfg)
		require.ErrorContains(t, err, message)
	}
}

// TestContextMismatch checks that Exec returns an error if a network that needs cond gets none.
func TestContextMismatch(t *testing.T) {
	n, err := New(Config{Inputs: 2, Hidden: 4, Context: 3, Heads: [][]int{{1, 1}}})
	require.NoError(t, err)
	exec, err := context.NewExec(testkit.Backend(t), context.New(), func(ctx *context.Context, x *graph.Node) *graph.Node {
		return n.Bind(ctx, x.Graph(), x.DType(), nil).Outputs(x)[0]
	})
	require.NoError(t, err)
	_, err = exec.Exec([][]float64{{1, 2}})
	require.ErrorContains(t, err, "needs a context [B, 3], got nil")
}
