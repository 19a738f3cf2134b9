package vti_test

import (
	"bytes"
	gocontext "context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/space"
)

func openDevice(t testing.TB, kind gpu.Kind) *gpu.Device {
	t.Helper()
	device, err := gpu.Open(kind)
	require.NoError(t, err)
	t.Cleanup(device.Close)
	return device
}

// smallConfig trains in a second or two on either backend.
func smallConfig() vti.Config {
	return vti.Config{Flow: cosmic.Config{Layers: 2, Blocks: 1, Hidden: 16}, Steps: 400, Batch: 256, Seed: 11}
}

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
	var total, totalQ float64
	for _, model := range certificate.Models {
		index := space.Encode(target.space.Cards(), model.Code)
		// 5 standard errors on 16 models: a false alarm in 1e5 runs.
		require.InDelta(t, logEvidence[index], model.LogEvidence, 5*model.LogEvidenceSE+1e-3, "model %v", model.Code)
		require.InDelta(t, probability[index], model.Certified, 5*model.SE+1e-4, "model %v", model.Code)
		require.InDelta(t, probability[index], model.Q, 0.05, "raw q of model %v", model.Code)
		total += model.Certified
		totalQ += model.Q
	}
	require.InDelta(t, 1, total, 1e-9)
	require.InDelta(t, 1, totalQ, 1e-6)
	exactTotal := 0.0
	for index := range logEvidence {
		exactTotal += math.Exp(logEvidence[index]-logEvidence[0]) / float64(len(logEvidence))
	}
	require.InDelta(t, logEvidence[0]+math.Log(exactTotal), certificate.LogEvidence, 5*certificate.LogEvidenceSE+1e-3)
	require.InDelta(t, 1, sum(certificate.Sample.Weight), 1e-9)

	// The weighted sample has the exact mean of the always active coefficient.
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

// The flow starts as the normal approximation of every model, which is exact here: evidences are
// right before any training, while q(m) is still the prior. A flow that starts elsewhere must be
// refused, not believed.
func TestUntrainedPosteriorIsExactOrRefused(t *testing.T) {
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
		// 5 standard errors on 8 models: a false alarm in 2e5 runs. One training step moves the
		// flow by 1e-4, Float32 rounds at 1e-6.
		require.InDelta(t, logEvidence[index], model.LogEvidence, 5*model.LogEvidenceSE+1e-5, "model %v", model.Code)
		require.InDelta(t, probability[index], model.Certified, 5*model.SE+1e-5)
		logQ[index] = math.Log(model.Q)
	}
	// the wide reference costs a tenth
	require.Greater(t, certificate.ESS, 0.85*float64(certificate.Draws))
	for i, code := range certificate.Sample.Codes {
		index := space.Encode(target.space.Cards(), code)
		constant := -3*math.Ln2 + logEvidence[index] - logQ[index]
		require.InDelta(t, constant, certificate.Sample.LogP[i]-certificate.Sample.LogQ[i], 0.05, "draw %d of model %v", i, code)
	}

	cfg.Flow.Precision, cfg.Flow.Linear = make([]float64, 16), make([]float64, 4)
	for j := range 4 { // mean 5, standard deviation 0.05
		cfg.Flow.Precision[5*j], cfg.Flow.Linear[j] = 400, 2000
	}
	posterior, err = vti.Fit(t.Context(), openDevice(t, gpu.CPU), target, cfg)
	require.NoError(t, err)
	certificate, err = posterior.CertifyByWeights(t.Context(), vti.CertifyConfig{Draws: draws})
	require.NoError(t, err)
	require.Equal(t, vti.Failed, certificate.Verdict)
	require.NotEmpty(t, certificate.Reasons)
}

func TestJointCertificateAgreesWithClosedForm(t *testing.T) {
	target := newConjugate(40, 4)
	_, probability := target.posterior()
	posterior, err := vti.Fit(t.Context(), openDevice(t, gpu.CPU), target, smallConfig())
	require.NoError(t, err)
	certificate, err := posterior.Certify(t.Context(), vti.CertifyConfig{MaxModels: 1, Draws: 1 << 15})
	require.NoError(t, err)
	require.False(t, certificate.Complete)
	require.Equal(t, vti.Trusted, certificate.Verdict, certificate.Reasons)
	for _, model := range certificate.Models {
		index := space.Encode(target.space.Cards(), model.Code)
		require.InDelta(t, probability[index], model.Certified, 5*model.SE+1e-3)
	}
	in := func(code []int32) bool { return code[0] == 1 }
	exact := 0.0
	for index, code := range space.All(target.space.Cards()) {
		if in(code) {
			exact += probability[index]
		}
	}
	got, se := certificate.Probability(in)
	require.InDelta(t, exact, got, 5*se+1e-6)
}

func TestSampleAndLogProbAgree(t *testing.T) {
	target := newConjugate(30, 3)
	cfg := smallConfig()
	cfg.Steps, cfg.DType = 60, dtypes.Float64
	posterior, err := vti.Fit(t.Context(), openDevice(t, gpu.CPU), target, cfg)
	require.NoError(t, err)
	codes, theta, logQ, err := posterior.Sample(300, "test")
	require.NoError(t, err)
	require.Len(t, codes, 300)
	again, err := posterior.LogProb(codes, theta)
	require.NoError(t, err)
	require.InDeltaSlice(t, logQ, again, 1e-6)
	for i, code := range codes {
		for j, on := range target.space.MaskRow(code, nil) {
			if !on {
				require.Zero(t, theta.At(i, j))
			}
		}
	}
	// Values of inactive coordinates do not matter.
	changed := mat.DenseCopyOf(theta)
	for i, code := range codes {
		for j, on := range target.space.MaskRow(code, nil) {
			if !on {
				changed.Set(i, j, 3)
			}
		}
	}
	same, err := posterior.LogProb(codes, changed)
	require.NoError(t, err)
	require.Equal(t, again, same)

	_, err = posterior.LogProb(codes[:2], theta)
	require.ErrorContains(t, err, "want 2 (one per code)")
	codes[1][0] = 7
	_, err = posterior.LogProb(codes, theta)
	require.ErrorContains(t, err, "row 1: site 0: got outcome 7, want 0 to 1")
}

