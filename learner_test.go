package vti_test

import (
	"errors"
	"math"
	"path/filepath"
	"testing"

	gocontext "context"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/surrogate"
)

// surrogateFit trains a surrogate q(m) and returns its total variation from the exact posterior.
func surrogateFit(t *testing.T, target *conjugate, cfg vti.Config, belief modeldist.Belief, utility surrogate.Utility) float64 {
	t.Helper()
	models, err := modeldist.NewSurrogate(target.space.Cards(), modeldist.SurrogateConfig{Belief: belief, Utility: utility, Seed: 1})
	require.NoError(t, err)
	cfg.Models = models
	posterior, err := vti.Fit(t.Context(), openDevice(t, gpu.CPU), target, cfg)
	require.NoError(t, err)
	certificate, err := posterior.Certify(t.Context(), vti.CertifyConfig{Draws: 1 << 10})
	require.NoError(t, err)
	_, probability := target.posterior()
	variation := 0.0
	for _, model := range certificate.Models {
		variation += math.Abs(model.Q-probability[space.Encode(target.space.Cards(), model.Code)]) / 2
	}
	return variation
}

// TestSurrogateLearnsTheModels checks that a surrogate q(m) finds the posterior over models, for
// each belief about rewards and each way to explore. The flow is nearly exact, so that rewards have
// little noise; the remaining error comes from the decay of old rewards.
func TestSurrogateLearnsTheModels(t *testing.T) {
	testkit.Slow(t)
	target := newConjugate(40, 4)
	cfg := smallConfig()
	for _, belief := range []modeldist.Belief{modeldist.DiagonalBelief, modeldist.ProcessBelief} {
		for _, utility := range []surrogate.Utility{surrogate.UCB, surrogate.Thompson} {
			require.Less(t, surrogateFit(t, target, cfg, belief, utility), 0.05, "belief %d, %s", belief, utility)
		}
	}
}

// A stopped and resumed fit has the same variables, to the bit, as an uninterrupted fit, since the
// checkpoint contains the state of the surrogate.
func TestSurrogateResumes(t *testing.T) {
	target := newConjugate(30, 3)
	for _, belief := range []modeldist.Belief{modeldist.DiagonalBelief, modeldist.ProcessBelief} {
		fit := func(ctx gocontext.Context, cfg vti.Config) (*vti.Posterior, error) {
			models, err := modeldist.NewSurrogate(target.space.Cards(), modeldist.SurrogateConfig{Belief: belief, Seed: 1})
			require.NoError(t, err)
			cfg.Models = models
			return vti.Fit(ctx, openDevice(t, gpu.CPU), target, cfg)
		}
		cfg := smallConfig()
		cfg.Steps, cfg.LogEvery, cfg.CheckpointEvery = 60, 10, 20
		cfg.Checkpoint = filepath.Join(t.TempDir(), "whole")
		whole, err := fit(t.Context(), cfg)
		require.NoError(t, err)

		cfg.Checkpoint = filepath.Join(t.TempDir(), "parts")
		ctx, cancel := gocontext.WithCancel(t.Context())
		cfg.Progress = func(info vti.Info) {
			if info.Step == 30 {
				cancel()
			}
		}
		_, err = fit(ctx, cfg)
		require.True(t, errors.Is(err, gocontext.Canceled))
		cfg.Progress, cfg.Resume = nil, true
		parts, err := fit(t.Context(), cfg)
		require.NoError(t, err)
		require.Equal(t, whole.VariableValues(), parts.VariableValues())
	}
}

// Every control variate leads to the same q(m).
func TestControlVariatesAgree(t *testing.T) {
	testkit.Slow(t)
	target := newConjugate(40, 4)
	_, probability := target.posterior()
	for _, control := range []vti.ControlVariate{vti.LeaveOneOut, vti.Running, vti.SurrogateMean} {
		cfg := smallConfig()
		cfg.ControlVariate, cfg.Start = control, vti.AnchorStart
		posterior, err := vti.Fit(t.Context(), openDevice(t, gpu.CPU), target, cfg)
		require.NoError(t, err)
		certificate, err := posterior.Certify(t.Context(), vti.CertifyConfig{Draws: 1 << 10})
		require.NoError(t, err)
		variation := 0.0
		for _, model := range certificate.Models {
			variation += math.Abs(model.Q-probability[space.Encode(target.space.Cards(), model.Code)]) / 2
		}
		require.Less(t, variation, 0.1, control.String())
	}
	cfg := smallConfig()
	cfg.ControlVariate = vti.SurrogateMean
	models, err := modeldist.NewAutoregressive(target.space.Cards(), modeldist.AutoregressiveConfig{})
	require.NoError(t, err)
	cfg.Models = models
	_, err = vti.Fit(t.Context(), openDevice(t, gpu.CPU), target, cfg)
	require.ErrorContains(t, err, "want a table for ControlVariate surrogate")
}
