package vti_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/checkpoint"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/modeldist"
)

func TestResumedRunEndsBitForBitWhereAnUninterruptedOneEnds(t *testing.T) {
	target := newConjugate(30, 3)
	device := openDevice(t, gpu.CPU)
	cfg := smallConfig()
	cfg.Steps, cfg.CheckpointEvery, cfg.LogEvery = 60, 7, 10
	dir := t.TempDir()
	cfg.Checkpoint = filepath.Join(dir, "whole.vti")
	_, err := vti.Fit(t.Context(), device, target, cfg)
	require.NoError(t, err)

	// The run stops at a step without a regular checkpoint; the file then holds this step.
	interrupted := cfg
	interrupted.Checkpoint = filepath.Join(dir, "parts.vti")
	ctx, cancel := context.WithCancel(t.Context())
	interrupted.Progress = func(info vti.Info) {
		if info.Step == 30 {
			cancel()
		}
	}
	posterior, err := vti.Fit(ctx, device, target, interrupted)
	require.ErrorIs(t, err, context.Canceled)
	require.NotNil(t, posterior)
	require.Equal(t, 30, posterior.Steps())
	info, err := checkpoint.ReadInfo(interrupted.Checkpoint)
	require.NoError(t, err)
	require.Equal(t, 30, info.Step)

	resumed := cfg
	resumed.Checkpoint, resumed.Resume = interrupted.Checkpoint, true
	posterior, err = vti.Fit(t.Context(), device, target, resumed)
	require.NoError(t, err)
	require.Equal(t, 60, posterior.Steps())
	requireSameFile(t, cfg.Checkpoint, resumed.Checkpoint)

	loaded, err := vti.Load(device, target, cfg)
	require.NoError(t, err)
	a, _, _, err := loaded.Sample(10, "x")
	require.NoError(t, err)
	b, _, _, err := posterior.Sample(10, "x")
	require.NoError(t, err)
	require.Equal(t, b, a)
}

// TestCheckpointsByTime kills a run between two checkpoints that are due by the number of steps
// (CheckpointEvery). The run must resume from the last checkpoint that was due by time. Neither the
// interruption nor the number of checkpoints may change a bit of the result, for a table q(m), a
// network, and a q(m) that learns by its own rule.
func TestCheckpointsByTime(t *testing.T) {
	testkit.Slow(t)
	target := newConjugate(20, 3)
	all := trainedModels(t, target)
	surrogate, err := modeldist.NewSurrogate(target.space.Cards(), modeldist.SurrogateConfig{Belief: modeldist.DiagonalBelief})
	require.NoError(t, err)
	all["surrogate"] = surrogate
	for name, models := range all {
		t.Run(name, func(t *testing.T) {
			if name == "network" {
				testkit.Long(t)
			}
			device := openDevice(t, gpu.CPU)
			cfg := smallConfig()
			cfg.Models, cfg.Steps, cfg.Batch, cfg.LogEvery, cfg.CheckpointInterval = models, 40, 64, 1, -1
			whole := filepath.Join(t.TempDir(), "whole.vti")
			cfg.Checkpoint = whole
			_, err := vti.Fit(t.Context(), device, target, cfg)
			require.NoError(t, err)

			killed := filepath.Join(t.TempDir(), "killed.vti")
			byTime := cfg
			byTime.Checkpoint, byTime.CheckpointInterval = filepath.Join(t.TempDir(), "by time.vti"), time.Microsecond
			byTime.Progress = func(info vti.Info) {
				content, err := os.ReadFile(byTime.Checkpoint)
				// a killed run leaves only this file
				if info.Step == 30 && err == nil {
					require.NoError(t, os.WriteFile(killed, content, 0o644))
				}
			}
			_, err = vti.Fit(t.Context(), device, target, byTime)
			require.NoError(t, err)
			requireSameFile(t, whole, byTime.Checkpoint)

			info, err := checkpoint.ReadInfo(killed)
			require.NoError(t, err)
			require.Positive(t, info.Step)
			require.Less(t, info.Step, 30)
			resumed := cfg
			resumed.Checkpoint, resumed.Resume = killed, true
			_, err = vti.Fit(t.Context(), device, target, resumed)
			require.NoError(t, err)
			requireSameFile(t, whole, killed)
		})
	}
}

func requireSameFile(t *testing.T, want, got string) {
	t.Helper()
	a, err := os.ReadFile(want)
	require.NoError(t, err)
	b, err := os.ReadFile(got)
	require.NoError(t, err)
	require.True(t, bytes.Equal(a, b), "%s and %s differ", want, got)
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
