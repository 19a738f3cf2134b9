package varsel

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/table"
	"github.com/transdim/vti/varsel/design"
	"github.com/transdim/vti/varsel/regression"
)

func simulatedProblem(t testing.TB, s design.Simulation, model ModelOptions) *Problem {
	t.Helper()
	made, err := design.Simulate(s)
	require.NoError(t, err)
	var columns []*table.Column
	for j, name := range made.Names {
		columns = append(columns, table.Numbers(name, made.Columns[j]))
	}
	data, err := table.New("simulated", columns...)
	require.NoError(t, err)
	design, err := NewDesign(data, DesignOptions{Target: "y", Likelihood: model.Likelihood})
	require.NoError(t, err)
	problem, err := NewProblem(design, model)
	require.NoError(t, err)
	return problem
}

// fitOf returns the approximation of a model, for a response without a second parameter or with the
// second parameter 1.
func fitOf(t *Target, a regression.Active) (*laplaceFit, error) {
	if a.Scale < 0 {
		a = t.WithParameters(a)
	}
	return newLaplaceFit(t, a, 1, a.Mean)
}

// naiveEvidence integrates over a fine grid of an intercept and one coefficient. It evaluates the
// likelihood row by row.
func naiveEvidence(t *Target, a regression.Active) float64 {
	const points, reach = 400, 12.0
	f, err := fitOf(t, a)
	if err != nil {
		return math.NaN()
	}
	var sum, largest float64
	var values []float64
	sd := func(j int) float64 { return 1 / f.factor.At(j, j) }
	widths := []float64{reach * sd(0) * 1.5 / points, reach * sd(1) * 1.5 / points}
	largest = math.Inf(-1)
	for i := -points / 2; i <= points/2; i++ {
		for j := -points / 2; j <= points/2; j++ {
			theta := []float64{f.mode[0] + float64(i)*widths[0], f.mode[1] + float64(j)*widths[1]}
			value := 0.0
			for row, y := range t.Responses.Y {
				eta := theta[0]*a.Columns[0][row] + theta[1]*a.Columns[1][row]
				value += t.Responses.LogKernelAt(y, eta, 1) + t.Responses.LogConstant(y)
			}
			for c, v := range theta {
				z := (v - a.Mean[c]) / a.SD[c]
				value -= z*z/2 + math.Log(a.SD[c]) + halfLog2Pi
			}
			values = append(values, value)
			largest = math.Max(largest, value)
		}
	}
	for _, value := range values {
		sum += math.Exp(value - largest)
	}
	return largest + math.Log(sum*widths[0]*widths[1])
}

// Weights of draws around the mode estimate evidences, which agree with sums over a grid. The limit
// gives a false alarm in one of 150,000 comparisons, and there are 12.
func TestProposalsEstimateEvidences(t *testing.T) {
	testkit.Slow(t)
	for _, kind := range []likelihood.Kind{likelihood.LogisticKind, likelihood.PoissonKind} {
		for _, rows := range []int{4, 25, 60} {
			problem := simulatedProblem(t, design.Simulation{Rows: rows, Predictors: 3, Effects: 2, Correlation: 0.5, Likelihood: kind, Seed: 3}, ModelOptions{Likelihood: kind})
			target := laplaceProposals{problem.models()}
			for _, code := range [][]int32{{1, 0, 0}, {0, 0, 1}} {
				t.Run(fmt.Sprint(kind, rows, code), func(t *testing.T) {
					if rows == 60 {
						testkit.Long(t)
					}
					theta, logWeights, logProposal, err := target.propose(code, 20000, stream.Rand(5, "propose"))
					require.NoError(t, err)
					floats.Sub(logWeights, logProposal)
					estimate, se := psis.LogMeanExp(logWeights)
					require.Less(t, se, 0.01, "the proposal is close to the posterior")
					require.InDelta(t, naiveEvidence(problem.Target, problem.Target.active(code)), estimate, 4.5*se+1e-6)
					for j, on := range problem.Target.space.MaskRow(code, nil) {
						require.Equal(t, on, theta.At(7, j) != 0, "coordinate %d", j)
					}
				})
			}
		}
	}
}

