package vti

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/lab/testkit"
)

// TestTableStep checks that the step on a table has the sign of the negative gradient, approaches
// the natural gradient for models that are sampled often, and stays bounded for rare models.
func TestTableStep(t *testing.T) {
	logProbs := []float64{math.Log(0.9), math.Log(0.1), math.Inf(-1)}
	got, err := ExecOnce(testkit.Backend(t), func(logProbs, gradient *Node) *Node {
		return tableStep(logProbs, gradient, Const(gradient.Graph(), 0.5), 100)
	}, logProbs, []float64{0.91, -0.22, 0})
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{-0.5, 1, 0}, got.Value(), 1e-12)
	require.Equal(t, dtypes.Float64, got.DType())
}
