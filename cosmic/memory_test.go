package cosmic

import (
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/stretchr/testify/require"
)

// TestWeights compares Config.Weights, an estimate, with the number of weights of actual flows. The
// estimate leaves out the features that the last layer of a network reads.
func TestWeights(t *testing.T) {
	for _, cfg := range append(kinds(7, 5), Config{Dim: 30, Features: 12, Layers: 3, Blocks: 1, Hidden: 40, Encoder: []int{20, 10}},
		Config{Dim: 6, Features: 4, Embedding: Embedding{Columns: 2, Rows: 50, Width: 3}}, Config{Dim: 5, Kind: Diagonal}) {
		s := newSubject(t, cfg)
		s.eval(s.flow.ToParams, dtypes.Float64, newBatch(1, 2, cfg.Dim, cfg.Features))
		count := 0.0
		for v := range s.ctx.IterVariables() {
			if v.Trainable {
				count += float64(v.Shape().Size())
			}
		}
		require.InEpsilon(t, count, cfg.Weights(), 0.1, "%+v", cfg)
	}
}

// TestRowNumbers compares the number of values kept for a row with counts by hand.
func TestRowNumbers(t *testing.T) {
	require.InDelta(t, 6+5*(5*32+6*2), Config{Dim: 6, Features: 4}.RowNumbers(), 0)
	require.InDelta(t, 6+2*(3*10+6*(3*4+1)), Config{Dim: 6, Kind: Spline, Layers: 2, Blocks: 1, Hidden: 10, Bins: 4}.RowNumbers(), 30)
	require.Greater(t, Config{Dim: 6, Hidden: 1_000_000_000}.RowNumbers(), 1e9)
	require.InDelta(t, 5, Config{Dim: 5, Kind: Diagonal}.RowNumbers(), 0)
}
