package vti_test

import (
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
)

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
