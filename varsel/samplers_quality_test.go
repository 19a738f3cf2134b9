//go:build quality

package varsel

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/table"
	"github.com/transdim/vti/varsel/design"
	"github.com/transdim/vti/varsel/exact"
)

// TestSamplers prints the errors of each family of q(m) against exact inclusion probabilities, with
// and without a certificate, and the time that each takes. AutoSampler chooses a family by these
// figures.
//
//	go test -v -tags quality -run TestSamplers -timeout 2h ./varsel
func TestSamplers(t *testing.T) {
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	simulated := func(predictors int) string {
		data, err := design.Simulate(design.Simulation{Rows: 100, Predictors: predictors, Effects: 5, Correlation: 0.5, Seed: 1})
		require.NoError(t, err)
		path := filepath.Join(t.TempDir(), "simulated.csv")
		file, err := os.Create(path)
		require.NoError(t, err)
		require.NoError(t, data.WriteCSV(file))
		require.NoError(t, file.Close())
		return path
	}
	fmt.Println("| problem | predictors | sampler | verdict | k̂ | certified: mean error | largest | q: mean error | largest | seconds |\n|---|---|---|---|---|---|---|---|---|---|")
	for _, c := range []struct {
		name, path, target string
		model              ModelOptions
	}{
		{"diabetes", "../testdata/diabetes.csv", "y", ModelOptions{}},
		{"boston", "../testdata/boston.csv", "medv", ModelOptions{}},
		{"uscrime", "../testdata/uscrime.csv", "y", ModelOptions{}},
		{"ar1", simulated(17), "y", ModelOptions{}},
		{"ar1", simulated(18), "y", ModelOptions{}},
		{"ar1, σ known", simulated(20), "y", ModelOptions{Sigma: 1}},
	} {
		data, err := table.ReadFile(c.path)
		require.NoError(t, err)
		design, err := NewDesign(data, DesignOptions{Target: c.target})
		require.NoError(t, err)
		problem, err := NewProblem(design, c.model)
		require.NoError(t, err)
		asked, err := problem.ExactProblem()
		require.NoError(t, err)
		exact, err := exact.Enumerate(t.Context(), asked)
		require.NoError(t, err)
		for _, sampler := range []Sampler{CategoricalSampler, SurrogateSampler, AutoregressiveSampler} {
			models, err := problem.NewModels(sampler, SurrogateOptions{}, 1, dtypes.Float32)
			require.NoError(t, err)
			result, err := Run(t.Context(), device, problem, RunConfig{Fit: vti.Config{Models: models, Seed: 1}, Dir: t.TempDir()})
			require.NoError(t, err)
			var certified, certifiedWorst, trained, trainedWorst float64
			for s, in := range result.Inclusion {
				miss, missQ := math.Abs(float64(in.Certified)-exact.Inclusion[s]), math.Abs(float64(*in.Q)-exact.Inclusion[s])
				certified, trained = certified+miss/float64(len(exact.Inclusion)), trained+missQ/float64(len(exact.Inclusion))
				certifiedWorst, trainedWorst = math.Max(certifiedWorst, miss), math.Max(trainedWorst, missQ)
			}
			fmt.Printf("| %s | %d | %s | %s | %.2f | %.4f | %.4f | %.4f | %.4f | %.0f + %.0f |\n", c.name, len(exact.Inclusion), sampler, result.Certificate.Verdict,
				float64(*result.Certificate.KHat), certified, certifiedWorst, trained, trainedWorst, result.Seconds.Train, result.Seconds.Certify)
		}
	}
}
