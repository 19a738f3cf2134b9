package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSumOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	a := make([]float32, 1000)
	for i := range a {
		a[i] = float32(rng.NormFloat64())
	}
	for n := range a {
		want := VectorsOf[float32](Portable).Sum(a[:n])
		for _, isa := range Available() {
			if found := VectorsOf[float32](isa).Sum(a[:n]); found != want {
				t.Fatalf("%v, length %d: want %v, found %v", isa, n, want, found)
			}
		}
	}
}

func TestDetect(t *testing.T) {
	for _, isa := range Available() {
		t.Setenv(EnvISA, isa.String())
		found, err := DetectErr()
		require.NoError(t, err)
		require.Equal(t, isa, found)
	}
	t.Setenv(EnvISA, "sse9")
	_, err := DetectErr()
	require.ErrorContains(t, err, `got "sse9"`)
	require.Equal(t, Available()[len(Available())-1], Detect())
	t.Setenv(EnvISA, "")
	_, err = DetectErr()
	require.NoError(t, err)
}

func TestEmptyReductions(t *testing.T) {
	for _, isa := range Available() {
		v := VectorsOf[float64](isa)
		require.Equal(t, 0.0, v.Sum(nil))
		require.Equal(t, math.Inf(-1), v.MaxOf(nil))
		require.Equal(t, math.Inf(1), v.MinOf(nil))
	}
}
