package vti_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/space"
)

func TestFitAndCertifyConjugateModel(t *testing.T) {
	target := newConjugate(40, 4)
	logEvidence, probability := target.posterior()
	posterior, err := vti.Fit(t.Context(), openDevice(t, gpu.CPU), target, smallConfig())
	require.NoError(t, err)
	certificate, err := posterior.Certify(t.Context(), vti.CertifyConfig{Draws: 1 << 15})
	require.NoError(t, err)

	require.Equal(t, vti.Trusted, certificate.Verdict, certificate.Reasons)
	require.True(t, certificate.Complete)
	require.Len(t, certificate.Models, len(probability))
	var total, totalQ, certifiedTV, rawTV float64
	for _, model := range certificate.Models {
		index := space.Encode(target.space.Cards(), model.Code)
		// The limit is 5 standard errors for 16 models: one false alarm in 1e5 runs.
		require.InDelta(t, logEvidence[index], model.LogEvidence, 5*model.LogEvidenceSE+1e-3, "model %v", model.Code)
		require.InDelta(t, probability[index], model.Certified, 5*model.SE+1e-4, "model %v", model.Code)
		require.InDelta(t, probability[index], model.Q, 0.05, "raw q of model %v", model.Code)
		total += model.Certified
		totalQ += model.Q
		certifiedTV += math.Abs(model.Certified-probability[index]) / 2
		rawTV += math.Abs(model.Q-probability[index]) / 2
	}
	// For a Gaussian target certified probabilities of models are never worse than q(m). Control
	// variates (the densities of the components of the wider proposal) remove the errors of the
	// evidences if the flow is exact.
	require.LessOrEqual(t, certifiedTV, rawTV+1e-6)
	require.Less(t, certifiedTV, 1e-3)
	require.InDelta(t, 1, total, 1e-9)
	require.InDelta(t, 1, totalQ, 1e-6)
	exactTotal := 0.0
	for index := range logEvidence {
		exactTotal += math.Exp(logEvidence[index]-logEvidence[0]) / float64(len(logEvidence))
	}
	require.InDelta(t, logEvidence[0]+math.Log(exactTotal), certificate.LogEvidence, 5*certificate.LogEvidenceSE+1e-3)
	require.InDelta(t, 1, sum(certificate.Sample.Weight), 1e-9)

	// The weighted sample has the exact mean of the coefficient that is active in every model.
	exactMean := 0.0
	for index, code := range space.All(target.space.Cards()) {
		_, mean, _, _ := target.exact(code)
		exactMean += probability[index] * mean.AtVec(0)
	}
	weightedMean := 0.0
	for i, weight := range certificate.Sample.Weight {
		weightedMean += weight * certificate.Sample.Theta.At(i, 0)
	}
	require.InDelta(t, exactMean, weightedMean, 0.01)
}

// TestUntrainedPosteriorIsExactOrCorrected certifies without training. The target is Gaussian, so
// that a flow that starts as the normal approximation of each posterior is exact, and its evidences
// must be right. The weights of a flow with another start must be corrected or refused.
func TestUntrainedPosteriorIsExactOrCorrected(t *testing.T) {
	const draws = 1 << 14
	target := newConjugate(40, 3)
	logEvidence, probability := target.posterior()
	cfg := smallConfig()
	cfg.Steps = 1
	posterior, err := vti.Fit(t.Context(), openDevice(t, gpu.CPU), target, cfg)
	require.NoError(t, err)
	certificate, err := posterior.Certify(t.Context(), vti.CertifyConfig{Draws: draws})
	require.NoError(t, err)
	require.Equal(t, vti.Trusted, certificate.Verdict, certificate.Reasons)
	require.True(t, certificate.Complete)
	require.Len(t, certificate.Models, len(probability))
	logQ := make([]float64, len(probability))
	for _, model := range certificate.Models {
		index := space.Encode(target.space.Cards(), model.Code)
		// The limit is 5 standard errors for 8 models: one false alarm in 2e5 runs. One training
		// step moves the flow by 1e-4, and Float32 rounds at 1e-6.
		require.InDelta(t, logEvidence[index], model.LogEvidence, 5*model.LogEvidenceSE+1e-5, "model %v", model.Code)
		require.InDelta(t, probability[index], model.Certified, 5*model.SE+1e-5)
		logQ[index] = math.Log(model.Q)
	}
	// the wider proposal costs a sixth of the draws
	require.Greater(t, certificate.ESS, 0.8*float64(certificate.Draws))
	for i, code := range certificate.Sample.Codes {
		index := space.Encode(target.space.Cards(), code)
		constant := -3*math.Ln2 + logEvidence[index] - logQ[index]
		require.InDelta(t, constant, certificate.Sample.LogP[i]-certificate.Sample.LogQ[i], 0.2, "draw %d of model %v", i, code) // the flow is off by 1e-4 z², where z is large in the tails
	}

	cfg.Flow.Precision, cfg.Flow.Linear = make([]float64, 16), make([]float64, 4)
	for j := range 4 { // the posterior of each coordinate has mean 5 and standard deviation 0.05
		cfg.Flow.Precision[5*j], cfg.Flow.Linear[j] = 400, 2000
	}
	posterior, err = vti.Fit(t.Context(), openDevice(t, gpu.CPU), target, cfg)
	require.NoError(t, err)
	certificate, err = posterior.CertifyByWeights(t.Context(), vti.CertifyConfig{Draws: draws})
	require.NoError(t, err)
	// Since the flow is off by a hundred standard deviations, only the Laplace proposals reach the
	// posterior.
	require.Equal(t, vti.Trusted, certificate.Verdict, certificate.Reasons)
	for _, model := range certificate.Models {
		index := space.Encode(target.space.Cards(), model.Code)
		require.InDelta(t, logEvidence[index], model.LogEvidence, 5*model.LogEvidenceSE+1e-5, "model %v", model.Code)
	}
	certificate, err = posterior.CertifyJointlyByWeights(t.Context(), vti.CertifyConfig{Draws: draws})
	require.NoError(t, err)
	require.Equal(t, vti.Failed, certificate.Verdict, "joint weights have no proposals")
	require.NotEmpty(t, certificate.Reasons)
}
