package integrate

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/lab/testkit"
)

// problems are densities with known log integrals and known means of the first coordinate.
var problems = map[string]struct {
	dim     int
	density func(x []float64) float64
	logZ    float64
	mean    float64
	share   float64 // smallest accepted share of effective draws
}{
	"normal, far from the centre and narrow": {3, func(x []float64) float64 {
		sum := 0.0
		for _, v := range x {
			sum -= (v - 2) * (v - 2) / (2 * 0.01)
		}
		return sum
	}, 1.5 * math.Log(2*math.Pi*0.01), 2, 0.5},
	"correlated": {4, func(x []float64) float64 {
		sum, last := 0.0, 0.0
		for _, v := range x { // successive differences are normal
			sum -= (v - last) * (v - last) / 2
			last = v
		}
		return sum + 3
	}, 2*math.Log(2*math.Pi) + 3, 0, 0.4},
	"two modes": {2, func(x []float64) float64 {
		a := -((x[0]-2)*(x[0]-2) + x[1]*x[1]) / (2 * 0.09)
		b := math.Log(3) - ((x[0]+1.5)*(x[0]+1.5)+(x[1]-1)*(x[1]-1))/(2*0.09)
		return logsum.Add(a, b)
	}, math.Log(4 * 2 * math.Pi * 0.09), (2 - 4.5) / 4, 0.4},
	"skewed": {2, func(x []float64) float64 { // log of two gamma variables of shape 3 and 1/2
		return 3*x[0] - math.Exp(x[0]) + x[1]/2 - math.Exp(x[1])
		// the mean is the digamma function at 3
	}, math.Log(2) + 0.5*math.Log(math.Pi), 0.9227843350984671, 0.3},
	// Student's t with 4 degrees of freedom
	"a long tail": {1, func(x []float64) float64 { return -2.5 * math.Log1p(x[0]*x[0]/4) },
		math.Log(math.Sqrt(4*math.Pi)) + lgamma(2) - lgamma(2.5), 0, 0.4},
	"zero on one side": {2, func(x []float64) float64 {
		if x[0] < 0 {
			return math.Inf(-1)
		}
		return -x[0] - x[1]*x[1]/2
	}, 0.5 * math.Log(2*math.Pi), 1, 0.25},
}

func lgamma(x float64) float64 { value, _ := math.Lgamma(x); return value }

// TestIntegrals checks integrals and means to five standard errors, a false alarm in two million.
// The densities are narrow, correlated, skewed, bimodal, heavy-tailed, or have a wall. The share of
// effective draws must be at least the field share of the problem.
func TestIntegrals(t *testing.T) {
	testkit.Slow(t)
	for name, c := range problems {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(5) {
				random := rand.New(rand.NewPCG(seed, 1))
				p, err := Adapt(t.Context(), Problem{Centre: make([]float64, c.dim), Width: slices.Repeat([]float64{3}, c.dim), LogDensity: c.density}, random)
				require.NoError(t, err)
				s := &Sample{}
				const n = 20_000
				require.NoError(t, p.Draw(t.Context(), s, n, random))
				weights := psis.Smooth(s.LogWeights())
				require.Less(t, weights.K, psis.Reliable)
				require.Greater(t, weights.ESS, c.share*n)
				require.InDelta(t, c.logZ, weights.LogMean, 5*weights.LogMeanSE)
				var mean, total, square float64
				for i, l := range weights.LogWeights {
					w := math.Exp(l - weights.LogMean)
					total += w
					mean += w * s.Points[i][0]
				}
				mean /= total
				for i, l := range weights.LogWeights {
					w := math.Exp(l-weights.LogMean) / total
					square += w * w * (s.Points[i][0] - mean) * (s.Points[i][0] - mean)
				}
				require.InDelta(t, c.mean, mean, 5*math.Sqrt(square))
			}
		})
	}
}

