package cosmic

import (
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"
)

// packedBatch returns a batch in slots: coordinates with the active ones first. There are five
// slots, and the rows use the first 5, 0, 3 and 1 slots.
func packedBatch() batch {
	b := newBatch(11, 4, 5, 3)
	for n, used := range []int{5, 0, 3, 1} {
		for s := range b.mask[n] {
			b.mask[n][s] = s < used
		}
	}
	return b
}

// alone returns a graphFn that applies a single layer. Its logDet is the sum of the log slopes, and
// its mask marks the slots in use.
func alone(f *Flow, invert bool) graphFn {
	return func(ctx *context.Context, mask, feats, x *graph.Node) (y, logDet *graph.Node) {
		ctx = ctx.Checked(false)
		l := stages{f.layer(ctx, 0, mask, x, f.condition(ctx, feats, x.DType()))}
		if invert {
			return l.toBase(x)
		}
		return l.toParams(x)
	}
}

// TestLayer checks one layer in packed coordinates. Among the active slots it is autoregressive:
// its Jacobian is lower triangular and no entry below the diagonal is zero. On the other slots it
// is the identity. logDet and inverse agree with the Jacobian and the map.
func TestLayer(t *testing.T) {
	for _, cfg := range kinds(5, 3) {
		if cfg.Kind == Diagonal {
			continue
		}
		cfg.Hidden = 20
		s := newSubject(t, cfg).randomise(0.5)
		b := packedBatch()
		y, logDet := s.eval(alone(s.flow, false), dtypes.Float64, b)
		for n, jacobian := range s.jacobian(alone(s.flow, false), b) {
			requireNoLeak(t, b.mask[n], jacobian)
			var active []int
			for i := range jacobian {
				if b.mask[n][i] {
					active = append(active, i)
				}
				for j := range jacobian {
					switch {
					case j > i:
						require.Zero(t, jacobian[i][j], "slot %d sees slot %d", i, j)
					case b.mask[n][i]:
						require.NotZero(t, jacobian[i][j], "slot %d does not see slot %d", i, j)
					}
				}
			}
			require.InDelta(t, logAbsDet(jacobian, active), logDet[n], 1e-10)
		}
		x, inverseDet := s.eval(alone(s.flow, true), dtypes.Float64, b.with(y))
		for n := range x {
			require.InDeltaSlice(t, b.x[n], x[n], 1e-11)
		}
		require.InDeltaSlice(t, logDet, inverseDet, 1e-10)
	}
}

// TestFirstSlotSeesFeatures checks that a model with one coordinate depends on its features. No
// slot comes before the first one, so that its parameters must come from the features.
func TestFirstSlotSeesFeatures(t *testing.T) {
	for _, cfg := range kinds(5, 3) {
		cfg.Hidden = 20
		s := newSubject(t, cfg).randomise(0.5)
		b := packedBatch()
		y, _ := s.eval(s.flow.ToParams, dtypes.Float64, b)
		for n := range b.feats {
			for c := range b.feats[n] {
				b.feats[n][c] = 1 - b.feats[n][c]
			}
		}
		other, _ := s.eval(s.flow.ToParams, dtypes.Float64, b)
		require.NotEqual(t, y[3][0], other[3][0], "%v", cfg.Kind)
	}
}
