package vti_test

import (
	"bytes"
	gocontext "context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/checkpoint"
	"github.com/transdim/vti/lab/testkit"
)

var errLost = errors.New("INTERNAL: CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure")

// dyingDevice returns a device that is lost for good at a launch. launch is the number of this
// launch, from 1, among launches of computations for whose names counts returns true.
func dyingDevice(t testing.TB, launch int, counts func(name string) bool) *gpu.Device {
	device, watched := watch(t)
	seen := 0
	watched.BeforeLaunch = func(name string) error {
		if counts(name) {
			seen++
		}
		if seen >= launch {
			return errLost
		}
		return nil
	}
	return device
}

// TestLostDeviceLeavesTheLastCheckpoint loses the device in training or in a pilot run. The
// checkpoint must stay, and a run resumed on another device must end with the bits of an
// uninterrupted run.
func TestLostDeviceLeavesTheLastCheckpoint(t *testing.T) {
	testkit.Slow(t)
	target := newConjugate(20, 3)
	looks := func(name string) bool { return !testkit.IsTraining(name) }
	for name, models := range trainedModels(t, target) {
		cfg := smallConfig()
		// a pilot run begins after step 24
		cfg.Models, cfg.Steps, cfg.Batch, cfg.CheckpointEvery, cfg.CheckpointInterval, cfg.LogEvery, cfg.Tempering = models, 40, 64, 10, -1, 1000, 0.6
		dir := t.TempDir()
		cfg.Checkpoint = filepath.Join(dir, "whole.vti")
		device, watched := watch(t)
		before, training := 0, 0
		watched.BeforeLaunch = func(name string) error {
			if testkit.IsTraining(name) {
				training++
			} else if training < 24 {
				before++ // this launch belongs to the start, not to the pilot run
			}
			return nil
		}
		_, err := vti.Fit(t.Context(), device, target, cfg)
		require.NoError(t, err)
		whole, err := os.ReadFile(cfg.Checkpoint)
		require.NoError(t, err)

		for _, lost := range []struct {
			name   string
			launch int
			counts func(string) bool
			step   int // the step in the remaining checkpoint
		}{
			{"in training", 17, testkit.IsTraining, 10},
			{"at the step of a checkpoint", 20, testkit.IsTraining, 10},
			{"in the look", before + 3, looks, 24},
			{"after the look", 27, testkit.IsTraining, 24},
		} {
			t.Run(name+" "+lost.name, func(t *testing.T) {
				if name == "network" && lost.name != "in training" || lost.name == "after the look" {
					testkit.Long(t)
				}
				broken := cfg
				broken.Checkpoint = filepath.Join(t.TempDir(), "broken.vti")
				_, err := vti.Fit(t.Context(), dyingDevice(t, lost.launch, lost.counts), target, broken)
				require.ErrorIs(t, err, errLost)
				info, err := checkpoint.ReadInfo(broken.Checkpoint)
				require.NoError(t, err)
				require.Equal(t, lost.step, info.Step)
				broken.Resume = true
				_, err = vti.Fit(t.Context(), openDevice(t, gpu.CPU), target, broken)
				require.NoError(t, err)
				resumed, err := os.ReadFile(broken.Checkpoint)
				require.NoError(t, err)
				require.True(t, bytes.Equal(whole, resumed), "the files differ")
			})
		}

		// An interruption (Ctrl-C) during the pilot run does not change the result either.
		t.Run(name+" stopped in the look", func(t *testing.T) {
			if name == "network" {
				testkit.Long(t)
			}
			stopped := cfg
			stopped.Checkpoint = filepath.Join(t.TempDir(), "stopped.vti")
			ctx, cancel := gocontext.WithCancel(t.Context())
			device, watched := watch(t)
			others := 0
			watched.BeforeLaunch = func(name string) error {
				if looks(name) {
					if others++; others == before+3 {
						cancel()
					}
				}
				return nil
			}
			_, err := vti.Fit(ctx, device, target, stopped)
			require.ErrorIs(t, err, gocontext.Canceled)
			stopped.Resume = true
			_, err = vti.Fit(t.Context(), openDevice(t, gpu.CPU), target, stopped)
			require.NoError(t, err)
			resumed, err := os.ReadFile(stopped.Checkpoint)
			require.NoError(t, err)
			require.True(t, bytes.Equal(whole, resumed), "the files differ")
		})
	}
}

// If a batch is too large, the error names a size of batch that fits.
func TestOutOfMemoryNamesABatch(t *testing.T) {
	device, watched := watch(t)
	failure := &gpu.Failure{Device: "xla:cuda", OutOfMemory: true, Asked: 8 << 30, Memory: 4 << 30, Err: errors.New("RESOURCE_EXHAUSTED")}
	watched.BeforeLaunch = func(name string) error {
		if testkit.IsTraining(name) {
			return failure
		}
		return nil
	}
	_, err := vti.Fit(t.Context(), device, newConjugate(20, 3), smallConfig())
	require.ErrorIs(t, err, failure)
	require.ErrorContains(t, err, "training step 1: ")
	require.ErrorContains(t, err, "out of memory asking for 8 GiB, the card has 4 GiB")
	require.ErrorContains(t, err, "a batch of 256 draws is too large for the memory there is; one of 64 should fit")
}
