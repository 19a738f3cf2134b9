package psis

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// sigmas is the half-width of statistical checks in standard errors. If seeds were not fixed, one
// check in 15,000 would fail by chance.
const sigmas = 4

func TestFitGPD(t *testing.T) {
	const n = 20000
	for _, k := range []float64{-0.3, 0, 0.3, 0.7, 1.2} {
		rng := rand.New(rand.NewPCG(1, uint64(100+10*k)))
		x := make([]float64, n)
		for i := range x {
			x[i] = quantileGPD(rng.Float64(), k, 2.5)
		}
		slices.Sort(x)
		gotK, gotSigma := fitGPD(x)
		// se is the standard error of the maximum likelihood estimate, which the estimate of fitGPD
		// matches to first order.
		se := math.Sqrt((1+k)*(1+k)) / math.Sqrt(n)
		assert.InDelta(t, k, gotK, sigmas*se, "shape for k = %g", k)
		assert.InDelta(t, 2.5, gotSigma, sigmas*2.5*math.Sqrt(2*(1+k)/n), "scale for k = %g", k)
	}
}

// TestMeanLog1p checks that one logarithm of a product of many factors is as accurate as a
// logarithm of each factor, also if a product would overflow or the mean is tiny.
func TestMeanLog1p(t *testing.T) {
	x := make([]float64, 1000)
	for i := range x {
		x[i] = math.Exp(float64(i)/20 - 49.95) // the largest is 1
	}
	for _, argument := range []float64{1 - 1e-12, 0.5, 1.1e-3, 0.9e-3, 1e-9, -1e-9, -1.1e-3, -1, -1e10, -1e150, -1e300} {
		want := 0.0
		for _, v := range x {
			want += math.Log1p(-argument*v) / float64(len(x))
		}
		require.InEpsilon(t, want, meanLog1p(argument, x), 1e-11, argument)
	}
}

func TestQuantileGPDInvertsDistribution(t *testing.T) {
	for _, k := range []float64{-0.4, 1e-9, 0.5, 2} {
		for _, p := range []float64{0, 1e-6, 0.3, 0.9, 0.9999} {
			x := quantileGPD(p, k, 1.7)
			assert.InDelta(t, p, -math.Expm1(-math.Log1p(k*x/1.7)/k), 1e-6)
		}
	}
	assert.InDelta(t, math.Log(2), quantileGPD(0.5, 0, 1), 1e-15)
}

// gaussianRatio draws normalised log weights of the target N(0, 1) under the proposal N(0, s²). The
// log of the mean weight estimates 0. If s < 1, the weights have a Pareto tail of shape k = 1 − s².
func gaussianRatio(n int, s float64, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 7))
	lw := make([]float64, n)
	for i := range lw {
		z := rng.NormFloat64()
		lw[i] = math.Log(s) + z*z*(1-s*s)/2
	}
	return lw
}

func TestKnownTailOfGaussianRatio(t *testing.T) {
	const n, repeats = 100_000, 10
	tail := 3 * math.Sqrt(n)
	for _, s := range []float64{0.95, 0.8, 0.6, 0.4} {
		k := 1 - s*s
		var sum float64
		for seed := range uint64(repeats) {
			sum += Smooth(gaussianRatio(n, s, seed)).K
		}
		// At a finite cutoff the tail is lighter than its limit: for u = z²/2 the hazard is about 1
		// + 1/(2u), not 1, so k̂ is too small by the factor 1/(2u). The tail has the share M/n =
		// 0.009 of the draws, so the cutoff is at u = 3.4 and the mean of u in the tail is 4.4: the
		// factor is 0.12.
		se := (1 + k) / math.Sqrt(tail*repeats)
		assert.InDelta(t, k, sum/repeats, sigmas*se+0.13*k+5/(tail+10), "s = %g", s)
	}
}

func TestSafeRatioIsReliable(t *testing.T) {
	r := Smooth(gaussianRatio(10_000, 1.5, 3)) // proposal wider than the target: bounded weights
	assert.Less(t, r.K, 0.3)
	assert.InDelta(t, 0, r.LogMean, sigmas*r.LogMeanSE)
	// E w² = s²/√(2s² − 1), and the effective number of draws is n / E w².
	assert.InDelta(t, math.Sqrt(2*1.5*1.5-1)/(1.5*1.5), r.ESS/10_000, 0.01)
}

