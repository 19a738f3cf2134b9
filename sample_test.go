package vti_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/space"
)

// exactMoments returns the posterior mean and variance of every coefficient over all models, where
// the coefficient is zero in models that exclude it.
func (c *conjugate) exactMoments() (mean, variance []float64) {
	_, probability := c.posterior()
	dim := c.space.Dim()
	mean, second := make([]float64, dim), make([]float64, dim)
	for index, code := range space.All(c.space.Cards()) {
		_, modelMean, covariance, active := c.exact(code)
		for a, j := range active {
			m := modelMean.AtVec(a)
			mean[j] += probability[index] * m
			second[j] += probability[index] * (covariance.At(a, a) + m*m)
		}
	}
	for j, m := range mean {
		variance = append(variance, second[j]-m*m)
	}
	return mean, variance
}

// requireExactMoments compares means over the weighted sample with closed forms. The limit is 5
// standard errors of a self-normalised mean. About twenty checks, which share most of their draws,
// give one false alarm in 1e5 runs.
func requireExactMoments(t *testing.T, target *conjugate, sample vti.WeightedSample) {
	t.Helper()
	mean, variance := target.exactMoments()
	n, dim := sample.Theta.Dims()
	require.Len(t, sample.Weight, n)
	require.InDelta(t, 1, sum(sample.Weight), 1e-9)
	for j := range dim {
		values, squares := make([]float64, n), make([]float64, n)
		for i := range n {
			values[i] = sample.Theta.At(i, j)
			squares[i] = (values[i] - mean[j]) * (values[i] - mean[j])
		}
		for k, check := range []struct {
			values []float64
			want   float64
		}{{values, mean[j]}, {squares, variance[j]}} {
			got := stat.Mean(check.values, sample.Weight)
			var se float64
			for i, weight := range sample.Weight {
				se += weight * weight * (check.values[i] - got) * (check.values[i] - got)
			}
			require.InDelta(t, check.want, got, 5*math.Sqrt(se), "central moment %d of coefficient %d", k+1, j)
		}
	}
}

// TestSampleOfADiffusePosterior certifies a posterior with 256 models, none of which has a
// probability of 0.1. There are only 512 draws in addition to the first draws of every model. The
// weighted sample must still have the certified inclusion probabilities and the exact moments.
func TestSampleOfADiffusePosterior(t *testing.T) {
	target := newConjugate(8, 8)
	posterior := poorPosterior(t, target, 1, 0)
	certificate, err := posterior.Certify(t.Context(), vti.CertifyConfig{Draws: 512, Tolerance: 1e-9})
	require.NoError(t, err)
	require.Less(t, certificate.Models[0].Certified, 0.1, "the posterior is spread")
	for s := range target.space.Cards() {
		in := func(code []int32) bool { return code[s] == 1 }
		probability, _ := certificate.Probability(in)
		var share float64
		for i, code := range certificate.Sample.Codes {
			if in(code) {
				share += certificate.Sample.Weight[i]
			}
		}
		require.InDelta(t, probability, share, 1e-9, "predictor %d", s)
	}
	requireExactMoments(t, target, certificate.Sample)
}

// TestSampleOfChains checks that, if the flow is so narrow that weights fail, the weighted sample
// comes from chains and has the exact moments.
func TestSampleOfChains(t *testing.T) {
	testkit.Long(t)
	target := newConjugate(30, 2)
	posterior := poorPosterior(t, target, 3, 3)
	certificate, err := posterior.Certify(t.Context(), vti.CertifyConfig{Draws: 1 << 15, MaxModels: 1})
	require.NoError(t, err)
	require.NotNil(t, certificate.Sample.Group, "weights should not have been good enough")
	require.Equal(t, vti.Doubtful, certificate.Verdict, "chains alone do not earn trust")
	requireExactMoments(t, target, certificate.Sample)
}

// TestProposalsReplaceAPoorFlow checks that evidences are right if the flow is far too narrow and
// off by several standard deviations, but every model has a Laplace proposal (t distributions at
// modes). Eight evidences are compared to 4.5 standard errors: one false alarm in 18,000 runs.
func TestProposalsReplaceAPoorFlow(t *testing.T) {
	target := newConjugate(30, 3)
	logEvidence, probability := target.posterior()
	posterior := poorPosterior(t, target, 4, 4)
	certificate, err := posterior.CertifyByWeights(t.Context(), vti.CertifyConfig{Draws: 1 << 14})
	require.NoError(t, err)
	require.Equal(t, vti.Trusted, certificate.Verdict, certificate.Reasons)
	for _, model := range certificate.Models {
		index := 0
		for i, code := range space.All(target.space.Cards()) {
			if slices.Equal(code, model.Code) {
				index = i
			}
		}
		require.InDelta(t, logEvidence[index], model.LogEvidence, 4.5*model.LogEvidenceSE)
		require.InDelta(t, probability[index], model.Certified, 4.5*model.SE+1e-4)
	}
	requireExactMoments(t, target, certificate.Sample)
}
