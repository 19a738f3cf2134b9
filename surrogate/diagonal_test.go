package surrogate

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/stream"
)

// TestDiagonalIsAKalmanFilter checks that a batch gives the same result as a Kalman filter that is
// updated with one draw after the other.
func TestDiagonalIsAKalmanFilter(t *testing.T) {
	d := NewDiagonal(3)
	d.Observe([]int{0, 1}, []float64{-3, -5}, 0)
	random := stream.Rand(1, "kalman")
	mean, variance := append([]float64(nil), d.mean...), append([]float64(nil), d.variance...)
	for range 20 {
		models, rewards := make([]int, 8), make([]float64, 8)
		for i := range models {
			models[i], rewards[i] = random.IntN(3), random.NormFloat64()
		}
		d.Observe(models, rewards, 0.3)
		for m := range variance {
			variance[m] += 0.09
		}
		for i, m := range models {
			gain := variance[m] / (variance[m] + d.noise.value)
			mean[m] += gain * (rewards[i] - mean[m])
			variance[m] *= 1 - gain
		}
		require.InDeltaSlice(t, mean, d.mean, 1e-9)
		require.InDeltaSlice(t, variance, d.variance, 1e-9)
	}
}

// TestNoiseIsLearned estimates the noise from repeated draws of the same model, and from models
// drawn once in each batch. The true variance is 4. The estimate averages over about fifty batches
// of 64 draws, so that its standard error is 0.1; errors of the belief add to it.
func TestNoiseIsLearned(t *testing.T) {
	for name, models := range map[string]int{"repeated": 4, "once": 256} {
		t.Run(name, func(t *testing.T) {
			d := NewDiagonal(models)
			random := stream.Rand(2, "noise")
			for step := range 400 {
				batch, rewards := make([]int, 64), make([]float64, 64)
				for i := range batch {
					batch[i] = (64*step + i) % models
					rewards[i] = math.Sin(float64(batch[i])) + 2*random.NormFloat64()
				}
				d.Observe(batch, rewards, 0)
			}
			require.InDelta(t, 4, d.noise.value, 0.7)
		})
	}
}

// TestDiagonalFollowsTheFlow lets expected rewards move. A belief with the right argument movement
// must follow them, and a belief with movement 0 must lag behind.
func TestDiagonalFollowsTheFlow(t *testing.T) {
	miss := func(movement float64) float64 {
		d := NewDiagonal(1)
		random := stream.Rand(3, "drift")
		for step := range 500 {
			d.Observe([]int{0, 0}, []float64{0.05*float64(step) + random.NormFloat64(), 0.05*float64(step) + random.NormFloat64()}, movement)
		}
		return math.Abs(d.mean[0] - 0.05*499)
	}
	require.Less(t, miss(0.2), 1.0)
	require.Greater(t, miss(0), 5.0)
}

func TestDiagonalDrawsAndState(t *testing.T) {
	d := NewDiagonal(4)
	d.Observe([]int{0, 0, 2}, []float64{1, 2, 5}, 0)
	mean, sd := make([]float64, 4), make([]float64, 4)
	d.Predict(0, mean, sd)
	checkDraws(t, d, mean, sd, stream.Rand(5, "draw"))
	ucb := Utilities(d, UCB, 2, nil, make([]float64, 4))
	for m := range ucb {
		require.InDelta(t, mean[m]+2*sd[m], ucb[m], 1e-12)
	}
	require.Equal(t, mean, Utilities(d, Mean, 0, nil, make([]float64, 4)))
	again := NewDiagonal(4)
	require.NoError(t, again.SetState(d.State()))
	d.Observe([]int{1}, []float64{3}, 0.1)
	again.Observe([]int{1}, []float64{3}, 0.1)
	require.Equal(t, d.State(), again.State())
	require.ErrorContains(t, NewDiagonal(3).SetState(d.State()), "got 12")
	require.PanicsWithValue(t, "surrogate.Diagonal.Observe: model 9 of 4", func() { d.Observe([]int{9}, []float64{0}, 0) })
}

func TestUtilityNames(t *testing.T) {
	for _, u := range []Utility{UCB, Thompson, Mean} {
		text, err := u.MarshalText()
		require.NoError(t, err)
		var read Utility
		require.NoError(t, read.UnmarshalText(text))
		require.Equal(t, u, read)
	}
	require.ErrorContains(t, new(Utility).UnmarshalText([]byte("greedy")), "want ucb, thompson or mean")
}

// TestMemoryStaysFlat checks that beliefs do not grow over a million batches. The heap may grow by
// at most a tenth of a megabyte, about a hundredth of the memory for a number for each batch, and
// the length of the state must not change.
func TestMemoryStaysFlat(t *testing.T) {
	d, p := NewDiagonal(8), NewProcess([]int{2, 2}, 0)
	random := rand.New(rand.NewPCG(6, 6))
	models, rewards := make([]int, 2), make([]float64, 2)
	run := func(b Belief, batches int) {
		for range batches {
			for i := range models {
				models[i] = random.IntN(4)
				rewards[i] = float64(models[i]) + random.NormFloat64()
			}
			b.Observe(models, rewards, 1e-3)
		}
	}
	heap := func() float64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return float64(stats.HeapAlloc)
	}
	batches := 1_000_000
	if testing.Short() {
		batches = 100_000
	}
	run(d, 1000)
	run(p, 1000)
	before, size := heap(), len(d.State())+len(p.State())
	run(d, batches)
	run(p, batches/50)
	require.Less(t, heap()-before, 1e5)
	require.Equal(t, size, len(d.State())+len(p.State()))
	for _, b := range []Belief{d, p} {
		for m, value := range Utilities(b, Mean, 0, nil, make([]float64, 4)) {
			require.InDelta(t, float64(m), value, 0.8)
		}
	}
}