// TestDeterministic checks that two runs with the same random numbers give the same draws and
// weights, although several goroutines evaluate the density.
func TestDeterministic(t *testing.T) {
	run := func() *Sample {
		random := rand.New(rand.NewPCG(3, 1))
		p, err := Adapt(t.Context(), Problem{Centre: []float64{0, 0}, Width: []float64{3, 3}, LogDensity: problems["two modes"].density}, random)
		require.NoError(t, err)
		s := &Sample{}
		require.NoError(t, p.Draw(t.Context(), s, 100, random))
		return s
	}
	require.Equal(t, run(), run())
}

// TestCancelled checks that adaptation ends within 100 evaluations of the density after the context
// is cancelled.
func TestCancelled(t *testing.T) {
	for _, after := range []int32{0, 50, 900, 1100, 3000} {
		ctx, cancel := context.WithCancel(t.Context())
		calls := make(chan struct{}, 1<<20)
		problem := Problem{Centre: []float64{0, 0}, Width: []float64{3, 3}, LogDensity: func(x []float64) float64 {
			calls <- struct{}{}
			if len(calls) > int(after) {
				cancel()
			}
			return problems["two modes"].density(x)
		}}
		_, err := Adapt(ctx, problem, rand.New(rand.NewPCG(1, 1)))
		require.ErrorIs(t, err, context.Canceled)
		require.Less(t, len(calls), int(after)+100)
		cancel()
	}
}

// In TestLogScales the first coordinate is the log of a scale. The density times the squared scale
// has its mass 4 standard deviations from the mean of the density. With LogScales, more than a
// fifth of the draws must be effective for the mean square of the scale. Without LogScales, less
// than a twentieth is.
func TestLogScales(t *testing.T) {
	const sd, n = 2.0, 20_000
	problem := Problem{Centre: []float64{0, 0}, Width: []float64{2, 1}, LogDensity: func(x []float64) float64 {
		return -x[0]*x[0]/(2*sd*sd) - x[1]*x[1]/2
	}}
	share := func(scales func(x []float64) []float64) float64 {
		problem.LogScales = scales
		p, err := Adapt(t.Context(), problem, rand.New(rand.NewPCG(1, 2)))
		require.NoError(t, err)
		s := &Sample{}
		require.NoError(t, p.Draw(t.Context(), s, n, rand.New(rand.NewPCG(1, 3))))
		products := s.LogWeights()
		require.Less(t, psis.Smooth(products).K, psis.Reliable)
		require.Greater(t, psis.Smooth(products).ESS, 0.2*n)
		for i, x := range s.Points {
			products[i] += 2 * x[0]
		}
		weights := psis.Smooth(products)
		if scales != nil { // five errors: one in two million by chance
			require.InDelta(t, math.Log(2*math.Pi*sd)+2*sd*sd, weights.LogMean, 5*weights.LogMeanSE)
		}
		return weights.ESS / n
	}
	require.Greater(t, share(func(x []float64) []float64 { return x[:1] }), 0.2)
	require.Less(t, share(nil), 0.05)
}

// TestRidges checks that weights have a light tail along ridges of a density that fall off slowly
// on one side. The density is a posterior of the logarithms of two standard deviations that may be
// zero, and of a correlation whose posterior is its prior if one of them is zero. Each standard
// deviation makes a ridge.
func TestRidges(t *testing.T) {
	testkit.Slow(t)
	problem := Problem{Centre: make([]float64, 4), Width: []float64{2, 2, 2, 2}, LogDensity: func(x []float64) float64 {
		a, b := math.Exp(x[0]), math.Exp(x[1])
		together := a * b * x[2]
		return x[0] + x[1] - 8*a*a - 2*(b-0.4)*(b-0.4) - x[2]*x[2]/8 - 200*together*together - 1250*x[3]*x[3]
	}}
	for seed := range uint64(8) {
		p, err := Adapt(t.Context(), problem, rand.New(rand.NewPCG(seed, 1)))
		require.NoError(t, err)
		s := &Sample{}
		const n = 130_000
		require.NoError(t, p.Draw(t.Context(), s, n, rand.New(rand.NewPCG(seed, 2))))
		weights := psis.Smooth(s.LogWeights())
		require.Less(t, weights.K, 0.6)
		require.Greater(t, weights.ESS, 0.5*n)
	}
}
