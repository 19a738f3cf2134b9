package cosmic

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
)

// batch holds the inputs of a flow: masks, among them all coordinates and none, the features, and z
// or theta.
type batch struct {
	mask  [][]bool
	feats [][]float64
	x     [][]float64
}

// newBatch draws a batch of n ≥ 2 rows. The first row uses every coordinate and the second none.
func newBatch(seed uint64, n, dim, features int) batch {
	rng := stream.Rand(seed, "batch")
	var b batch
	for r := range n {
		mask, x := make([]bool, dim), make([]float64, dim)
		for i := range dim {
			mask[i] = r == 0 || r > 1 && rng.IntN(2) == 1
			x[i] = 1.5 * rng.NormFloat64()
		}
		feats := make([]float64, features)
		for i := range feats {
			feats[i] = float64(rng.IntN(2))
		}
		b.mask, b.feats, b.x = append(b.mask, mask), append(b.feats, feats), append(b.x, x)
	}
	return b
}

// with returns b with x in place of its values of z or theta.
func (b batch) with(x [][]float64) batch {
	b.x = x
	return b
}

// graphFn is the signature of ToParams, of ToBase, and of functions that tests use instead.
type graphFn func(ctx *context.Context, mask, feats, x *graph.Node) (y, logDet *graph.Node)

// subject is a flow with its weights.
type subject struct {
	t       testing.TB
	flow    *Flow
	ctx     *context.Context
	backend backends.Backend
}

func newSubject(t testing.TB, cfg Config) subject {
	t.Helper()
	flow, err := New(cfg)
	require.NoError(t, err)
	return subject{t, flow, context.New(), testkit.Backend(t)}
}

// randomise replaces every trainable variable by normal draws, because the zeros that make an
// untrained flow the identity would hide most mistakes. The draws have standard deviation scale,
// divided by √n for a matrix of n rows. Jacobians are then well enough conditioned for the
// tolerances of these tests.
func (s subject) randomise(scale float64) subject {
	s.t.Helper()
	// This evaluation creates the variables.
	s.eval(s.flow.ToParams, dtypes.Float64, newBatch(1, 2, s.flow.cfg.Dim, s.flow.cfg.Features))
	for v := range s.ctx.IterVariables() {
		if !v.Trainable {
			continue
		}
		rng := stream.Rand(7, v.ScopeAndName())
		sd := scale
		if v.Shape().Rank() == 2 {
			sd /= math.Sqrt(float64(v.Shape().Dim(0)))
		}
		values := make([]float64, v.Shape().Size())
		for i := range values {
			values[i] = sd * rng.NormFloat64()
		}
		require.NoError(s.t, v.SetValue(tensors.FromFlatDataAndDimensions(values, v.Shape().Dimensions...)))
	}
	return s
}

// run executes a graph on the three inputs of b, with feats and x converted to dtype, and returns
// its outputs in Float64.
func (s subject) run(dtype dtypes.DType, b batch, fn func(ctx *context.Context, mask, feats, x *graph.Node) []*graph.Node) []*tensors.Tensor {
	s.t.Helper()
	exec, err := context.NewExec(s.backend, s.ctx, func(ctx *context.Context, in []*graph.Node) []*graph.Node {
		x := graph.ConvertDType(in[len(in)-1], dtype)
		var feats *graph.Node
		if s.flow.cfg.Features > 0 {
			feats = graph.ConvertDType(in[1], dtype)
		}
		out := fn(ctx, in[0], feats, x)
		for i := range out {
			out[i] = graph.ConvertDType(out[i], dtypes.Float64)
		}
		return out
	})
	require.NoError(s.t, err)
	defer exec.Finalize()
	args := []any{b.mask}
	if s.flow.cfg.Features > 0 {
		args = append(args, b.feats)
	}
	out, err := exec.Exec(append(args, b.x)...)
	require.NoError(s.t, err)
	return out
}

// eval returns the two results of fn.
func (s subject) eval(fn graphFn, dtype dtypes.DType, b batch) (y [][]float64, logDet []float64) {
	s.t.Helper()
	out := s.run(dtype, b, func(ctx *context.Context, mask, feats, x *graph.Node) []*graph.Node {
		y, logDet := fn(ctx, mask, feats, x)
		return []*graph.Node{y, logDet}
	})
	return out[0].Value().([][]float64), out[1].Value().([]float64)
}

