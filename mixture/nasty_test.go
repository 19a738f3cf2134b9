package mixture

import (
	gocontext "context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
)

// Clusters whose distance is a million times their width are found, with their rows. The density of
// a row in the component of the other cluster is 0 in float64.
func TestClustersFarApart(t *testing.T) {
	random := stream.Rand(1, "far")
	y := make([]float64, 40)
	for i := range y {
		y[i] = 1e6*float64(i%2) + random.NormFloat64()
	}
	r, err := Run(gocontext.Background(), problemOf(t, Options{MaxComponents: 5}, y), RunConfig{Sample: SampleConfig{Sweeps: 6000, Error: 0.01}})
	require.NoError(t, err)
	require.Less(t, float64(r.Counts[0].Probability), 1e-6)
	if r.Certificate.Verdict == vti.Trusted {
		require.LessOrEqual(t, float64(r.Certificate.Difference), farApart)
	}
	for i, row := range r.Rows {
		require.Equal(t, r.Rows[i%2].Component, row.Component, "row %d", i)
	}
	require.NotEqual(t, r.Rows[0].Component, r.Rows[1].Component)
}

// A quarter of the values are equal, as if they were at a limit of detection. Both samplers agree
// on a component of almost zero width at this value, but the answer is not trusted.
func TestTiesAreNotTrusted(t *testing.T) {
	testkit.Slow(t)
	random := stream.Rand(2, "ties")
	y := make([]float64, 80)
	for i := range y {
		if i%4 > 0 {
			y[i] = random.NormFloat64()
		}
	}
	p := problemOf(t, Options{MaxComponents: 6}, y)
	require.Contains(t, p.Notes[0], "19 of 80 values are equal to another; most often 0, in 20 rows")
	r, err := Run(gocontext.Background(), p, RunConfig{Sample: SampleConfig{Sweeps: 6000, Error: 0.01}})
	require.NoError(t, err)
	require.NotEqual(t, vti.Trusted, r.Certificate.Verdict)
	require.Contains(t, r.Certificate.Reasons[len(r.Certificate.Reasons)-1], "a component describes nothing else: narrower ones have ever more density")
}

// If nearly all values are tied, sampling finds only components of equal values, and ends early.
func TestTiesEndSampling(t *testing.T) {
	random := stream.Rand(3, "ties")
	y := make([]float64, 120)
	for i := range y {
		y[i] = math.Round(random.NormFloat64())
		if i%4 == 0 {
			y[i] += random.Float64()
		}
	}
	p := problemOf(t, Options{}, y)
	r, err := Run(gocontext.Background(), p, RunConfig{Sample: SampleConfig{Sweeps: 20_000}})
	require.NoError(t, err)
	require.Equal(t, vti.Failed, r.Certificate.Verdict)
	require.Contains(t, r.Certificate.Reasons[len(r.Certificate.Reasons)-1], "and with probability 1 a component describes nothing else: narrower ones have ever more density")
	require.Less(t, r.Certificate.Jumps.Sweeps, 10_000)
}

// If rounding is finer than the width of components, equal values do not lower the verdict.
func TestRoundingIsNoSpike(t *testing.T) {
	values := newTies([]float64{0, 0.1, 0.1, 0.2, 0.5})
	require.False(t, values.spike(0.1, 0.2), "wide")
	require.True(t, values.spike(0.1, 0.01), "narrower than half the distance to the next")
	require.False(t, values.spike(0.5, 0.01), "of one row")
	require.False(t, values.spike(0.16, 0.01), "between values")
}

// The test checks the method infinite, which reports whether the posterior has infinite mass. This
// is so if the integrand over log β, a sum over all assignments of rows, grows as β goes to 0. The
// test computes the slope of the integrand from two tiny β, for small tables of equal values and a
// few other values.
func TestInfinitePosteriors(t *testing.T) {
	for _, c := range []struct {
		equal, others, components int
		shape                     float64 // PrecisionShape
	}{
		{2, 1, 2, 2}, {1, 3, 2, 2}, // at most one value besides the equal values, or all values different
		{4, 3, 2, 2}, {5, 3, 2, 2}, {6, 3, 2, 2}, {7, 3, 2, 2},
		{3, 3, 2, 1}, {4, 3, 2, 1}, {6, 3, 1, 2}, {6, 3, 3, 2}, {2, 2, 3, 2}, {4, 4, 3, 1},
	} {
		y := make([]float64, c.equal+c.others)
		for i := range c.others {
			y[i] = []float64{0.3, -0.5, 0.5, 0.1}[i]
		}
		p := &Problem{Options: Options{Columns: []string{"y"}, MaxComponents: c.components, PrecisionShape: c.shape}, columns: []column{{y: y}}}
		var err error
		p.Options, err = p.Options.withDefaults()
		require.NoError(t, err)
		logSum := func(beta float64) float64 {
			total := 0.0
			bySet := p.marginals([]float64{beta}, grid{-50, 8, 0.25})
			sums := [3]byNode{bySet[len(bySet)-1], overTwo(bySet), overThree(bySet)}
			for k := range c.components {
				total += sums[k][0]
			}
			return math.Log(total) + p.Options.ScaleShape*math.Log(beta)
		}
		slope := (logSum(1e-16) - logSum(1e-18)) / math.Log(100)
		require.Equal(t, slope < 0, newTies(y).infinite(p.Options), "%+v: the integrand over log β has the slope %.3f", c, slope)
	}
}
