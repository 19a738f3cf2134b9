package vti_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/combin"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/table"
	"github.com/transdim/vti/varsel"
)

// standIns writes a table in which x0 + x1 and x2 + x3 explain the response nearly equally well.
// None of these four predictors explains it alone, and the other predictors explain nothing. Models
// that mix the two pairs are less probable, by a number of nats that depends on the noise.
func standIns(t *testing.T, rows, others int, noise float64, seed uint64) string {
	random := rand.New(rand.NewPCG(seed, 1))
	var lines strings.Builder
	for j := range 4 + others {
		fmt.Fprintf(&lines, "x%d,", j)
	}
	lines.WriteString("y\n")
	for range rows {
		a, b, c := random.NormFloat64(), random.NormFloat64(), random.NormFloat64()
		for _, x := range []float64{a, b, c, a + b - c + noise*random.NormFloat64()} {
			fmt.Fprintf(&lines, "%v,", x)
		}
		for range others {
			fmt.Fprintf(&lines, "%v,", random.NormFloat64())
		}
		fmt.Fprintf(&lines, "%v\n", a+b+noise*random.NormFloat64())
	}
	path := filepath.Join(t.TempDir(), "standins.csv")
	require.NoError(t, os.WriteFile(path, []byte(lines.String()), 0o600))
	return path
}

// TestBirthsAndDeaths compares chains that add and remove predictors (births and deaths) with sums
// over all models. One table is prostate.csv, with eight predictors. In the other two tables a pair
// of predictors can replace another pair, and models with a predictor of each pair are less
// probable, by a few nats in one table and by thousands in the other.
func TestBirthsAndDeaths(t *testing.T) {
	testkit.Slow(t)
	for _, c := range []struct {
		name, path, target string
	}{
		{"prostate", "testdata/prostate.csv", "lpsa"},
		{"shallow", standIns(t, 40, 8, 0.5, 1), "y"},
		{"deep", standIns(t, 40, 8, 0.05, 2), "y"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "shallow" {
				testkit.Long(t)
			}
			data, err := table.ReadFile(c.path)
			require.NoError(t, err)
			design, err := varsel.NewDesign(data, varsel.DesignOptions{Target: c.target})
			require.NoError(t, err)
			problem, err := varsel.NewProblem(design, varsel.ModelOptions{Codes: varsel.ListCodes, Prior: varsel.Prior{MaxSize: 4}})
			require.NoError(t, err)
			posterior, err := vti.Fit(t.Context(), openDevice(t, gpu.CPU), problem.Posterior(), vti.Config{Steps: 1, Seed: 1})
			require.NoError(t, err)
			certificate, err := posterior.CertifyBirths(t.Context(), vti.CertifyConfig{})
			require.NoError(t, err)
			exact, err := varsel.RunExact(t.Context(), problem, nil, "")
			require.NoError(t, err)
			want := sumOverModels{logEvidence: float64(*exact.LogEvidence) - design.LogJacobian()}
			for _, inclusion := range exact.Inclusion {
				want.inclusion = append(want.inclusion, float64(inclusion.Certified))
			}
			want.requireOf(t, problem, certificate)
		})
	}
}

// sumOverModels is the reference for birth-death chains: the log evidence of all models, and the
// inclusion probabilities of predictors in any order.
type sumOverModels struct {
	logEvidence float64
	inclusion   []float64
}

func (want sumOverModels) requireOf(t *testing.T, problem *varsel.Problem, certificate *vti.Certificate) {
	t.Helper()
	require.Equal(t, vti.Trusted, certificate.Verdict, certificate.Reasons)
	require.True(t, certificate.Confirmed)
	require.Equal(t, vti.BirthsAndDeaths, certificate.Basis)
	require.InDelta(t, want.logEvidence, certificate.LogEvidence, 5*certificate.LogEvidenceSE+1e-3)
	// Predictors of lists are in the order of the screening. Sorted probabilities can be compared
	// without the names of the predictors.
	lists := problem.Slots.Space().(itemLists)
	found, se := certificate.Frequencies(len(want.inclusion), func(code []int32) (members []int) {
		for _, item := range lists.Set(code) {
			members = append(members, int(item))
		}
		return members
	})
	slices.Sort(want.inclusion)
	slices.Sort(found)
	for j, probability := range want.inclusion {
		require.InDelta(t, probability, found[j], 5*slices.Max(se)+2e-3)
	}
	for _, model := range certificate.Models { // evidences are closed forms; only probabilities have errors from draws
		require.Zero(t, model.LogEvidenceSE)
		logPrior := sizePrior(problem, len(lists.Set(model.Code)))
		require.InDelta(t, math.Exp(logPrior+model.LogEvidence-want.logEvidence), model.Certified, 5*model.SE+2e-3)
	}
}

type itemLists interface {
	Set(code []int32) []int32
	Code(set, dst []int32) []int32
}

// sizePrior returns the log prior probability of a model. Every size has the same probability.
func sizePrior(problem *varsel.Problem, size int) float64 {
	return -math.Log(float64(problem.Model.Prior.MaxSize+1)) - combin.LogGeneralizedBinomial(float64(len(problem.Design.Predictors)), float64(size))
}

