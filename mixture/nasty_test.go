package mixture

import (
	gocontext "context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/stream"
)

// Clusters a million of their widths apart are found, with their rows: densities of rows in the
// components of the other cluster are 0 in float64.
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

// A quarter of the values stand for something else, such as a limit of detection: both samplers
// agree on a component of no width there, which the prior alone bounds. That is not trusted.
func TestTiesAreNotTrusted(t *testing.T) {
	random := stream.Rand(2, "ties")
	y := make([]float64, 80)
	for i := range y {
		if i%4 > 0 {
			y[i] = random.NormFloat64()
		}
	}
	p := problemOf(t, Options{MaxComponents: 6}, y)
	require.Contains(t, p.Notes[0], "19 of 80 values are equal to another")
	r, err := Run(gocontext.Background(), p, RunConfig{Sample: SampleConfig{Sweeps: 6000, Error: 0.01}})
	require.NoError(t, err)
	require.NotEqual(t, vti.Trusted, r.Certificate.Verdict)
	require.Contains(t, r.Certificate.Reasons[len(r.Certificate.Reasons)-1], "a component describes nothing else")
}

// Rounding that is finer than the components is no trouble: a few equal values lower no verdict.
func TestRoundingIsNoSpike(t *testing.T) {
	values := newTies([]float64{0, 0.1, 0.1, 0.2, 0.5})
	require.False(t, values.spike(0.1, 0.2), "wide")
	require.True(t, values.spike(0.1, 0.01), "narrower than half the distance to the next")
	require.False(t, values.spike(0.5, 0.01), "of one row")
	require.False(t, values.spike(0.16, 0.01), "between values")
}
