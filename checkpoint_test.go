package vti_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
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

	// Stop in the middle, at a step that is no checkpoint; the file then holds that step.
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