// sumOf computes the sum over all models of at most three predictors.
func sumOf(t *testing.T, problem *varsel.Problem) sumOverModels {
	forms := problem.Posterior().(vti.KnownTarget).Known().Evidences
	lists, count := problem.Slots.Space().(itemLists), int32(len(problem.Design.Predictors))
	var codes [][]int32
	add := func(set ...int32) {
		codes = append(codes, lists.Code(set, nil))
	}
	add()
	for i := range count {
		add(i)
		for j := range i {
			add(j, i)
			for k := range j {
				add(k, j, i)
			}
		}
	}
	evidences, err := forms.Of(t.Context(), codes, 0)
	require.NoError(t, err)
	logEvidences := make([]float64, len(codes))
	for m, code := range codes {
		logEvidences[m] = evidences[m].Log + sizePrior(problem, len(lists.Set(code)))
	}
	out := sumOverModels{logEvidence: floats.LogSumExp(logEvidences), inclusion: make([]float64, count)}
	for m, code := range codes {
		for _, item := range lists.Set(code) {
			out.inclusion[item] += math.Exp(logEvidences[m] - out.logEvidence)
		}
	}
	return out
}

// relatives writes a table in which each predictor is one of a few latent factors plus noise.
// Predictors with the same factor can replace each other; with less noise they do so better.
func relatives(t *testing.T, rows, predictors, factors int, noise float64, seed uint64) string {
	random := rand.New(rand.NewPCG(seed, 2))
	draw := func(count int) []float64 {
		row := make([]float64, count)
		for k := range row {
			row[k] = random.NormFloat64()
		}
		return row
	}
	loadings := make([][]float64, predictors)
	var lines strings.Builder
	for j := range loadings {
		loadings[j] = draw(factors)
		fmt.Fprintf(&lines, "x%d,", j)
	}
	lines.WriteString("y\n")
	for range rows {
		hidden := draw(factors)
		for _, loading := range loadings {
			value := noise * random.NormFloat64()
			for k, weight := range loading {
				value += weight * hidden[k]
			}
			fmt.Fprintf(&lines, "%v,", value)
		}
		fmt.Fprintf(&lines, "%v\n", hidden[0]+hidden[1]+0.4*random.NormFloat64())
	}
	path := filepath.Join(t.TempDir(), "relatives.csv")
	require.NoError(t, os.WriteFile(path, []byte(lines.String()), 0o600))
	return path
}

// bornProblem returns a problem of variable selection with too many models to list, but few enough
// for a sum over them in the test.
func bornProblem(t *testing.T, path string) *varsel.Problem {
	data, err := table.ReadFile(path)
	require.NoError(t, err)
	design, err := varsel.NewDesign(data, varsel.DesignOptions{Target: "y"})
	require.NoError(t, err)
	problem, err := varsel.NewProblem(design, varsel.ModelOptions{Codes: varsel.ListCodes, Prior: varsel.Prior{MaxSize: 3}})
	require.NoError(t, err)
	return problem
}

// TestSolveByBirthsAndDeaths calls Solve on tables for which weights have too few effective draws
// for the requested precision, so that birth-death chains run. In one table predictors can replace
// each other, and in the other they are nearly copies. The answer must equal the sum over all
// models. A run that is stopped while the chains run, and then resumed, must end with the same bits
// as an uninterrupted run.
func TestSolveByBirthsAndDeaths(t *testing.T) {
	testkit.Long(t)
	for name, path := range map[string]string{
		"relatives": relatives(t, 30, 75, 5, 0.4, 1),
		"copies":    relatives(t, 25, 75, 4, 0.02, 2),
	} {
		t.Run(name, func(t *testing.T) {
			problem, device := bornProblem(t, path), openDevice(t, gpu.CPU)
			cfg := vti.SolveConfig{Precision: 0.02, Certify: vti.CertifyConfig{Draws: 128}, Fit: vti.Config{Seed: 1}}
			solution, err := vti.Solve(t.Context(), device, problem.Posterior(), cfg)
			require.NoError(t, err)
			sumOf(t, problem).requireOf(t, problem, solution.Certificate)
			t.Run("stopped", func(t *testing.T) {
				cfg.Fit.Checkpoint = filepath.Join(t.TempDir(), "posterior.vti")
				ctx, cancel := context.WithCancel(t.Context())
				stopped := cfg
				stopped.Status = func(text string) {
					if strings.Contains(text, "birth-death") {
						cancel()
					}
				}
				_, err = vti.Solve(ctx, device, problem.Posterior(), stopped)
				require.ErrorIs(t, err, context.Canceled)
				cfg.Fit.Resume = true
				resumed, err := vti.Solve(t.Context(), device, problem.Posterior(), cfg)
				require.NoError(t, err)
				require.Len(t, resumed.Rounds, len(solution.Rounds))
				require.Equal(t, fmt.Sprint(solution.Certificate.Models), fmt.Sprint(resumed.Certificate.Models)) // as text, in which NaN equals NaN
				require.Equal(t, solution.Certificate.Sample, resumed.Certificate.Sample)
			})
		})
	}
}
