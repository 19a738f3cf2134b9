package hbm

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/stream"
)

// Draws of a margin follow the density that they are said to be drawn from, and have the prior of
// the model: the mean ratio of the two densities is one, within five standard errors, and prior
// moments of weighted draws are those of the prior. What has plates, or does not come first, has no
// margin.
func TestMargin(t *testing.T) {
	m := NewModel()
	groups := m.Plate("groups", 4)
	mean := m.Latent("mean", Normal(Number(1), Number(0.7)))
	sd := m.Latent("sd", LogNormal(Number(0), Number(0.5)))
	own := m.Latent("own", Normal(mean, sd), On(groups))
	y := m.Observed("y", Normal(own, Number(1)), On(groups))
	p := fit(t, m, Values{y: {0.5, 1.5, 2.5, 0}}, Config{Steps: 100})
	const n = 20_000
	draws, err := p.Margin(t.Context(), []*Variable{mean, sd}, n, "test")
	require.NoError(t, err)
	require.Len(t, draws.LogQ, n)
	var sum, squares, first, second float64
	for i, u := range draws.Unconstrained {
		require.Len(t, u, 2)
		want := -math.Pow((u[0]-1)/0.7, 2)/2 - math.Log(0.7) - math.Pow(u[1]/0.5, 2)/2 - math.Log(0.5) - 2*halfLogTwoPi - u[1]
		require.InDelta(t, want, draws.LogPrior[i], 1e-4, "of exp u, as LogQ")
		ratio := math.Exp(draws.LogPrior[i] - draws.LogQ[i])
		sum, squares = sum+ratio, squares+ratio*ratio
		first, second = first+ratio*u[0], second+ratio*u[1]*u[1]
	}
	se := math.Sqrt(squares/n-sum*sum/n/n) / math.Sqrt(n)
	require.InDelta(t, 1, sum/n, 5*se)
	require.Less(t, se, 0.05)
	require.InDelta(t, 1, first/sum, 0.1)
	require.InDelta(t, 0.25, second/sum, 0.05)

	_, err = p.Margin(t.Context(), []*Variable{sd}, n, "test")
	require.ErrorContains(t, err, `got "sd", want "mean"`)
	_, err = p.Margin(t.Context(), []*Variable{mean, sd, own}, n, "test")
	require.ErrorContains(t, err, "without plates")
}

// The noise of a margin has the density that it says: its ratio to a standard normal one has the
// mean one of weights the other way, and its second moment is that of the mixture.
func TestMarginNoise(t *testing.T) {
	random := stream.Rand(3, "noise")
	var inverse, square float64
	const n = 100_000
	for range n {
		z, logRatio := marginNoise(random, 2)
		inverse += math.Exp(-logRatio) / n
		square += z[1] * z[1] / n
	}
	require.InDelta(t, 1, inverse, 0.01)
	want := 0.0
	for _, c := range marginSpread {
		want += c.share * c.width * c.width
	}
	require.InDelta(t, want, square, 0.1)
}
