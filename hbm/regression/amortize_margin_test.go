package regression

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm"
)

// A family that is hardly trained, whose draws are far from the posterior, is a start all the same:
// weights of hyperparameters with all effects integrated out, from a proposal refined from those
// draws, have the evidence of the integral, and are trusted. A table with a gross outlier is unlike
// all that were simulated, and is not trusted.
func TestInferFromHardlyTrained(t *testing.T) {
	opt := FrameOptions{Formula: "y ~ x + (x | g)"}
	trained := newRegression(t, frameOf(t, heights(1, 6, 4), opt), Options{})
	cfg := FamilyRun{Fit: hbm.Config{Family: hbm.PAVIE, Amortize: 8, Steps: 30}, Dir: t.TempDir()}
	_, err := trained.RunFamily(t.Context(), open(t, gpu.CPU), cfg)
	require.NoError(t, err)
	infer := InferRun{Model: cfg.Dir, Shape: trained.Shape()}

	content := heights(5, 9, 5)
	f := frameOf(t, content, opt)
	want, _ := runRegression(t, f, Options{}, vti.Config{Seed: 2})
	got, err := newRegression(t, f, Options{}).Infer(t.Context(), open(t, gpu.CPU), infer)
	require.NoError(t, err)
	require.Equal(t, vti.Trusted, got.Certificate.Verdict, got.Certificate.Reasons)
	require.InDelta(t, float64(*want.LogEvidence), float64(*got.LogEvidence), 5*math.Hypot(float64(*want.LogEvidenceSE), float64(*got.LogEvidenceSE)))
	require.Less(t, float64(*got.LogEvidenceSE), 0.01)
	for i, sd := range want.SDs {
		require.InDelta(t, 1, float64(got.SDs[i].SD/sd.SD), 0.1, sd.Name)
	}

	outlier, err := newRegression(t, frameOf(t, content+"90,0,g1\n", opt), Options{}).Infer(t.Context(), open(t, gpu.CPU), infer)
	require.NoError(t, err)
	require.NotEqual(t, vti.Trusted, outlier.Certificate.Verdict)
	require.Contains(t, outlier.Certificate.Reasons[len(outlier.Certificate.Reasons)-1], "unlike those that were simulated")
}
