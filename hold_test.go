package vti_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/lab/testkit"
)

// firstChange returns the number of steps until the entropy of q(m), averaged over ten steps,
// differs from the entropy of the prior.
func firstChange(t *testing.T, cfg vti.Config) int {
	t.Helper()
	target := newConjugate(40, 4)
	changed, before := 0, 0.0
	cfg.LogEvery = 10
	cfg.Progress = func(info vti.Info) {
		if info.Step == 1 {
			before = info.Entropy
		} else if changed == 0 && math.Abs(info.Entropy-before) > 1e-9 {
			changed = info.Step
		}
	}
	_, err := vti.Fit(t.Context(), openDevice(t, gpu.CPU), target, cfg)
	require.NoError(t, err)
	return changed
}

// TestModelsWaitForTheFlow checks the step at which q(m) starts to change. If the flow starts as
// the identity, q(m) must stay at the prior until the flow has settled, but at most for half of the
// steps. If the flow starts from a normal approximation, or with LearnAtOnce, q(m) must change at
// once. The number of steps in a launch must not matter.
func TestModelsWaitForTheFlow(t *testing.T) {
	testkit.Slow(t)
	cfg := smallConfig()
	cfg.Steps, cfg.Start = 400, vti.IdentityStart
	waits := firstChange(t, cfg)
	require.Greater(t, waits, 128, "the first comparison of halves")
	require.LessOrEqual(t, waits, 210)
	cfg.StepsPerLaunch = 5
	require.Equal(t, waits, firstChange(t, cfg))
	cfg.Steps = 100
	require.Equal(t, 60, firstChange(t, cfg), "after half of the steps")
	cfg.LearnAtOnce = true
	require.Equal(t, 10, firstChange(t, cfg))
	cfg.LearnAtOnce, cfg.Start = false, vti.AnchorStart
	require.Equal(t, 10, firstChange(t, cfg))
}
