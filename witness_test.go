package vti_test

import (
	"math"
	"testing"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/lab/testkit"
)

// copied is a conjugate model to whose posterior a copy with a share of the mass is added, at a
// distant value of the intercept. The evidences are unchanged. No draw of a flow at the larger mode
// reaches the copy.
type copied struct {
	*conjugate
	apart, share float64
}

const copyShare = 0.1

// Unimodal returns false, since there are two modes.
func (copied) Unimodal() bool { return false }

// deceived is a copied target that wrongly claims to have one mode.
type deceived struct{ copied }

func (deceived) Unimodal() bool { return true }

func (m copied) LogJoint(codes, mask, theta *Node) *Node {
	dim := theta.Shape().Dim(1)
	intercept := AddScalar(SliceAxis(theta, 1, AxisElem(0)), -m.apart)
	moved := Concatenate([]*Node{intercept, SliceAxis(theta, 1, AxisRange(1, dim))}, 1)
	return LogAddExp(AddScalar(m.conjugate.LogJoint(codes, mask, theta), math.Log1p(-m.share)),
		AddScalar(m.conjugate.LogJoint(codes, mask, moved), math.Log(m.share)))
}

// logEvidence returns the log evidence of all models together.
func (c *conjugate) logEvidence() float64 {
	evidences, _ := c.posterior()
	return logsum.Of(evidences) - math.Log(float64(len(evidences)))
}

// TestChainsShowWhatWeightsHaveMissed certifies a posterior with two modes by weights that have
// missed one. If the target claims to have one mode, chains do not run, and the wrong answer is
// trusted. Otherwise chains, short or long, must reveal the mode.
func TestChainsShowWhatWeightsHaveMissed(t *testing.T) {
	testkit.Slow(t)
	target := copied{newConjugate(30, 2), 6, copyShare}
	cfg := vti.SolveConfig{Fit: vti.Config{Seed: 3}}
	alone, err := vti.Solve(t.Context(), openDevice(t, gpu.CPU), deceived{target}, cfg)
	require.NoError(t, err)
	require.Equal(t, vti.Trusted, alone.Certificate.Verdict, "the trap is one")
	require.InDelta(t, target.logEvidence()+math.Log1p(-copyShare), alone.Certificate.LogEvidence, 0.01)

	for name, short := range map[string]bool{"short": true, "long": false} { // short chains reveal the mode too
		t.Run(name, func(t *testing.T) {
			if !short {
				testkit.Long(t)
			}
			cfg.Certify.Short = short
			both, err := vti.Solve(t.Context(), openDevice(t, gpu.CPU), target, cfg)
			require.NoError(t, err)
			c := both.Certificate
			require.Equal(t, vti.Trusted, c.Verdict, c.Reasons)
			require.Equal(t, vti.Weights, c.Basis)
			require.True(t, c.Confirmed)
			// five standard errors: a false alarm in 1.7 million comparisons
			require.InDelta(t, target.logEvidence(), c.LogEvidence, 5*c.LogEvidenceSE)
			require.Less(t, c.LogEvidenceSE, 0.02)
			inCopy := 0.0
			for i, weight := range c.Sample.Weight {
				if c.Sample.Theta.At(i, 0) > target.apart/2 {
					inCopy += weight
				}
			}
			require.InDelta(t, copyShare, inCopy, 0.01)
		})
	}
}

// TestChainsShowMomentsThatWeightsMiss certifies a posterior with a second mode of so little mass
// that its absence changes no probability, but so far away that it makes most of a variance.
func TestChainsShowMomentsThatWeightsMiss(t *testing.T) {
	testkit.Slow(t)
	target := copied{newConjugate(30, 2), 8, verdict.DoubtfulMissed / 2}
	posterior, err := vti.Fit(t.Context(), openDevice(t, gpu.CPU), target, vti.Config{Seed: 3, Steps: 1})
	require.NoError(t, err)
	c, err := posterior.Certify(t.Context(), vti.CertifyConfig{Draws: 1 << 15, Confirm: true})
	require.NoError(t, err)
	require.Equal(t, vti.Trusted, c.Verdict, c.Reasons)
	inCopy := 0.0
	for i, weight := range c.Sample.Weight {
		if c.Sample.Theta.At(i, 0) > target.apart/2 {
			inCopy += weight
		}
	}
	require.InDelta(t, target.share, inCopy, target.share/4)
}

// A mode that short chains found stays in the answer although longer chains miss it.
func TestWhatShortChainsFindStaysFound(t *testing.T) {
	target := copied{newConjugate(30, 2), 6, copyShare}
	cfg := vti.SolveConfig{Fit: vti.Config{Seed: 2}, Untrained: true}
	cfg.Certify.Short = true
	answer, err := vti.Solve(t.Context(), openDevice(t, gpu.CPU), target, cfg)
	require.NoError(t, err)
	c := answer.Certificate
	// five standard errors: a false alarm in 1.7 million comparisons
	require.InDelta(t, target.logEvidence(), c.LogEvidence, 5*c.LogEvidenceSE)
	require.Less(t, c.LogEvidenceSE, 0.02)
}

// TestWitnessesShowALostMode certifies with a witness at a mode where the flow proposes nothing. If
// models are weighted one by one, an additional proposal must cover the mode. If models and
// parameters are weighted jointly, with proposals of the flow only, the certificate must be
// doubtful.
func TestWitnessesShowALostMode(t *testing.T) {
	target := copied{newConjugate(30, 2), 6, copyShare}
	posterior, err := vti.Fit(t.Context(), openDevice(t, gpu.CPU), target, vti.Config{Seed: 3, Steps: 1})
	require.NoError(t, err)
	code := []int32{1, 0}
	_, mean, _, _ := target.exact(code)
	theta := []float64{mean.AtVec(0) + target.apart, mean.AtVec(1), 0}
	truth := target.logEvidence()
	none := vti.CertifyConfig{Draws: 1 << 15}
	told := none.WithWitness(code, theta, truth+math.Log(copyShare))

	blind, err := posterior.CertifyByWeights(t.Context(), none)
	require.NoError(t, err)
	require.Equal(t, vti.Trusted, blind.Verdict, "the trap is one")
	require.Less(t, blind.LogEvidence, truth-0.09)
	seeing, err := posterior.CertifyByWeights(t.Context(), told)
	require.NoError(t, err)
	for _, model := range seeing.Models {
		want, _, _, _ := target.exact(model.Code)
		if model.Code[0] == 1 && model.Code[1] == 0 {
			require.InDelta(t, want, model.LogEvidence, 5*model.LogEvidenceSE)
		} else { // no witness is at the mode
			require.InDelta(t, want+math.Log1p(-copyShare), model.LogEvidence, 5*model.LogEvidenceSE+1e-3)
		}
	}

	joint, err := posterior.CertifyJointlyByWeights(t.Context(), none)
	require.NoError(t, err)
	require.Equal(t, vti.Trusted, joint.Verdict, joint.Reasons)
	joint, err = posterior.CertifyJointlyByWeights(t.Context(), told)
	require.NoError(t, err)
	require.Equal(t, vti.Doubtful, joint.Verdict)
	require.Contains(t, joint.Reasons[0], "earlier draws found 0.1")
}
