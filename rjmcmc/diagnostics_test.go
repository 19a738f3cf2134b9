package rjmcmc

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/lab/testkit"
)

// autoregressive draws chains of x_t = φ x_{t−1} + √(1−φ²) ε_t, stationary standard normal.
func autoregressive(chains, n int, phi float64, seed uint64) [][]float64 {
	rng := rand.New(rand.NewPCG(seed, 0))
	out := make([][]float64, chains)
	for c := range out {
		out[c] = make([]float64, n)
		x := rng.NormFloat64()
		for i := range out[c] {
			out[c][i] = x
			x = phi*x + math.Sqrt(1-phi*phi)*rng.NormFloat64()
		}
	}
	return out
}

func TestEffectiveSizeOfAutoregression(t *testing.T) {
	testkit.Slow(t)
	const chains, n, repeats = 4, 5000, 20
	for _, phi := range []float64{-0.4, 0, 0.5, 0.9} {
		want := chains * n * (1 - phi) / (1 + phi)
		var bulk, mcse []float64
		for seed := range uint64(repeats) {
			s := Summarise(autoregressive(chains, n, phi, seed))
			bulk = append(bulk, s.ESS)
			mcse = append(mcse, s.MCSE)
			assert.InDelta(t, 1, s.RHat, 0.02)
		}
		m, sd := stat.MeanStdDev(bulk, nil)
		se := stat.StdErr(sd, repeats)
		// The estimate of the sum of autocorrelations has a bias of a few per cent.
		assert.InDelta(t, want, m, sigmas*se+0.05*want, "φ = %g", phi)
		assert.InDelta(t, 1/math.Sqrt(want), stat.Mean(mcse, nil), 0.05/math.Sqrt(want), "φ = %g", phi)
	}
}

func TestPlainRHatByHand(t *testing.T) {
	// Chains (1, 3) and (5, 7): W = 2, B/n = var(2, 6) = 8, var⁺ = 1 + 8 = 9.
	assert.InDelta(t, math.Sqrt(4.5), plainRHat([][]float64{{1, 3}, {5, 7}}), 1e-14)
	// Equal chains (0, 2, 4): W = 4, B = 0, so √(2/3).
	assert.InDelta(t, math.Sqrt(2.0/3), plainRHat([][]float64{{0, 2, 4}, {4, 0, 2}}), 1e-14)
}

func TestSplit(t *testing.T) {
	assert.Equal(t, [][]float64{{1, 2}, {4, 5}, {6, 7}, {9, 10}}, split([][]float64{{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}}))
}

func TestRankNormalise(t *testing.T) {
	got := rankNormalise([][]float64{{10, 30}, {20, 20}})
	z := func(rank float64) float64 { return math.Sqrt2 * math.Erfinv(2*(rank-0.375)/4.25-1) }
	for c, want := range [][]float64{{z(1), z(4)}, {z(2.5), z(2.5)}} {
		assert.InDeltaSlice(t, want, got[c], 1e-14)
	}
	// Monotone maps of the values, even to infinite variance, change no diagnostic.
	chains := autoregressive(2, 100, 0.5, 1)
	heavy := make([][]float64, 2)
	for c := range heavy {
		for _, v := range chains[c] {
			heavy[c] = append(heavy[c], math.Exp(9*v))
		}
	}
	assert.Equal(t, rankNormalise(chains), rankNormalise(heavy))
}

func TestRHatSeesDisagreement(t *testing.T) {
	shifted := autoregressive(4, 500, 0, 1)
	for i := range shifted[0] {
		shifted[0][i] += 1
	}
	assert.Greater(t, Summarise(shifted).RHat, 1.05)

	wide := autoregressive(4, 500, 0, 2) // same location, another spread: only folding detects it
	for i := range wide[0] {
		wide[0][i] *= 4
	}
	assert.Less(t, plainRHat(rankNormalise(split(wide))), 1.02)
	assert.Greater(t, Summarise(wide).RHat, 1.05)

	drift := autoregressive(4, 500, 0, 3) // all chains drift together: only splitting detects it
	for c := range drift {
		for i := range drift[c] {
			drift[c][i] += float64(i) / 200
		}
	}
	assert.Greater(t, Summarise(drift).RHat, 1.05)
}

func TestDegenerateSeries(t *testing.T) {
	s := Summarise([][]float64{{2, 2, 2, 2}, {2, 2, 2, 2}})
	assert.Equal(t, 2.0, s.Mean)
	assert.Zero(t, s.SD)
	assert.Zero(t, s.MCSE)
	assert.True(t, math.IsNaN(s.RHat) && math.IsNaN(s.ESS))

	stuck := Summarise([][]float64{{0, 0, 0, 0}, {1, 1, 1, 1}})
	assert.True(t, math.IsInf(stuck.RHat, 1))
	assert.LessOrEqual(t, stuck.ESS, 4.0) // 4 half-chains count as one draw each

	short := Summarise([][]float64{{0, 1}, {1, 0}})
	assert.True(t, math.IsNaN(short.RHat) && math.IsNaN(short.ESS))
}

func TestIndicatorThatNeverChanged(t *testing.T) {
	r := &Result{Chains: 3, Sites: 1, Dim: 1, LogDensity: make([]float64, 12), codes: make([]int32, 12), mask: make([]bool, 12), theta: make([]float64, 12)}
	s := r.Inclusion(0)
	assert.Zero(t, s.Mean)
	assert.InDelta(t, math.Sqrt(0.125*0.875/3), s.MCSE, 1e-15)
	models := r.Models(5)
	require.Len(t, models, 1)
	assert.Equal(t, 12, models[0].Draws)
}

func TestTooFewDrawsToCompare(t *testing.T) {
	for n := 1; n < fewestDraws; n++ {
		s := Summarise([][]float64{make([]float64, n), []float64{2, 1, 5}[:n]})
		assert.True(t, math.IsNaN(s.RHat) && math.IsNaN(s.ESS) && math.IsNaN(s.MCSE), n)
		assert.False(t, math.IsNaN(s.Mean))
	}
}

// Chains of a few iterations may have kept no draw yet: nothing is known, and nothing panics.
func TestSummaryWithoutDraws(t *testing.T) {
	s := Summarise([][]float64{{}, {}})
	for _, value := range []float64{s.Mean, s.SD, s.MCSE, s.RHat, s.ESS} {
		require.True(t, math.IsNaN(value))
	}
}
