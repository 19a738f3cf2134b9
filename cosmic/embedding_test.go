package cosmic

import (
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"
)

// TestEmbedding checks that each index selects its row of the table, that indices beyond the table
// select the last row, and that the other features are unchanged.
func TestEmbedding(t *testing.T) {
	s := newSubject(t, Config{Dim: 2, Features: 3, Embedding: Embedding{Columns: 2, Rows: 4, Width: 3}})
	require.Equal(t, 7, s.flow.cfg.context())
	b := newBatch(1, 3, 2, 3)
	b.feats = [][]float64{{0, 2, -1.5}, {3, 3, 0.5}, {1, 1 << 23, 7}}
	embedded := s.run(dtypes.Float32, b, func(ctx *context.Context, _, feats, _ *graph.Node) []*graph.Node {
		return []*graph.Node{s.flow.embed(ctx.In("embedding").Checked(false), feats)}
	})[0].Value().([][]float64)
	value, err := s.ctx.In("embedding").GetVariable("table").Value()
	require.NoError(t, err)
	table := value.Value().([][]float32)
	for row, rows := range [][2]int{{0, 2}, {3, 3}, {1, 3}} {
		for c := range 3 {
			require.EqualValues(t, table[rows[0]][c], embedded[row][c])
			require.EqualValues(t, table[rows[1]][c], embedded[row][3+c])
		}
		require.EqualValues(t, b.feats[row][2], embedded[row][6])
	}
	require.NotEqual(t, table[1], table[2])
	s.randomise(0.5) // an invertible map whose gradient reaches the table
	theta, logDet := s.eval(s.flow.ToParams, dtypes.Float64, b)
	z, logDet2 := s.eval(s.flow.ToBase, dtypes.Float64, b.with(theta))
	for n := range z {
		require.InDeltaSlice(t, b.x[n], z[n], 1e-9)
		require.InDelta(t, logDet[n], logDet2[n], 1e-9)
	}
	for message, e := range map[string]Embedding{
		"Columns must be from 1 to Features = 3": {Columns: 4, Rows: 2, Width: 1},
		"Rows must be in":                        {Columns: 1, Width: 1},
		"Width must be positive":                 {Columns: 1, Rows: 1},
	} {
		_, err := New(Config{Dim: 2, Features: 3, Embedding: e})
		require.ErrorContains(t, err, message)
	}
}
