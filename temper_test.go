package vti_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/space"
)

// inclusions are the exact probabilities of each site to be 1, and log Σ_m p(m) Z_m for the uniform prior.
func (c *conjugate) inclusions() (inclusion []float64, logEvidence float64) {
	logEvidences, probability := c.posterior()
	inclusion = make([]float64, len(c.space.Cards()))
	largest := math.Inf(-1)
	for index, code := range space.All(c.space.Cards()) {
		for site, outcome := range code {
			inclusion[site] += float64(outcome) * probability[index]
		}
		largest = math.Max(largest, logEvidences[index])
	}
	var sum float64
	for _, value := range logEvidences {
		sum += math.Exp(value - largest)
	}
	return inclusion, largest + math.Log(sum/float64(len(logEvidences)))
}

// poorAnswer is how far a joint certificate of a posterior is from the truth, in its own standard errors: of the log evidence and of the worst inclusion probability.
func poorAnswer(t *testing.T, target *conjugate, certificate *vti.Certificate) (evidence, inclusion float64) {
	t.Helper()
	exact, logEvidence := target.inclusions()
	n := len(exact)
	got, se := certificate.Frequencies(n, func(code []int32) (on []int) {
		for site, outcome := range code {
			if outcome == 1 {
				on = append(on, site)
			}
		}
		return on
	})
	for site := range exact {
		inclusion = max(inclusion, math.Abs(got[site]-exact[site])/se[site])
	}
	return math.Abs(certificate.LogEvidence-logEvidence) / certificate.LogEvidenceSE, inclusion
}

// Tempering finds evidence and probabilities through a q whose models are uniform and whose flow is far too narrow and off by several standard deviations. The bound of
// 5 standard errors, with some twenty islands, is a false alarm in 1e4 runs of the seven checks.
func TestTemperingRepairsAPoorQ(t *testing.T) {
	target := newConjugate(40, 6)
	posterior := poorPosterior(t, target, 2, 3)
	certificate, err := posterior.Certify(t.Context(), vti.CertifyConfig{MaxModels: 1, Draws: 1 << 16})
	require.NoError(t, err)
	require.NotNil(t, certificate.Sample.Group, "plain weights should not have been good enough")
	evidence, inclusion := poorAnswer(t, target, certificate)
	require.Less(t, evidence, 5.0)
	require.Less(t, inclusion, 5.0)
	require.Less(t, certificate.LogEvidenceSE, 0.1)
	require.InDelta(t, 1, sum(certificate.Sample.Weight), 1e-9)
	require.Equal(t, vti.Trusted, certificate.Verdict, certificate.Reasons)
}

// Annealing on request keeps plain weights that tempering confirms.
func TestTemperingConfirms(t *testing.T) {
	target := newConjugate(40, 4)
	posterior := poorPosterior(t, target, 1, 0)
	certificate, err := posterior.Certify(t.Context(), vti.CertifyConfig{MaxModels: 1, Draws: 1 << 16, Anneal: true})
	require.NoError(t, err)
	require.Nil(t, certificate.Sample.Group)
	evidence, inclusion := poorAnswer(t, target, certificate)
	require.Less(t, evidence, 5.0)
	require.Less(t, inclusion, 5.0)
}
