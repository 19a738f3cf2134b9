package devices

import (
	"testing"
	"time"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/lab/testkit"
)

func TestWorkIsCounted(t *testing.T) {
	var work Work
	backend := &counted{Backend: open(t, gpu.CPU).Backend(), compiled: func(_ string, w Work) { work = w }}
	x, y := make([]float32, 6), make([]float32, 12)
	_, err := graph.ExecOnce(backend, func(x, y *graph.Node) *graph.Node {
		return graph.Tanh(graph.MatMul(graph.Reshape(x, 2, 3), graph.Reshape(y, 3, 4)))
	}, x, y)
	require.NoError(t, err)
	// The product of a 2×3 and a 3×4 matrix; the same three arrays are the inputs and the output of
	// the computation.
	require.Equal(t, Work{Flops: 2 * 2 * 3 * 4, Bytes: 2 * 4 * (6 + 12 + 8)}, work)
	_, err = graph.ExecOnce(backend, func(x, y *graph.Node) *graph.Node {
		return graph.Einsum("bij,bjk->bik", graph.Reshape(x, 2, 1, 3), graph.Reshape(y, 2, 3, 2))
	}, x, y)
	require.NoError(t, err)
	require.Equal(t, Work{Flops: 2 * 2 * 1 * 3 * 2, Bytes: 2 * 4 * (6 + 12 + 4)}, work)
}

func TestBenchmark(t *testing.T) {
	testkit.Slow(t)
	device := open(t, gpu.CPU)
	var timings []Timing
	sizes := Sizes{Flows: []string{"affine"}, Problems: []Problem{{Predictors: 3}, {Predictors: 21}, {Nodes: 4}}, Batches: []int{8, 32}, DType: dtypes.Float32, Interval: 20 * time.Millisecond, StepsPerLaunch: 2}
	require.NoError(t, Benchmark(t.Context(), device, sizes, func(timing Timing) { timings = append(timings, timing) }))
	require.Len(t, timings, 6)
	for i, timing := range timings {
		require.Equal(t, "affine", timing.Flow)
		require.Equal(t, sizes.Problems[i/2], timing.Problem)
		require.Equal(t, sizes.Batches[i%2], timing.Batch)
		require.Positive(t, timing.Step)
		require.Less(t, timing.Step, timing.Start)
		require.Positive(t, timing.Work.Bytes)
		arithmetic, memory := timing.Shares(Limits{FlopsPerSecond: 1e12, BytesPerSecond: 1e11})
		require.Positive(t, arithmetic)
		require.Positive(t, memory)
		if i%2 == 1 { // only products that involve the batch grow with it
			require.Greater(t, timing.Work.Flops, 2*timings[i-1].Work.Flops)
			require.LessOrEqual(t, timing.Work.Flops, 4*timings[i-1].Work.Flops)
		}
	}
	require.ErrorContains(t, Benchmark(t.Context(), device, Sizes{Flows: []string{"cubic"}, Problems: []Problem{{Predictors: 3}}, Batches: []int{8}}, nil), "cubic, 3 predictors, batch 8: unknown flow")
}

func TestMeasure(t *testing.T) {
	testkit.Slow(t)
	limits, err := Measure(open(t, gpu.CPU), dtypes.Float32)
	require.NoError(t, err)
	t.Logf("%.3g flop/s, %.3g byte/s", limits.FlopsPerSecond, limits.BytesPerSecond)
	require.Greater(t, limits.FlopsPerSecond, 1e9)
	require.Greater(t, limits.BytesPerSecond, 1e8)
}
