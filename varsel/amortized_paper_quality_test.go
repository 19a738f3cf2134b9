//go:build quality

package varsel

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/amortize"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/likelihood"
)

// A hardly trained network (one step at a rate of 1e-9) answers for the robust selection problem of
// the VTI paper. The total variation from reference probabilities (sequential Monte Carlo, with an
// error of about 0.010) must be below 0.10 for the network's q(m), and below 0.02 for the certified
// answer.
//
//	go test -tags quality -v -run ThePaperProblem ./varsel
func TestQualityOfNetworkOnThePaperProblem(t *testing.T) {
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	f, err := NewFamily(FamilyConfig{Model: ModelOptions{Likelihood: likelihood.RobustKind, Prior: Prior{Kind: UniformPrior}}, Predictors: Range{2, 8}})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "network")
	_, err = amortize.Fit(t.Context(), device, f, amortize.Config{Steps: 1, Batch: 4, LearningRate: 1e-9, Checkpoint: path, Seed: 1})
	require.NoError(t, err)
	for _, misspecified := range []string{"high", "mid"} {
		oracle := softmax(readEvidences(t, "../testdata/robust_vs/"+misspecified+"_1000_logz.csv"))
		result, err := Run(t.Context(), device, paperProblem(t, misspecified), RunConfig{From: path, FromOnly: true, Precision: 0.002, Fit: vti.Config{Seed: 1}})
		require.NoError(t, err)
		require.Equal(t, vti.Trusted, result.Certificate.Verdict, result.Certificate.Reasons)
		var certified, raw float64
		for _, model := range result.Models {
			certified += math.Abs(float64(model.Certified)-oracle[model.Code]) / 2
			raw += math.Abs(float64(*model.Q)-oracle[model.Code]) / 2
		}
		t.Logf("%s: total variation %.4f raw, %.4f certified", misspecified, raw, certified)
		require.Less(t, certified, 0.02)
		require.Less(t, raw, 0.10)
	}
}
