//go:build quality

package vti_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/space"
)

// trainedVariation fits q(m) from the prior and returns its total variation from the exact posterior.
func trainedVariation(t *testing.T, target *conjugate, probability []float64, cfg vti.Config) float64 {
	t.Helper()
	cfg.FromPrior, cfg.Batch = true, 256
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

// TestControlVariates prints how close a table q(m) of 4,096 models, trained from the prior with each control variate, comes to the exact posterior.
//
//	go test -v -tags quality -run TestControlVariates$ .
func TestControlVariates(t *testing.T) {
	target := newConjugate(60, 12)
	_, probability := target.posterior()
	lengths := []int{100, 300, 1000}
	fmt.Println("| control variate | TV after 100 steps | 300 | 1,000 |\n|---|---|---|---|")
	for _, control := range []vti.ControlVariate{vti.LeaveOneOut, vti.Running, vti.SurrogateMean} {
		fmt.Printf("| %s |", control)
		for _, steps := range lengths {
			var mean float64
			for seed := range uint64(3) {
				mean += trainedVariation(t, target, probability, vti.Config{Steps: steps, Seed: seed, ControlVariate: control}) / 3
			}
			fmt.Printf(" %.3f |", mean)
		}
		fmt.Println()
	}
}

// TestInformationGain prints what becomes of q(m) with steps so large that only the control of the information gain (D.2) holds them back.
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