// For responses with a second parameter, the evidence of an intercept alone, by draws around its
// mode, must agree with a sum over a grid of the intercept and the log of this parameter. The limit
// gives a false alarm in one of 150,000 comparisons, and there are 10.
func TestProposalsOfShapesEstimateEvidences(t *testing.T) {
	testkit.Slow(t)
	const points, shapeStep = 150, 0.08
	for _, kind := range []likelihood.Kind{likelihood.NegativeBinomialKind, likelihood.HurdleKind, likelihood.ZeroInflatedKind, likelihood.GammaKind, likelihood.WeibullKind} {
		for _, rows := range []int{3, 40} {
			step := 0.25 / math.Sqrt(float64(rows))
			t.Run(fmt.Sprint(kind, rows), func(t *testing.T) {
				if rows == 40 && kind != likelihood.GammaKind {
					testkit.Long(t)
				}
				problem := simulatedProblem(t, design.Simulation{Rows: rows, Predictors: 2, Effects: 1, Noise: 0.8, Likelihood: kind, Seed: 4}, ModelOptions{Likelihood: kind})
				target := problem.Target
				_, logWeights, logProposal, err := laplaceProposals{problem.models()}.propose([]int32{0, 0}, 20000, stream.Rand(5, "propose"))
				require.NoError(t, err)
				floats.Sub(logWeights, logProposal)
				estimate, se := psis.LogMeanExp(logWeights)
				require.Less(t, se, 0.03, "the proposal is close to the posterior")

				a := target.active([]int32{0, 0})
				middle, err := fitOf(target, a)
				require.NoError(t, err)
				var values []float64
				for i := -points; i <= points; i++ {
					for j := -points; j <= points; j++ {
						theta := make([]float64, target.space.Dim())
						theta[0], theta[target.Scale] = middle.mode[0]+step*float64(i), shapeStep*float64(j)
						values = append(values, target.LogJointAt(a, theta, make([]float64, rows)))
					}
				}
				largest, sum := floats.Max(values), 0.0
				for _, value := range values {
					sum += math.Exp(value - largest)
				}
				require.InDelta(t, largest+math.Log(sum*step*shapeStep), estimate, 4.5*se+1e-5)
			})
		}
	}
}

// Newton's method must find modes far from its start, for counts of millions and for a binary
// response that a predictor separates: weights of draws around the mode have small k̂.
func TestModesFarAway(t *testing.T) {
	rows := 40
	x, counts, separated := make([]float64, rows), make([]float64, rows), make([]float64, rows)
	for i := range rows {
		x[i] = float64(i)
		counts[i] = math.Round(2e6 * math.Exp(float64(i%7)/3))
		if i >= rows/2 {
			separated[i] = 1
		}
	}
	for kind, y := range map[likelihood.Kind][]float64{likelihood.PoissonKind: counts, likelihood.LogisticKind: separated} {
		data, err := table.New("far", table.Numbers("y", y), table.Numbers("x", x))
		require.NoError(t, err)
		design, err := NewDesign(data, DesignOptions{Target: "y", Likelihood: kind})
		require.NoError(t, err)
		problem, err := NewProblem(design, ModelOptions{Likelihood: kind})
		require.NoError(t, err)
		_, logWeights, logProposal, err := laplaceProposals{problem.models()}.propose([]int32{1}, 2000, stream.Rand(1, "far"))
		require.NoError(t, err)
		floats.Sub(logWeights, logProposal)
		smoothed := psis.Smooth(logWeights)
		require.Less(t, smoothed.K, 0.5, "%s", kind)
		require.Greater(t, smoothed.ESS, 800.0, "%s", kind)
	}
}

// BenchmarkProposals times the estimate of one evidence by 32 draws, of a model with five of 100
// predictors and 200 rows.
func BenchmarkProposals(b *testing.B) {
	kind := likelihood.LogisticKind
	problem := simulatedProblem(b, design.Simulation{Rows: 200, Predictors: 100, Effects: 4, Correlation: 0.5, Likelihood: kind, Seed: 1}, ModelOptions{Likelihood: kind})
	target := laplaceProposals{problem.models()}
	code := make([]int32, 100)
	for j := range 5 {
		code[j*17] = 1
	}
	random := stream.Rand(1, "bench")
	var ess float64
	for b.Loop() {
		_, logWeights, logProposal, err := target.propose(code, 32, random)
		require.NoError(b, err)
		floats.Sub(logWeights, logProposal)
		ess += psis.Smooth(logWeights).ESS / 32
	}
	b.ReportMetric(ess/float64(b.N), "ESS/draw")
}