func TestLogMeanExpClosedForm(t *testing.T) {
	// The weights are log-normal: the log of their mean is μ + τ²/2 and their relative variance is
	// exp(τ²) − 1.
	const n, mu, tau = 50_000, -300.0, 0.6
	rng := rand.New(rand.NewPCG(4, 4))
	lw := make([]float64, n)
	for i := range lw {
		lw[i] = mu + tau*rng.NormFloat64()
	}
	mean, se := LogMeanExp(lw)
	wantSE := math.Sqrt(math.Expm1(tau*tau) / n)
	assert.InDelta(t, mu+tau*tau/2, mean, sigmas*wantSE)
	assert.InDelta(t, wantSE, se, 0.05*wantSE)

	// The mean of the logs, which lacks the term τ²/2, is far outside.
	var meanOfLogs float64
	for _, l := range lw {
		meanOfLogs += l / n
	}
	assert.Greater(t, math.Abs(meanOfLogs-(mu+tau*tau/2)), 20*wantSE)

	mean, se = LogMeanExp([]float64{math.Log(1), math.Log(3), math.Inf(-1), math.Inf(-1)})
	assert.InDelta(t, 0, mean, 1e-15)
	assert.InDelta(t, math.Sqrt((0+4+1+1)/(4.0*3)), se, 1e-15)
}

func TestSmoothingReducesError(t *testing.T) {
	// At k = 0.64 the mean of the raw weights has an infinite variance. The mean of the smoothed
	// weights must have a smaller mean squared error over the repeats.
	const repeats = 100
	var raw, smooth float64
	for seed := range uint64(repeats) {
		lw := gaussianRatio(1000, 0.6, seed)
		m, _ := LogMeanExp(lw)
		raw += m * m
		r := Smooth(lw)
		smooth += r.LogMean * r.LogMean
	}
	assert.Less(t, smooth, raw)
}

func TestSmallTiedAndEmpty(t *testing.T) {
	inf := math.Inf(1)
	t.Run("empty", func(t *testing.T) {
		r := Smooth(nil)
		assert.Equal(t, inf, r.K)
		assert.Zero(t, r.ESS)
		assert.Equal(t, -inf, r.LogMean)
	})
	t.Run("all zero", func(t *testing.T) {
		r := Smooth(slices.Repeat([]float64{-inf}, 100))
		assert.Equal(t, inf, r.K)
		assert.Equal(t, 100, r.Zero)
		assert.Zero(t, r.ESS)
		assert.Equal(t, -inf, r.LogMean)
	})
	t.Run("too few draws", func(t *testing.T) {
		r := Smooth([]float64{1, 2, 3, 4})
		assert.Equal(t, inf, r.K)
		assert.Equal(t, []float64{1, 2, 3, 4}, r.LogWeights)
	})
	t.Run("all equal", func(t *testing.T) {
		r := Smooth(slices.Repeat([]float64{-7}, 500))
		assert.Zero(t, r.K)
		assert.InDelta(t, 500, r.ESS, 1e-9)
		assert.InDelta(t, -7, r.LogMean, 1e-12)
		assert.InDelta(t, 0, r.LogMeanSE, 1e-12)
	})
	t.Run("equal up to rounding", func(t *testing.T) {
		lw := slices.Repeat([]float64{-700}, 500)
		lw[17] = math.Nextafter(-700, 0)
		assert.Zero(t, Smooth(lw).K)
	})
	t.Run("two of a thousand hit the target", func(t *testing.T) {
		lw := slices.Repeat([]float64{-inf}, 1000)
		lw[3], lw[800] = 0, 0
		r := Smooth(lw)
		assert.Equal(t, inf, r.K)
		assert.InDelta(t, 2, r.ESS, 1e-12)
		assert.InDelta(t, math.Log(0.002), r.LogMean, 1e-12)
	})
	t.Run("one weight dominates", func(t *testing.T) {
		lw := gaussianRatio(1000, 0.9, 1)
		lw[0] = 400
		assert.Greater(t, Smooth(lw).K, Reliable)
	})
	t.Run("tied tail", func(t *testing.T) {
		lw := gaussianRatio(1000, 0.9, 1)
		slices.Sort(lw)
		for i := 950; i < 1000; i++ {
			lw[i] = lw[949] + 1
		}
		r := Smooth(lw)
		require.False(t, math.IsNaN(r.K))
		for _, l := range r.LogWeights {
			require.False(t, math.IsNaN(l))
		}
	})
	t.Run("non-finite are counted and left out", func(t *testing.T) {
		lw := gaussianRatio(1000, 1.3, 1)
		clean := Smooth(lw)
		r := Smooth(append(slices.Clone(lw), math.NaN(), inf, math.NaN()))
		assert.Equal(t, 3, r.NonFinite)
		assert.Equal(t, 1000, r.N)
		assert.Equal(t, clean.K, r.K)
		assert.InDelta(t, clean.LogMean, r.LogMean, 1e-12)
		assert.InDelta(t, clean.LogMeanSE, r.LogMeanSE, 1e-12)
		mean, _ := LogMeanExp([]float64{0, inf})
		assert.True(t, math.IsNaN(mean))
	})
}

