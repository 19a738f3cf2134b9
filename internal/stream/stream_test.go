package stream

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/lab/testkit"
)

func TestStreamsDependOnSeedAndNameOnly(t *testing.T) {
	require.Equal(t, Rand(1, "a").Uint64(), Rand(1, "a").Uint64())
	seen := map[uint64]bool{}
	for root := range uint64(50) {
		for _, name := range []string{"", "a", "b", "ab", "codes", "noise"} {
			seed := Seed(root, name)
			require.False(t, seen[seed], "seed %d of stream %q is taken", root, name)
			seen[seed] = true
		}
	}
}

// Two streams with neighbouring seeds are uncorrelated. The sample correlation of 100,000 pairs has
// a standard error of 0.0032. It exceeds five of these errors by chance in one of 1.7 million runs.
func TestNeighbouringStreamsAreUncorrelated(t *testing.T) {
	a, b := Rand(1, "noise"), Rand(2, "noise")
	const n = 100_000
	var product float64
	for range n {
		product += a.NormFloat64() * b.NormFloat64()
	}
	require.Less(t, math.Abs(product/n), 5/math.Sqrt(n))
}

func TestGraphStreamContinuesFromItsState(t *testing.T) {
	backend := testkit.Backend(t)
	draw := func(ctx *context.Context, times int) (last []float64) {
		exec, err := context.NewExec(backend, ctx, func(ctx *context.Context, g *graph.Graph) *graph.Node {
			return Uniform(ctx, g, 9, "u", shapes.Make(dtypes.Float64, 4))
		})
		require.NoError(t, err)
		for range times {
			outputs, err := exec.Exec()
			require.NoError(t, err)
			last = tensors.MustCopyFlatData[float64](outputs[0])
		}
		return last
	}
	whole := draw(context.New().Checked(false), 3)
	ctx := context.New().Checked(false)
	second := draw(ctx, 2)
	require.NotEqual(t, whole, second)
	require.Equal(t, whole, draw(ctx, 1), "a context carries the stream on")
	for _, u := range whole {
		require.GreaterOrEqual(t, u, 0.0)
		require.Less(t, u, 1.0)
	}
}
