package modeldist

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/lab/testkit"
)

func invert(t testing.TB, weights, u []float64) []int32 {
	t.Helper()
	out, err := graph.ExecOnce(testkit.Backend(t), invertCDF, [][]float64{weights}, u)
	require.NoError(t, err)
	return out.Value().([]int32)
}

// TestInvertCDFRows compares a batch with a row of weights for each u with single rows.
func TestInvertCDFRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for _, m := range []int{1, 2, 10, 45, 1030} {
		const batch = 20
		rows, u := make([][]float64, batch), make([]float64, batch)
		var want []int32
		for b := range rows {
			rows[b] = make([]float64, m)
			for i := range rows[b] {
				rows[b][i] = max(0, rng.NormFloat64())
			}
			rows[b][rng.IntN(m)] = 1
			u[b] = rng.Float64()
			want = append(want, invert(t, rows[b], u[b:b+1])...)
		}
		got, err := graph.ExecOnce(testkit.Backend(t), invertCDF, rows, u)
		require.NoError(t, err)
		require.Equal(t, want, got.Value())
	}
}

// TestInvertCDFAgainstScan compares invertCDF with a linear scan. Within 1e-12 of a boundary
// between two outcomes rounding decides, and either outcome is accepted.
func TestInvertCDFAgainstScan(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, m := range []int{1, 2, 3, 31, 32, 33, 64, 1023, 1024, 1025, 40_000} {
		weights := make([]float64, m)
		total := 0.0
		for i := range weights {
			if rng.Float64() < 0.7 { // some outcomes are impossible
				weights[i] = math.Exp(4 * rng.NormFloat64())
			}
			total += weights[i]
		}
		if total == 0 {
			weights[0], total = 1, 1
		}
		u := make([]float64, 300)
		for i := range u {
			u[i] = rng.Float64()
		}
		for i, got := range invert(t, weights, u) {
			require.Positive(t, weights[got], "m=%d u=%v", m, u[i])
			below := 0.0
			for _, w := range weights[:got] {
				below += w
			}
			require.LessOrEqual(t, below/total, u[i]+1e-12, "m=%d", m)
			require.GreaterOrEqual(t, (below+weights[got])/total, u[i]-1e-12, "m=%d", m)
		}
	}
}

// TestInvertCDFEnds checks that the result is a possible outcome for u at and outside the ends of
// [0, 1), and if rounding leaves the running sum below u.
func TestInvertCDFEnds(t *testing.T) {
	below1 := math.Nextafter(1, 0)
	tenth := make([]float64, 12) // the sum is 0.9999999999999999, and the last two outcomes are impossible
	for i := range 10 {
		tenth[i] = 0.1
	}
	sparse := make([]float64, 5000)
	sparse[1234] = 5e-324 // the smallest positive float64 next to a weight of 1
	sparse[3210] = 1
	for name, c := range map[string]struct {
		weights, u []float64
		want       []int32
	}{
		"one":       {[]float64{0.3}, []float64{0, 0.5, below1}, []int32{0, 0, 0}},
		"rounding":  {tenth, []float64{0, below1, 1, 1.5, -1, math.NaN()}, []int32{0, 9, 9, 9, 0, 9}},
		"sparse":    {sparse, []float64{1e-300, below1, 1}, []int32{3210, 3210, 3210}},
		"zero head": {[]float64{0, 0, 1, 1, 0}, []float64{0, 0.49, 0.5, below1}, []int32{2, 2, 3, 3}},
		"boundary":  {[]float64{1, 1, 1, 1}, []float64{0.25, 0.5, 0.75}, []int32{1, 2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, invert(t, c.weights, c.u))
		})
	}
	// With NaN weights no result is right, but it must be a valid index.
	for _, got := range invert(t, []float64{math.NaN(), 1, math.NaN()}, []float64{0, 0.5, below1}) {
		require.GreaterOrEqual(t, got, int32(0))
		require.Less(t, got, int32(3))
	}
}

func TestTreeSize(t *testing.T) {
	for m := 1; m < 1<<21; m += 1 + m/7 {
		fan, levels := treeSize(m)
		require.LessOrEqual(t, fan, maxFan)
		require.GreaterOrEqual(t, math.Pow(float64(fan), float64(levels)), float64(m))
		require.LessOrEqual(t, float64(levels), 1+math.Log(float64(m))/math.Log(maxFan)+1e-9)
	}
	fan, levels := treeSize(1 << 20)
	require.Equal(t, []int{32, 4}, []int{fan, levels})
}

func BenchmarkInvertCDF(b *testing.B) {
	const m, batch = 1 << 20, 1024
	rng := rand.New(rand.NewPCG(1, 1))
	weights, u := make([]float64, m), make([]float64, batch)
	for i := range weights {
		weights[i] = rng.Float64()
	}
	for i := range u {
		u[i] = rng.Float64()
	}
	exec := graph.MustNewExec(testkit.Backend(b), invertCDF)
	for b.Loop() {
		exec.MustExec([][]float64{weights}, u)
	}
}
