package varsel

import (
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/table"
)

// paperDesign is the design of section 5.1 of the VTI paper: the table has a column of ones, and
// nothing is standardised.
var paperDesign = DesignOptions{Target: "y", NoStandardize: true, NoIntercept: true, Always: []string{"x0"}, Likelihood: likelihood.RobustKind}

// paperProblem returns the robust selection problem of the VTI paper, where misspecified is "high"
// or "mid".
func paperProblem(t testing.TB, misspecified string) *Problem {
	t.Helper()
	data, err := table.ReadFile("../testdata/robust_vs/" + misspecified + "_1000.csv")
	require.NoError(t, err)
	design, err := NewDesign(data, paperDesign)
	require.NoError(t, err)
	problem, err := NewProblem(design, ModelOptions{Prior: Prior{Kind: UniformPrior}, Likelihood: likelihood.RobustKind})
	require.NoError(t, err)
	return problem
}

// readEvidences reads the log evidence of each model from the first two columns of a CSV file.
func readEvidences(t testing.TB, path string) map[string]float64 {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	require.NoError(t, err)
	evidences := map[string]float64{}
	for _, row := range rows[1:] {
		value, err := strconv.ParseFloat(row[1], 64)
		require.NoError(t, err)
		evidences[row[0]] = value
	}
	return evidences
}

func softmax(evidences map[string]float64) map[string]float64 {
	best, total := math.Inf(-1), 0.0
	for _, value := range evidences {
		best = math.Max(best, value)
	}
	for _, value := range evidences {
		total += math.Exp(value - best)
	}
	probabilities := map[string]float64{}
	for code, value := range evidences {
		probabilities[code] = math.Exp(value-best) / total
	}
	return probabilities
}

// After a short training, certified model probabilities of the VTI paper's problem agree with
// probabilities by tempered sequential Monte Carlo, which share no code with this module: the total
// variation over 128 models is at most 0.03.
func TestCertifiedProbabilitiesOfThePaperProblem(t *testing.T) {
	testkit.Slow(t)
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	for _, misspecified := range []string{"high", "mid"} {
		t.Run(misspecified, func(t *testing.T) {
			if misspecified == "high" {
				testkit.Long(t)
			}
			oracle := softmax(readEvidences(t, "../testdata/robust_vs/"+misspecified+"_1000_logz.csv"))
			problem := paperProblem(t, misspecified)
			result, err := Run(t.Context(), device, problem, RunConfig{
				Fit: vti.Config{Steps: 400, Batch: 512, Seed: 1}, Certify: vti.CertifyConfig{Draws: 1 << 16}, Dir: t.TempDir(),
			})
			require.NoError(t, err)
			require.NotEqual(t, vti.Failed, result.Certificate.Verdict, result.Certificate.Reasons)
			require.Len(t, result.Models, 128)
			var certified, trained float64
			for _, model := range result.Models {
				certified += math.Abs(float64(model.Certified)-oracle[model.Code]) / 2
				trained += math.Abs(float64(*model.Q)-oracle[model.Code]) / 2
			}
			require.Less(t, certified, 0.03)
			require.Less(t, trained, 0.15)
			require.InDelta(t, float64(*result.LogEvidence), -float64(*result.Loss), 0.5, "the loss is a bound that training makes tight")
		})
	}
}

// For the block problem, whose posteriors have several modes, eight log evidences are published.
// After a short training, estimates agree with them to 0.1, or to three standard errors. One
// improbable model may have an evidence that is reported as unresolved, but its probability must be
// right. docs/benchmarks.md has the full training.
func TestPublishedEvidencesOfTheBlockProblem(t *testing.T) {
	testkit.Long(t)
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	data, err := table.ReadFile("../testdata/trjp_block/data.csv")
	require.NoError(t, err)
	options := paperDesign
	options.Groups = []PredictorGroup{{Name: "x23", Columns: []string{"x2", "x3"}}, {Name: "x45", Columns: []string{"x4", "x5"}}}
	design, err := NewDesign(data, options)
	require.NoError(t, err)
	problem, err := NewProblem(design, ModelOptions{Prior: Prior{Kind: UniformPrior}, Likelihood: likelihood.RobustKind, Outlier: 0.5, SlabScale: 10})
	require.NoError(t, err)
	result, err := Run(t.Context(), device, problem, RunConfig{Fit: vti.Config{Steps: 400, Batch: 512, Seed: 1}, Dir: t.TempDir()})
	require.NoError(t, err)
	published := readEvidences(t, "../testdata/trjp_block/logz.csv")
	require.Len(t, result.Models, len(published))
	unresolved := 0
	for _, model := range result.Models {
		relative := float64(model.SE / model.Certified)
		implied := math.Log(float64(model.Certified)) + float64(*result.LogEvidence) + math.Log(float64(len(published)))
		require.InDelta(t, published[model.Code], implied, max(0.1, 3*relative), "model %s", model.Code)
		if model.LogEvidence == nil {
			unresolved++
			require.Less(t, float64(model.Certified), 0.03, "model %s", model.Code)
			continue
		}
		se := float64(*model.LogEvidenceSE)
		require.Less(t, se, 0.2)
		require.InDelta(t, published[model.Code], float64(*model.LogEvidence), max(0.1, 3*se), "model %s", model.Code)
	}
	require.LessOrEqual(t, unresolved, 1)
}