func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(30, 400).Draw(t, "n")
		scale := rapid.Float64Range(0.3, 1.4).Draw(t, "scale")
		shift := rapid.Float64Range(-800, 800).Draw(t, "shift")
		seed := rapid.Uint64().Draw(t, "seed")
		lw := gaussianRatio(n, scale, seed)
		base := Smooth(lw)

		moved := slices.Clone(lw)
		for i := range moved {
			moved[i] += shift
		}
		r := Smooth(moved)
		assert.InDelta(t, base.K, r.K, 1e-6, "k̂ ignores a constant")
		assert.InDelta(t, base.ESS, r.ESS, 1e-6*base.ESS)
		assert.InDelta(t, base.LogMean+shift, r.LogMean, 1e-8)
		assert.InDelta(t, base.LogMeanSE, r.LogMeanSE, 1e-8)

		perm := rand.New(rand.NewPCG(seed, 1)).Perm(n)
		for i, p := range perm {
			moved[i] = lw[p]
		}
		r = Smooth(moved)
		assert.InDelta(t, base.K, r.K, 1e-9, "k̂ ignores the order")
		for i, p := range perm {
			assert.InDelta(t, base.LogWeights[p], r.LogWeights[i], 1e-9)
		}
		assert.True(t, r.ESS >= 1 && r.ESS <= float64(n)+1e-9)
		assert.LessOrEqual(t, slices.Max(r.LogWeights), slices.Max(lw))
	})
}

func TestReliableFor(t *testing.T) {
	require.Equal(t, Reliable, ReliableFor(1<<18))
	require.InDelta(t, 0.5, ReliableFor(100), 1e-12)
	require.Negative(t, ReliableFor(5))
	require.Negative(t, ReliableFor(0))
}

// TestLargestOfASort compares the largest weights with the end of a stable sort, for weights with
// ties.
func TestLargestOfASort(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	for _, kinds := range []int{1, 3, 40, 1 << 30} {
		for n := 1; n < 50; n++ {
			r := Result{}
			var order []int
			for i := range n {
				r.LogWeights = append(r.LogWeights, float64(random.IntN(kinds)))
				if random.IntN(4) > 0 {
					order = append(order, i)
				}
			}
			sorted := slices.Clone(order)
			sort.SliceStable(sorted, func(a, b int) bool { return r.LogWeights[sorted[a]] < r.LogWeights[sorted[b]] })
			for most := 1; most < n; most++ {
				assert.Equal(t, sorted[max(0, len(sorted)-most):], r.largest(slices.Clone(order), most))
			}
		}
	}
}

// TestTailShare compares TailShare with the share of the mean of a Pareto distribution that lies
// beyond the largest of n draws, averaged over samples. The two differ by a factor Γ(2−k) between
// 0.89 and 1.
func TestTailShare(t *testing.T) {
	const n, repeats = 2000, 400
	random := rand.New(rand.NewPCG(3, 9))
	for _, k := range []float64{0.2, 0.5, 0.65} {
		var sum, squares float64
		for range repeats {
			least := 1.0 // smallest of n uniform numbers; the largest draw is least^−k
			for range n {
				least = min(least, random.Float64())
			}
			beyond := math.Pow(least, 1-k)
			sum, squares = sum+beyond, squares+beyond*beyond
		}
		mean := sum / repeats
		se := math.Sqrt((squares/repeats - mean*mean) / repeats)
		assert.InDelta(t, math.Gamma(2-k)*TailShare(k, n), mean, sigmas*se, "k = %g", k)
	}
	assert.InDelta(t, 0.1, TailShare(ReliableFor(1000), 1000), 1e-12)
	assert.InDelta(t, 1.0/n, TailShare(-0.4, n), 1e-12)
	assert.Equal(t, []float64{1, 1, 1}, []float64{TailShare(1, n), TailShare(math.Inf(1), n), TailShare(math.NaN(), n)})
}

