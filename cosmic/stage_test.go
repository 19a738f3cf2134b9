package cosmic

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/testkit"
)

// TestStages walks a list of stages both ways and compares with the same maps by hand. No two of
// them commute, so that a walk in the wrong order is found.
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
		s := stages{p.pack(), p.reverse(), p.unpack(), move, bend}
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
	// coordinates 0, 2 and 3 are in use, and reversed: -3, 2, 0.5
	require.InDeltaSlice(t, []float64{by(1, 0.5, -3), -1, by(100, 1.5, 2), by(1000, 2, 0.5)}, y[0], 1e-9)
	require.InDelta(t, 0.5+1.5+2+3*slope, logDet[0], 1e-12)
	require.Equal(t, x[1], y[1], "no coordinate is in use")
	require.Zero(t, logDet[1])
	require.InDeltaSlice(t, x[0], back[0], 1e-12)
	require.Equal(t, x[1], back[1])
	require.InDeltaSlice(t, logDet, sameDet, 1e-12)
}
