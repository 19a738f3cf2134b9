package devices

import (
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/gpu"
)

func open(t testing.TB, kind gpu.Kind) *gpu.Device {
	t.Helper()
	device, err := gpu.Open(kind)
	require.NoError(t, err)
	t.Cleanup(device.Close)
	return device
}

// splitMix is the generator SplitMix64 in the form in which its authors published it.
func splitMix(state *uint64) uint64 {
	*state += 0x9e3779b97f4a7c15
	z := *state
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

func TestEveryDeviceDrawsTheSame(t *testing.T) {
	const key = 0xfedcba9876543210
	state, want := uint64(key), make([]float64, 12)
	for i := range want {
		want[i] = float64(splitMix(&state)) / (1 << 32) / (1 << 32)
	}
	for _, kind := range []gpu.Kind{gpu.CPU, gpu.Reference} {
		for _, dtype := range []dtypes.DType{dtypes.Float64, dtypes.Float32} {
			got := graph.MustExecOnceN(portably(open(t, kind)).Backend(), func(state *graph.Node) []*graph.Node {
				state, first := graph.RandomUniform(state, shapes.Make(dtype, 2, 3))
				state, second := graph.RandomUniform(state, shapes.Make(dtype, 6))
				return []*graph.Node{graph.ConvertDType(graph.Reshape(first, 6), dtypes.Float64), graph.ConvertDType(second, dtypes.Float64), state}
			}, []uint64{key, 0, 7})
			drawn := append(got[0].Value().([]float64), got[1].Value().([]float64)...)
			require.InDeltaSlice(t, want, drawn, map[dtypes.DType]float64{dtypes.Float64: 1e-16, dtypes.Float32: 1e-7}[dtype])
			require.Equal(t, []uint64{key, 12, 7}, got[2].Value())
		}
	}
}

func TestPortablePadding(t *testing.T) {
	for _, kind := range []gpu.Kind{gpu.CPU, gpu.Reference} {
		got, err := graph.ExecOnce(portably(open(t, kind)).Backend(), func(x *graph.Node) *graph.Node {
			return graph.Pad(x, graph.Const(x.Graph(), 9.0), graph.PadAxis{Start: 1}, graph.PadAxis{End: 2})
		}, [][]float64{{1, 2}, {3, 4}})
		require.NoError(t, err)
		require.Equal(t, [][]float64{{9, 9, 9, 9}, {1, 2, 9, 9}, {3, 4, 9, 9}}, got.Value())
	}
}
