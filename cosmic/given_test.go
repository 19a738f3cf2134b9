package cosmic

import (
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"
)

// TestGivenQuadratics gives alternate rows of a batch two different quadratics, and compares each
// row, and its mode, with the anchor that the quadratic of this row gives in a configuration.
func TestGivenQuadratics(t *testing.T) {
	const dim = 5
	configs := []Config{
		{Dim: dim, Kind: Diagonal, Precision: randomPrecision(dim), Linear: randomLinear(dim)},
		{Dim: dim, Kind: Diagonal, Precision: identity(dim), Linear: randomLinear(dim + 1)[:dim]},
	}
	configs[1].Precision[0], configs[1].Precision[1], configs[1].Precision[dim] = 4, 0.5, 0.5
	b := allMasks(dim, []float64{1, -1, 0.5, 2, 0})
	var precision [][][]float64
	var linear [][]float64
	for n := range b.mask {
		cfg := configs[n%2]
		rows := make([][]float64, dim)
		for i := range rows {
			rows[i] = cfg.Precision[i*dim : (i+1)*dim]
		}
		precision, linear = append(precision, rows), append(linear, cfg.Linear)
	}
	s := newSubject(t, Config{Dim: dim, Kind: Diagonal})
	withQuadratic := func(apply func(*Flow) graphFn) graphFn {
		return func(ctx *context.Context, mask, feats, x *graph.Node) (y, logDet *graph.Node) {
			return apply(s.flow.Given(graph.Const(x.Graph(), precision), graph.Const(x.Graph(), linear)))(ctx, mask, feats, x)
		}
	}
	theta, logDet := s.eval(withQuadratic(func(f *Flow) graphFn { return f.ToParams }), dtypes.Float64, b)
	z, logDet2 := s.eval(withQuadratic(func(f *Flow) graphFn { return f.ToBase }), dtypes.Float64, b.with(theta))
	modes := graph.MustExecOnce(s.backend, Mode, b.mask, precision, linear).Value().([][]float64)
	for n := range theta {
		mode, _ := anchorOracle(configs[n%2], b.mask[n], make([]float64, dim))
		require.InDeltaSlice(t, mode, modes[n], 1e-10)
		want, wantDet := anchorOracle(configs[n%2], b.mask[n], b.x[n])
		require.InDeltaSlice(t, want, theta[n], 1e-10)
		require.InDelta(t, wantDet, logDet[n], 1e-10)
		require.InDelta(t, logDet[n], logDet2[n], 1e-10)
		require.InDeltaSlice(t, b.x[n], z[n], 1e-9)
	}
	require.Panics(t, func() {
		graph.MustExecOnce(s.backend, func(x *graph.Node) *graph.Node { return s.flow.Given(x, x).quadratic.linear }, linear)
	})
}