func TestResumedRunEndsBitForBitWhereAnUninterruptedOneEnds(t *testing.T) {
	target := newConjugate(30, 3)
	device := openDevice(t, gpu.CPU)
	cfg := smallConfig()
	cfg.Steps, cfg.CheckpointEvery, cfg.LogEvery = 60, 7, 10
	dir := t.TempDir()
	cfg.Checkpoint = filepath.Join(dir, "whole.vti")
	_, err := vti.Fit(t.Context(), device, target, cfg)
	require.NoError(t, err)

	// Stop in the middle, at a step that is no checkpoint; the file then holds that step.
	interrupted := cfg
	interrupted.Checkpoint = filepath.Join(dir, "parts.vti")
	ctx, cancel := gocontext.WithCancel(t.Context())
	interrupted.Progress = func(info vti.Info) {
		if info.Step == 30 {
			cancel()
		}
	}
	posterior, err := vti.Fit(ctx, device, target, interrupted)
	require.ErrorIs(t, err, gocontext.Canceled)
	require.NotNil(t, posterior)
	require.Equal(t, 30, posterior.Steps())
	info, err := vti.ReadCheckpointInfo(interrupted.Checkpoint)
	require.NoError(t, err)
	require.Equal(t, 30, info.Step)

	resumed := cfg
	resumed.Checkpoint, resumed.Resume = interrupted.Checkpoint, true
	posterior, err = vti.Fit(t.Context(), device, target, resumed)
	require.NoError(t, err)
	require.Equal(t, 60, posterior.Steps())
	whole, err := os.ReadFile(cfg.Checkpoint)
	require.NoError(t, err)
	parts, err := os.ReadFile(resumed.Checkpoint)
	require.NoError(t, err)
	require.True(t, bytes.Equal(whole, parts), "the files differ")

	loaded, err := vti.Load(device, target, cfg)
	require.NoError(t, err)
	a, _, _, err := loaded.Sample(10, "x")
	require.NoError(t, err)
	b, _, _, err := posterior.Sample(10, "x")
	require.NoError(t, err)
	require.Equal(t, b, a)
}

func TestDamagedOrForeignCheckpointIsRefused(t *testing.T) {
	target := newConjugate(30, 3)
	device := openDevice(t, gpu.CPU)
	cfg := smallConfig()
	cfg.Steps = 2
	cfg.Checkpoint = filepath.Join(t.TempDir(), "posterior.vti")
	_, err := vti.Fit(t.Context(), device, target, cfg)
	require.NoError(t, err)
	content, err := os.ReadFile(cfg.Checkpoint)
	require.NoError(t, err)

	for name, broken := range map[string][]byte{
		"damaged checkpoint":   append(append([]byte{}, content[:100]...), append([]byte{content[100] ^ 1}, content[101:]...)...),
		"damaged checkpoint: ": content[:len(content)-5],
		"not a vti checkpoint": []byte("something else entirely, long enough to hold a checksum"),
	} {
		require.NoError(t, os.WriteFile(cfg.Checkpoint, broken, 0o644))
		_, err := vti.Load(device, target, cfg)
		require.ErrorContains(t, err, name)
	}
	require.NoError(t, os.WriteFile(cfg.Checkpoint, content, 0o644))
	other := cfg
	other.Seed, other.Batch = 12, 128
	_, err = vti.Load(device, target, other)
	require.ErrorContains(t, err, "written by a different run: batch was 256 and is now 128; ")
	require.ErrorContains(t, err, "seed was 11 and is now 12")
	other.Checkpoint = filepath.Join(t.TempDir(), "absent.vti")
	_, err = vti.Load(device, target, other)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// brokenTarget returns NaN for large coefficients, or panics when asked to.
type brokenTarget struct {
	*conjugate
	panics bool
}

func (b brokenTarget) LogJoint(codes, mask, theta *Node) *Node {
	if b.panics {
		panic("a mistake in a user's target")
	}
	return Log(SubScalar(b.conjugate.LogJoint(codes, mask, theta), 1e9))
}

func TestTrouble(t *testing.T) {
	device := openDevice(t, gpu.CPU)
	_, err := vti.Fit(t.Context(), device, brokenTarget{conjugate: newConjugate(20, 2)}, smallConfig())
	require.ErrorContains(t, err, "log density that is not finite")
	_, err = vti.Fit(t.Context(), device, brokenTarget{newConjugate(20, 2), true}, smallConfig())
	require.ErrorContains(t, err, "a mistake in a user's target")
	_, err = vti.Fit(t.Context(), device, newConjugate(20, 2), vti.Config{Steps: -1})
	require.ErrorContains(t, err, "Steps must not be negative")
	_, err = vti.Fit(t.Context(), device, newConjugate(20, 2), vti.Config{Resume: true})
	require.ErrorContains(t, err, "Resume needs Checkpoint")
}

func sum(values []float64) (total float64) {
	for _, value := range values {
		total += value
	}
	return total
}
