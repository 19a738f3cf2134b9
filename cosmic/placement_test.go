package cosmic

import (
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"
)

// TestPlacedFlowsAreTheLarger compares a flow that is a part of a larger flow with the larger flow
// whose variables it uses, at models that use only the placed coordinates. The two must agree to
// the bit in both directions.
func TestPlacedFlowsAreTheLarger(t *testing.T) {
	for _, kind := range []Kind{Affine, Spline, Diagonal} {
		p := &Placement{Dim: 6, At: []int{4, 0, 5, 1}, Context: []float64{0.3, -1}}
		larger := newSubject(t, Config{Kind: kind, Dim: 6, Features: 8, Layers: 2, Hidden: 8, Blocks: 1, Seed: 3}).randomise(0.5)
		flow, err := New(Config{Kind: kind, Dim: 4, Layers: 2, Hidden: 8, Blocks: 1, Seed: 3, Placement: p})
		require.NoError(t, err)
		small := subject{t, flow, larger.ctx, larger.backend}
		b := newBatch(2, 8, 4, 0)
		wide := batch{}
		for n, x := range b.x {
			values, mask := make([]float64, 6), make([]bool, 6)
			for i, at := range p.At {
				values[at], mask[at] = x[i], b.mask[n][i]
			}
			wide.x, wide.mask = append(wide.x, values), append(wide.mask, mask)
			feats := append([]float64(nil), make([]float64, 6)...)
			for at, on := range mask {
				if on {
					feats[at] = 1
				}
			}
			wide.feats = append(wide.feats, append(feats, p.Context...))
		}
		variables := larger.ctx.NumVariables()
		for _, direction := range []func(f *Flow) graphFn{
			func(f *Flow) graphFn { return f.ToParams },
			func(f *Flow) graphFn { return f.ToBase },
		} {
			y, logDet := small.eval(direction(small.flow), dtypes.Float64, b)
			want, wantDet := larger.eval(direction(larger.flow), dtypes.Float64, wide)
			require.Equal(t, wantDet, logDet)
			for n := range y {
				for i, at := range p.At {
					require.Equal(t, want[n][at], y[n][i])
				}
			}
		}
		require.Equal(t, variables, larger.ctx.NumVariables())
	}
}

func TestPlacementsAreChecked(t *testing.T) {
	for _, c := range []struct {
		placement Placement
		want      string
	}{
		{Placement{Dim: 3, At: []int{0}}, "has 1 places, want Dim = 2"},
		{Placement{Dim: 3, At: []int{0, 3}}, "At[1] = 3, want a place of its own below 3"},
		{Placement{Dim: 3, At: []int{1, 1}}, "At[1] = 1, want a place of its own"},
	} {
		_, err := New(Config{Dim: 2, Placement: &c.placement})
		require.ErrorContains(t, err, c.want)
	}
	mask := func(_ *context.Context, mask, feats, x *graph.Node) (y, logDet *graph.Node) {
		return MaskFeatures(mask, nil, x.DType()), graph.ReduceSum(MaskFeatures(mask, feats, x.DType()), 1)
	}
	b := newBatch(2, 3, 2, 1)
	numbers, sums := newSubject(t, Config{Dim: 2, Features: 1}).eval(mask, dtypes.Float64, b)
	for n := range numbers {
		total := b.feats[n][0]
		for i, on := range b.mask[n] {
			require.Equal(t, on, numbers[n][i] == 1)
			total += numbers[n][i]
		}
		require.Equal(t, total, sums[n])
	}
}
