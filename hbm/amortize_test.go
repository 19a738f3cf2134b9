package hbm

import (
	gocontext "context"
	"testing"

	"github.com/stretchr/testify/require"
)

// A family trained on simulated data sets infers from new ones, and from models with more groups,
// near the exact evidence of each.
func TestAmortizedOverDataSets(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	e := newEffects(3, 5, 1)
	p := fit(t, e.model, nil, Config{Family: PAVIE, Amortize: 16, Steps: 1500})
	for _, groups := range []int{3, 12} {
		other := e
		if groups != 3 {
			other = newEffects(groups, 5, 1)
		}
		var gap float64
		const sets = 10
		for s := range sets {
			data := other.draw(t, 50+uint64(s))
			q, err := p.On(other.model, data)
			require.NoError(t, err)
			elbo, _, err := q.ELBO(t.Context(), 200, "elbo")
			require.NoError(t, err)
			gap += (other.exact(data).logEvidence - elbo) / float64(groups) / sets
		}
		require.Less(t, gap, 0.3, "nats for each of %d groups", groups)
	}
	q, err := p.On(e.model, e.draw(t, 1))
	require.NoError(t, err)
	draws, err := q.Sample(t.Context(), 3, "draws")
	require.NoError(t, err)
	require.Len(t, draws.Values[e.groupMean], 9)
}

func TestAmortizeMistakes(t *testing.T) {
	e := newEffects(3, 5, 1)
	device := openCPU(t)
	_, err := Fit(gocontext.Background(), device, e.model, nil, Config{Amortize: 4})
	require.ErrorContains(t, err, "got Amortize with family")
	_, err = Fit(gocontext.Background(), device, e.model, nil, Config{Family: PAVIE, Amortize: 4, Draws: 8})
	require.ErrorContains(t, err, "as many as Amortize has data sets")

	data := e.draw(t, 1)
	free := fit(t, e.model, data, Config{Steps: 1})
	_, err = free.On(e.model, data)
	require.ErrorContains(t, err, "free encodings")
	p := fit(t, e.model, data, Config{Family: PAVIE, Steps: 1})
	_, err = p.On(e.model, Values{})
	require.ErrorContains(t, err, "has no values")
	wide := newEffects(3, 5, 2)
	_, err = p.On(wide.model, wide.draw(t, 1))
	require.ErrorContains(t, err, `got latent variable "mean" on [] of shape [2], want latent variable "mean" on [] of shape [1]`)
	m := NewModel()
	m.Latent("mean", Normal(Number(0), Number(1)))
	_, err = p.On(m, nil)
	require.ErrorContains(t, err, "want plate")
}