// jacobian returns ∂y_i/∂x_j of each row by automatic differentiation, indexed [row][i][j].
func (s subject) jacobian(fn graphFn, b batch) [][][]float64 {
	s.t.Helper()
	out := s.run(dtypes.Float64, b, func(ctx *context.Context, mask, feats, x *graph.Node) []*graph.Node {
		y, _ := fn(ctx, mask, feats, x)
		return jacobianRows(y, x)
	})
	return byRow(out)
}

// jacobianRows returns ∂y_i/∂x [B, D] for each i. A row of y must depend only on the same row of x.
func jacobianRows(y, x *graph.Node) []*graph.Node {
	dim := y.Shape().Dim(1)
	rows := make([]*graph.Node, dim)
	for i := range rows {
		unit := make([]float64, dim)
		unit[i] = 1
		pick := graph.InsertAxes(graph.ConstAs(y, unit), 0)
		rows[i] = graph.Gradient(graph.ReduceAllSum(graph.Mul(y, pick)), x)[0]
	}
	return rows
}

// byRow turns D tensors of shape [B, D] into an array [B][D][D].
func byRow(rows []*tensors.Tensor) [][][]float64 {
	var out [][][]float64
	for i, r := range rows {
		for n, values := range r.Value().([][]float64) {
			if i == 0 {
				out = append(out, nil)
			}
			out[n] = append(out[n], values)
		}
	}
	return out
}

// jitter returns x with random values where mask is false.
func jitter(x [][]float64, mask [][]bool, rng *rand.Rand) [][]float64 {
	out := make([][]float64, len(x))
	for n := range x {
		out[n] = append([]float64(nil), x[n]...)
		for i := range out[n] {
			if !mask[n][i] {
				out[n][i] = 100 * rng.NormFloat64()
			}
		}
	}
	return out
}

// kinds returns small configurations of dim coordinates, one for each kind of flow and each option.
func kinds(dim, features int) []Config {
	list := []Config{
		{Kind: Affine, Layers: 3, Blocks: 1, Hidden: 8},
		// The network has fewer units than coordinates. The number of layers is even, so that a
		// last reversal restores the order of coordinates.
		{Kind: Affine, Layers: 2, Blocks: 2, Hidden: 4},
		{Kind: Affine, Layers: 2, Blocks: 1, Hidden: 6, Encoder: []int{5, 4}},
		{Kind: Affine, Layers: 2, Blocks: 1, Hidden: 5, Precision: randomPrecision(dim), Linear: randomLinear(dim)},
		{Kind: Spline, Layers: 2, Blocks: 1, Hidden: 8, Bins: 4},
		{Kind: Spline, Layers: 1, Blocks: 1, Hidden: 6, Bins: 2, Encoder: []int{5}},
		{Kind: Diagonal, Layers: 2, Hidden: 6},
		{Kind: Diagonal, Layers: 1, Hidden: 5, Encoder: []int{4}},
		{Kind: Diagonal, Layers: 1, Hidden: 4, Precision: randomPrecision(dim), Linear: randomLinear(dim)},
	}
	for i := range list {
		list[i].Dim, list[i].Features = dim, features
		if features == 0 {
			list[i].Encoder = nil
		}
	}
	return list
}

// randomPlacement returns a placement of dim coordinates among dim+2, in another order.
func randomPlacement(dim int) *Placement {
	places := stream.Rand(1, "placement").Perm(dim + 2)[:dim]
	return &Placement{Dim: dim + 2, At: places, Context: []float64{0.3, -1}}
}

// eachFlow runs body as a subtest for every kind and several dimensions.
func eachFlow(t *testing.T, body func(t *testing.T, cfg Config)) {
	for _, dim := range []int{1, 2, 5, 9} {
		all := kinds(dim, 3)
		if dim > 1 { // one coordinate of a larger flow would leave most of its weights unused
			all = append(all, Config{Dim: dim, Kind: Affine, Layers: 2, Blocks: 1, Hidden: 7, Precision: randomPrecision(dim), Linear: randomLinear(dim), Placement: randomPlacement(dim)})
		}
		for _, cfg := range all {
			name := fmt.Sprintf("%v/hidden=%d/encoder=%v/anchor=%v/D=%d", cfg.Kind, cfg.Hidden, cfg.Encoder, cfg.Precision != nil, dim)
			t.Run(name, func(t *testing.T) { body(t, cfg) })
		}
	}
}
