//go:build quality

package vti_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/space"
)

// trainedVariation fits q(m), starting at the prior, and returns its total variation distance from
// the exact posterior.
func trainedVariation(t *testing.T, target *conjugate, probability []float64, cfg vti.Config) float64 {
	t.Helper()
	cfg.Start, cfg.Batch = vti.AnchorStart, 256
	posterior, err := vti.Fit(t.Context(), openDevice(t, gpu.CPU), target, cfg)
	require.NoError(t, err)
	certificate, err := posterior.Certify(t.Context(), vti.CertifyConfig{Draws: 1})
	require.NoError(t, err)
	variation := 0.0
	for _, model := range certificate.Models {
		variation += math.Abs(model.Q-probability[space.Encode(target.space.Cards(), model.Code)]) / 2
	}
	return variation
}

// TestControlVariates prints the effect of each control variate on a table q(m) of 4,096 models
// trained from the prior: the distance from the exact posterior after given numbers of steps, and
// the number of steps until given distances.
//
//	go test -v -tags quality -run TestControlVariates$ .
func TestControlVariates(t *testing.T) {
	target := newConjugate(60, 12)
	_, probability := target.posterior()
	fmt.Println("| control variate | TV after 100 steps | 300 | 1,000 | steps to TV 0.5, of 3,000 | 0.2 | 0.1 |\n|---|---|---|---|---|---|---|")
	for _, control := range []vti.ControlVariate{vti.LeaveOneOut, vti.Running, vti.SurrogateMean} {
		fmt.Printf("| %s |", control)
		for _, steps := range []int{100, 300, 1000} {
			var mean float64
			for seed := range uint64(3) {
				mean += trainedVariation(t, target, probability, vti.Config{Steps: steps, Seed: seed, ControlVariate: control}) / 3
			}
			fmt.Printf(" %.3f |", mean)
		}
		levels := []float64{0.5, 0.2, 0.1}
		needed := make([]float64, len(levels))
		for seed := range uint64(3) {
			for i, steps := range stepsToVariation(t, target, probability, levels, vti.Config{Steps: 3000, Seed: seed, ControlVariate: control}) {
				needed[i] += float64(steps) / 3
			}
		}
		for _, steps := range needed {
			fmt.Printf(" %.0f |", steps)
		}
		fmt.Println()
	}
}

// stepsToVariation returns, for each of the levels, the first multiple of 20 steps at which the
// total variation distance of q(m), trained from the prior, from the exact posterior is at most the
// level. It returns the total number of steps if the distance is never this small.
func stepsToVariation(t *testing.T, target *conjugate, probability, levels []float64, cfg vti.Config) []int {
	t.Helper()
	cfg.Start, cfg.Batch, cfg.Checkpoint, cfg.CheckpointEvery, cfg.LogEvery = vti.AnchorStart, 256, filepath.Join(t.TempDir(), "state"), 20, 20
	device := openDevice(t, gpu.CPU)
	needed := slices.Repeat([]int{cfg.Steps}, len(levels))
	looked := cfg
	cfg.Progress = func(info vti.Info) {
		if info.Step < 40 {
			return // nothing is stored yet
		}
		posterior, err := vti.Load(device, target, looked) // opens the latest checkpoint
		require.NoError(t, err)
		logits := posterior.VariableValues()["/models/categorical/logits"].([]float64)
		total, variation := floats.LogSumExp(logits), 0.0
		for m, logit := range logits {
			variation += math.Abs(math.Exp(logit-total)-probability[m]) / 2
		}
		for i, level := range levels {
			if variation <= level {
				needed[i] = min(needed[i], posterior.Steps())
			}
		}
	}
	_, err := vti.Fit(t.Context(), device, target, cfg)
	require.NoError(t, err)
	return needed
}

// TestScoreVariance prints, for each control variate, the variance of the gradient from a batch,
// summed over the logits of a table q(m) of 4,096 models, at several stages of one training from
// the prior. All control variates are compared on the same flow, q(m) and draws.
//
//	go test -v -tags quality -run TestScoreVariance$ .
func TestScoreVariance(t *testing.T) {
	target := newConjugate(60, 12)
	device := openDevice(t, gpu.CPU)
	fmt.Println("| steps so far | none | leave-one-out | mean | surrogate |\n|---|---|---|---|---|")
	cfg := vti.Config{
		Steps: 3000, Batch: 256, Start: vti.AnchorStart, ControlVariate: vti.SurrogateMean, Checkpoint: filepath.Join(t.TempDir(), "state"), CheckpointEvery: 10, LogEvery: 10,
	}
	for _, stop := range []int{10, 100, 300, 1000, 2000} {
		ctx, cancel := context.WithCancel(t.Context())
		cfg.Progress = func(info vti.Info) {
			if info.Step == stop {
				cancel()
			}
		}
		posterior, err := vti.Fit(ctx, device, target, cfg)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, stop, posterior.Steps())
		cfg.Resume = true
		fmt.Printf("| %d |", stop)
		for _, control := range []vti.ControlVariate{vti.NoControl, vti.LeaveOneOut, vti.Running, vti.SurrogateMean} {
			variance, err := vti.ScoreVariance(device, target, cfg, control, 400, 50)
			require.NoError(t, err)
			fmt.Printf(" %.3g |", variance)
		}
		fmt.Println()
	}
}

// TestInformationGain prints how q(m) develops with steps so large that only the limit on the
// information gain (the VTI paper, appendix D.2) restricts them.
//
//	go test -v -tags quality -run TestInformationGain$ .
func TestInformationGain(t *testing.T) {
	target := newConjugate(60, 8)
	_, probability := target.posterior()
	fmt.Println("| control | step on q(m) | collapsed (TV above 0.5) | mean TV |\n|---|---|---|---|")
	for _, step := range []float64{0.1, 3, 30} {
		for _, epsilon := range []float64{0.01, math.Inf(1)} {
			collapsed, mean := 0, 0.0
			for seed := range uint64(10) {
				variation := trainedVariation(t, target, probability, vti.Config{Steps: 300, Seed: seed, ModelStep: step, InformationGain: epsilon})
				if mean += variation / 10; variation > 0.5 {
					collapsed++
				}
			}
			name := "on"
			if math.IsInf(epsilon, 1) {
				name = "off"
			}
			fmt.Printf("| %s | %g | %d of 10 | %.3f |\n", name, step, collapsed, mean)
		}
	}
}

// TestMemoryOverAMillionSteps prints the heap after 10,000 and after a million steps of training.
//
//	go test -v -tags quality -run TestMemoryOverAMillionSteps$ .
func TestMemoryOverAMillionSteps(t *testing.T) { testFlatMemory(t, 1_000_000) }
