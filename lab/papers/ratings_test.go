package papers

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm"
)

// TestNormalByFactor compares the density with the normal density of gonum.
func TestNormalByFactor(t *testing.T) {
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	mean, factor, x := []float64{1, -1, 0.5}, []float64{0.2, -0.5, 0.1, 0.7, -0.3, 0.4}, []float64{0.3, 0, -1}
	lower := mat.NewTriDense(3, mat.Lower, []float64{math.Exp(0.2), 0, 0, 0.7, math.Exp(-0.5), 0, -0.3, 0.4, math.Exp(0.1)})
	var covariance mat.SymDense
	covariance.SymOuterK(1, lower)
	normal, ok := distmv.NewNormal(mean, &covariance, nil)
	require.True(t, ok)

	m := hbm.NewModel()
	m.Latent("number", hbm.Normal(hbm.Number(0), hbm.Number(1))) // independent of x, whose density is the evidence
	observed := m.Observed("x", normalByFactor(hbm.Numbers(mean...), hbm.Numbers(factor...)), hbm.Event(3))
	p, err := hbm.Fit(t.Context(), device, m, hbm.Values{observed: x}, hbm.Config{Family: hbm.MeanField, Steps: 300})
	require.NoError(t, err)
	elbo, _, err := p.ELBO(t.Context(), 100, "elbo")
	require.NoError(t, err)
	require.InDelta(t, normal.LogProb(x), elbo, 1e-3)
}

// TestRatings checks the shape of simulated ratings: a tenth of each user's are held out, and the
// predictions of a fit to all users are better than the share of liked films.
func TestRatings(t *testing.T) {
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	s := settingsOf[branchSettings]("branch").Ratings
	s.Features = 3
	r := newRatings(s, 60, 2)
	require.Len(t, r.held, 60)
	require.InDelta(t, 0.1, float64(r.heldRatings)/float64(r.heldRatings+r.train), 0.01)
	liked := 0.0
	for _, user := range r.held {
		for _, held := range user {
			liked += held.liked / float64(r.heldRatings)
		}
	}
	p, err := hbm.Fit(t.Context(), device, r.model, r.data, hbm.Config{Family: hbm.Branch, Steps: 200})
	require.NoError(t, err)
	predictive, err := r.predictive(t.Context(), p, nil)
	require.NoError(t, err)
	require.Greater(t, predictive, liked*math.Log(liked)+(1-liked)*math.Log(1-liked)+0.05)
}