// TestErrorsOfHeavyTails checks standard errors of means of weights whose variance is infinite. It
// draws 400 samples of 4,000 weights of shape 0.6 and counts the samples whose k̂ is reliable. At
// most one in a hundred may be off by more than four standard errors. The number that is off by
// more than two standard errors must be below three quarters of the number with standard errors
// from the variance of the weights alone. For weights with a light tail both errors are equal.
func TestErrorsOfHeavyTails(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 1))
	const samples, draws = 400, 4000
	for _, shape := range []float64{-0.5, 0.6} {
		sd := math.Sqrt(1 - shape) // sd of normal draws whose weights for N(0, 1) have this shape
		reliable, off, offTwo, byVarianceTwo, share := 0, 0, 0, 0, 0.0
		for range samples {
			logs := make([]float64, draws)
			for i := range logs {
				x := sd * random.NormFloat64()
				logs[i] = x*x/2*(1/(sd*sd)-1) + math.Log(sd)
			}
			r := Smooth(logs)
			if r.K > ReliableFor(draws) {
				continue
			}
			reliable++
			if math.Abs(r.LogMean) > sigmas*r.LogMeanSE {
				off++
			}
			if math.Abs(r.LogMean) > 2*r.LogMeanSE {
				offTwo++
			}
			if math.Abs(r.LogMean) > 2*math.Sqrt(r.LogMeanSE*r.LogMeanSE-r.Unreached*r.Unreached) {
				byVarianceTwo++
			}
			share += r.Unreached / r.LogMeanSE
		}
		require.Greater(t, reliable, samples/2)
		require.LessOrEqual(t, off, reliable/100)
		if shape < 0 {
			require.Zero(t, share)
			continue
		}
		require.Less(t, offTwo, byVarianceTwo*3/4)
	}
}

// TestCutoffInTheBulk checks k̂ for weights that hardly differ, except for a short tail, so that
// the cutoff falls among nearly equal weights. The tail is bounded, so k̂ must be small.
func TestCutoffInTheBulk(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		logWeights := make([]float64, 65_536)
		for i := range logWeights {
			u := random.Float64()
			logWeights[i] = -u * u * 1e-2 // most differ by less than a thousandth
			if u < 0.005 {
				logWeights[i] = 0.3 * random.Float64()
			}
		}
		require.Less(t, Smooth(logWeights).K, 0.2)
	}
}

// TestHeavyTailAboveTheBulk checks that k̂ shows a heavy tail of any scale, if all other weights
// hardly differ.
func TestHeavyTailAboveTheBulk(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 1))
	for _, scale := range []float64{0.003, 0.01, 0.1} {
		reliable := 0
		for range 50 {
			logWeights := make([]float64, 20_000)
			for i := range logWeights {
				logWeights[i] = math.Log(1 + scale*(math.Pow(random.Float64(), -0.9)-1))
			}
			if Smooth(logWeights).K <= Reliable {
				reliable++
			}
		}
		require.LessOrEqual(t, reliable, 5, "scale %g", scale)
	}
}

// TestSmoothWithZeros checks that zero weights count, whether or not they are in the list.
func TestSmoothWithZeros(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	logWeights := make([]float64, 500)
	for i := range logWeights {
		logWeights[i] = 0.4 * random.ExpFloat64()
	}
	want := Smooth(append(slices.Clone(logWeights), slices.Repeat([]float64{math.Inf(-1)}, 300)...))
	got := SmoothWithZeros(logWeights, 300)
	require.InEpsilon(t, want.LogMeanSE, got.LogMeanSE, 1e-12)
	want.LogMeanSE, want.LogWeights = got.LogMeanSE, want.LogWeights[:500]
	require.Equal(t, want, got)
}
