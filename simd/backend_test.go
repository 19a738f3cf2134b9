package simd

import (
	"testing"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/stretchr/testify/require"
)

func TestConfig(t *testing.T) {
	for options, message := range map[string]string{
		"threads=0":   "want a positive integer",
		"threads=two": "want a positive integer",
		"isa=sse":     "want one of",
		"fuse=maybe":  "want on or off",
		"color=red":   "want isa=, threads= or fuse=",
	} {
		_, err := New(options)
		require.ErrorContains(t, err, message, options)
	}
	b, err := backends.NewWithConfig("simd:isa=portable, threads=2")
	require.NoError(t, err)
	require.Equal(t, "simd", b.Name())
	require.Contains(t, b.Description(), "portable, 2 threads")
	b.Finalize()
	require.True(t, b.IsFinalized())
}

func TestUnsupported(t *testing.T) {
	b := newBackend(t, "").Builder("unsupported")
	x, err := b.Parameter("x", shapes.Make(dtypes.Float32, 2, 3), nil)
	require.NoError(t, err)
	_, err = b.FFT(x, backends.FFTForward, []int{3})
	require.ErrorContains(t, err, "FFT")
	_, err = b.Complex(x, x)
	require.ErrorContains(t, err, "Complex")
	_, err = b.AllReduce([]backends.Op{x}, backends.ReduceOpSum, nil)
	require.ErrorContains(t, err, "AllReduce")
	_, err = b.Parameter("y", shapes.Make(dtypes.Complex64, 2), nil)
	require.ErrorContains(t, err, "Complex64 is not supported")
	_, err = b.Add(x, nil)
	require.ErrorContains(t, err, "operand 1")
	_, err = b.Reshape(x, 7)
	require.Error(t, err)
}

func TestInputsAreChecked(t *testing.T) {
	b := newBackend(t, "")
	e := compiled(t, b, [][]int{{2, 3}}, func(b *Builder, in []backends.Op) []backends.Op { return []backends.Op{must(t)(b.Neg(in[0]))} })
	_, err := e.Execute(nil, nil, 0)
	require.ErrorContains(t, err, "want 1 inputs, got 0")
	_, err = e.Execute([]backends.Buffer{buffer32(t, b, make([]float32, 6), 3, 2)}, nil, 0)
	require.ErrorContains(t, err, `input "x0": want shape`)
	_, err = e.Execute([]backends.Buffer{"no buffer"}, nil, 0)
	require.ErrorContains(t, err, "want a buffer of this backend")
	_, err = b.BufferFromFlatData(0, []float32{1}, shapes.Make(dtypes.Float32, 2))
	require.ErrorContains(t, err, "want 2 elements")
}
