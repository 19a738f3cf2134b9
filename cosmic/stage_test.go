package cosmic

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/lab/testkit"
)

// TestStages applies a list of stages in both directions and compares the results with the same
// maps worked out by hand. No two maps commute, so that a wrong order of stages fails the test.
func TestStages(t *testing.T) {
	mask := [][]bool{{true, false, true, true}, {false, false, false, false}}
	x := [][]float64{{0.5, -1, 2, -3}, {1, math.Inf(1), 3, 4}}
	walk := func(mask, x *graph.Node) []*graph.Node {
		g := x.Graph()
		p := newPacking(mask)
		shift := graph.Const(g, [][]float64{{1, 10, 100, 1000}, {1, 10, 100, 1000}})
		logScale := graph.Const(g, [][]float64{{0.5, 1, 1.5, 2}, {0.5, 1, 1.5, 2}})
		move := selected{mask, shiftAndScale{shift, logScale}}
		bend := selected{mask, elementwise{affine{}, []*graph.Node{graph.OnesLike(x), graph.MulScalar(graph.OnesLike(x), -0.25)}}}
		s := stages{p.pack, p.reverse, p.unpack, move, bend}
		y, logDet := s.toParams(x)
		back, sameDet := s.toBase(y)
		return []*graph.Node{y, logDet, back, sameDet}
	}
	exec, err := graph.NewExec(testkit.Backend(t), walk)
	require.NoError(t, err)
	out := exec.MustExec(mask, x)
	y, logDet := out[0].Value().([][]float64), out[1].Value().([]float64)
	back, sameDet := out[2].Value().([][]float64), out[3].Value().([]float64)

	slope := -4 * math.Tanh(0.25/4) // softClamp of -0.25
	by := func(shift, logScale, x float64) float64 { return 1 + math.Exp(slope)*(shift+math.Exp(logScale)*x) }
	// Coordinates 0, 2 and 3 are in use; in reverse order they hold -3, 2 and 0.5.
	require.InDeltaSlice(t, []float64{by(1, 0.5, -3), -1, by(100, 1.5, 2), by(1000, 2, 0.5)}, y[0], 1e-9)
	require.InDelta(t, 0.5+1.5+2+3*slope, logDet[0], 1e-12)
	require.Equal(t, x[1], y[1], "no coordinate is in use")
	require.Zero(t, logDet[1])
	require.InDeltaSlice(t, x[0], back[0], 1e-12)
	require.Equal(t, x[1], back[1])
	require.InDeltaSlice(t, logDet, sameDet, 1e-12)
}

// TestEndingInFloat64 checks that a flow with EndingIn(Float64), whose last stages run in Float64,
// is the same map as the flow without EndingIn, and that its anchor is exact to the precision of
// Float64.
func TestEndingInFloat64(t *testing.T) {
	f, err := New(Config{Dim: 2, Layers: 1, Hidden: 8, Precision: []float64{1e10, 0, 0, 1}, Linear: []float64{1e10 * 20.7, 0}, Seed: 1})
	require.NoError(t, err)
	ctx := context.New()
	exec, err := context.NewExec(testkit.Backend(t), ctx, func(ctx *context.Context, z *graph.Node) []*graph.Node {
		mask := graph.BroadcastToShape(graph.Const(z.Graph(), true), shapes.Make(dtypes.Bool, 1, 2))
		narrow, narrowDet := f.ToParams(ctx, mask, nil, z)
		wide, wideDet := f.EndingIn(dtypes.Float64).ToParams(ctx, mask, nil, z)
		back, sameDet := f.EndingIn(dtypes.Float64).ToBase(ctx, mask, nil, wide)
		return []*graph.Node{narrow, narrowDet, wide, wideDet, back, sameDet}
	})
	require.NoError(t, err)
	z := []float32{0.5, -1}
	out := exec.MustExec([][]float32{z})
	require.Equal(t, dtypes.Float32, out[0].DType())
	require.Equal(t, dtypes.Float32, out[4].DType())
	wide := out[2].Value().([][]float64)[0]
	require.InDelta(t, 20.7+0.5e-5, wide[0], 1e-9, "a new flow is its anchor")
	require.NotEqual(t, wide[0], float64(out[0].Value().([][]float32)[0][0]))
	require.InDelta(t, float64(out[1].Value().([]float32)[0]), out[3].Value().([]float64)[0], 1e-5)
	require.InDelta(t, out[3].Value().([]float64)[0], out[5].Value().([]float64)[0], 1e-12)
	back := out[4].Value().([][]float32)[0]
	require.InDelta(t, z[0], back[0], 1e-3)
	require.InDelta(t, z[1], back[1], 1e-5)
}
