//go:build quality

package varsel

import (
	"flag"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/table"
	"github.com/transdim/vti/varsel/exact"
)

var (
	qualitySteps = flag.Int("quality.steps", 0, "training steps of every case; 0: the default of Fit")
	qualityFlow  = flag.String("quality.flow", "", "only this flow")
)

// qualityCase is a problem whose model probabilities are known.
type qualityCase struct {
	name   string
	table  string
	design DesignOptions
	model  ModelOptions
	oracle string // CSV file with log evidences by model; empty for the closed form
	flows  []string
}

var allFlows = []string{"diag", "affine", "spline"}

// A known σ is the residual standard deviation of the full least-squares fit, rounded.
var qualityCases = []qualityCase{
	{"hald, σ known", "hald.csv", DesignOptions{Target: "y"}, ModelOptions{Sigma: 2.4}, "", allFlows},
	{"prostate, σ known", "prostate.csv", DesignOptions{Target: "lpsa", Exclude: []string{"train"}}, ModelOptions{Sigma: 0.7}, "", allFlows},
	{"diabetes, σ known", "diabetes.csv", DesignOptions{Target: "y"}, ModelOptions{Sigma: 54}, "", allFlows},
	{"hald", "hald.csv", DesignOptions{Target: "y"}, ModelOptions{}, "", allFlows},
	{"prostate", "prostate.csv", DesignOptions{Target: "lpsa", Exclude: []string{"train"}}, ModelOptions{}, "", []string{"affine"}},
	{"diabetes", "diabetes.csv", DesignOptions{Target: "y"}, ModelOptions{}, "", []string{"affine"}},
	{"ozone", "ozone.csv", DesignOptions{Target: "O3"}, ModelOptions{}, "", []string{"affine"}},
	{"uscrime", "uscrime.csv", DesignOptions{Target: "y"}, ModelOptions{}, "", []string{"affine"}},
	{"boston", "boston.csv", DesignOptions{Target: "medv"}, ModelOptions{}, "", []string{"affine"}},
	{"robust high", "robust_vs/high_1000.csv", paperDesign, ModelOptions{Likelihood: likelihood.RobustKind}, "robust_vs/high_1000_logz.csv", []string{"diag", "affine", "affine55", "spline"}},
	{"robust mid", "robust_vs/mid_1000.csv", paperDesign, ModelOptions{Likelihood: likelihood.RobustKind}, "robust_vs/mid_1000_logz.csv", []string{"diag", "affine", "affine55", "spline"}},
	{"trjp block", "trjp_block/data.csv", DesignOptions{Target: "y", NoStandardize: true, NoIntercept: true, Always: []string{"x0"},
		Groups: []PredictorGroup{{Name: "x23", Columns: []string{"x2", "x3"}}, {Name: "x45", Columns: []string{"x4", "x5"}}}},
		ModelOptions{Likelihood: likelihood.RobustKind, Outlier: 0.5, SlabScale: 10}, "trjp_block/logz.csv", []string{"affine", "spline"}},
}

var qualityFlows = map[string]cosmic.Config{
	"diag": {Kind: cosmic.Diagonal}, "affine": {}, "spline": {Kind: cosmic.Spline}, "affine55": cosmic.Affine55(1, 1),
}

// TestQuality prints a table of the errors of trained and certified answers. It fails if an error
// of a certified answer exceeds its limit in docs/benchmarks.md.
//
//	go test -tags quality -run TestQuality -timeout 3h ./varsel
func TestQuality(t *testing.T) {
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	fmt.Println("| problem | flow | models | verdict | k̂ | certified TV | largest inclusion error | largest log Z error of the best 10 | q: TV | q: KL(π‖q) | −ELBO + log Z | seconds |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|---|")
	for _, c := range qualityCases {
		for _, flow := range c.flows {
			if *qualityFlow != "" && flow != *qualityFlow {
				continue
			}
			t.Run(c.name+"/"+flow, func(t *testing.T) { c.run(t, device, flow) })
		}
	}
}

func (c qualityCase) run(t *testing.T, device *gpu.Device, flow string) {
	data, err := table.ReadFile("../testdata/" + c.table)
	require.NoError(t, err)
	c.design.Likelihood = c.model.Likelihood
	c.model.Prior = Prior{Kind: UniformPrior} // the prior under which the reference evidences were computed
	design, err := NewDesign(data, c.design)
	require.NoError(t, err)
	problem, err := NewProblem(design, c.model)
	require.NoError(t, err)
	truth := c.truth(t, problem)

	result, err := Run(t.Context(), device, problem, RunConfig{
		Fit: vti.Config{Flow: qualityFlows[flow], Steps: *qualitySteps, Seed: 1}, Dir: t.TempDir(),
	})
	require.NoError(t, err)

	var certifiedTV, trainedTV, divergence, evidenceError, inclusionError float64
	listed := 0.0
	for i, model := range result.Models {
		p := truth.probability[model.Code]
		listed += p
		certifiedTV += math.Abs(p-float64(model.Certified)) / 2
		trainedTV += math.Abs(p-float64(*model.Q)) / 2
		if p > 0 {
			divergence += p * math.Log(p/float64(*model.Q))
		}
		if i < 10 {
			evidenceError = math.Max(evidenceError, math.Abs(float64(*model.LogEvidence)-truth.logEvidence[model.Code]))
		}
	}
	for s, inclusion := range result.Inclusion {
		exact := 0.0
		for code, p := range truth.probability {
			if code[s] == '1' {
				exact += p
			}
		}
		inclusionError = math.Max(inclusionError, math.Abs(exact-float64(inclusion.Certified)))
	}
	fmt.Printf("| %s | %s | %d | %s | %.2f | %.4f | %.4f | %.4f | %.4f | %.4f | %.3f | %.0f + %.0f |\n", c.name, flow, 1<<len(result.Data.Predictors),
		result.Certificate.Verdict, float64(*result.Certificate.KHat), certifiedTV, inclusionError, evidenceError, trainedTV, divergence,
		float64(*result.Loss)+float64(*result.LogEvidence), result.Seconds.Train, result.Seconds.Certify)
	require.Greater(t, listed, 0.9)
	require.NotEqual(t, vti.Failed, result.Certificate.Verdict)
	require.Less(t, certifiedTV, 0.03)
	require.Less(t, inclusionError, 0.02)
}

// truth holds log evidences and probabilities by the codes of models.
type truth struct{ logEvidence, probability map[string]float64 }

func (c qualityCase) truth(t *testing.T, problem *Problem) truth {
	known := truth{map[string]float64{}, map[string]float64{}}
	if c.oracle == "" {
		asked, err := problem.ExactProblem()
		require.NoError(t, err)
		asked.TopModels = 1 << len(asked.Groups)
		answer, err := exact.Enumerate(t.Context(), asked)
		require.NoError(t, err)
		for _, model := range answer.Models {
			known.logEvidence[modelText(bitMembers(model.Code), len(model.Code))] = model.LogEvidence
			known.probability[modelText(bitMembers(model.Code), len(model.Code))] = model.Probability
		}
		return known
	}
	known.logEvidence = readEvidences(t, "../testdata/"+c.oracle)
	known.probability = softmax(known.logEvidence)
	return known
}
