package varsel

import (
	gocontext "context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
	engine "github.com/transdim/vti/models"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/table"
)

// exactProblems returns Gaussian problems that together have every feature of a design.
func exactProblems(t *testing.T) map[string]*Problem {
	t.Helper()
	problems := map[string]*Problem{}
	add := func(name string, rows int, design DesignOptions, model ModelOptions) {
		source := correlatedColumns(rows, 6)
		labels, offset := make([]string, rows), make([]float64, rows)
		for i := range labels {
			labels[i] = string(rune('a' + i%3))
			offset[i] = math.Sin(float64(i))
		}
		columns := []*table.Column{table.Numbers("y", source[0]), table.Texts("g", labels), table.Numbers("o", offset)}
		for j, column := range source[1:] {
			columns = append(columns, table.Numbers(fmt.Sprintf("x%d", j+1), column))
		}
		data, err := table.New(name, columns...)
		require.NoError(t, err)
		design.Target, design.DropDegenerate = "y", true
		made, err := NewDesign(data, design)
		require.NoError(t, err)
		problem, err := NewProblem(made, model)
		require.NoError(t, err)
		problems[name] = problem
	}
	all := DesignOptions{Offset: "o", Always: []string{"x2"}, Groups: []PredictorGroup{{Name: "pair", Columns: []string{"x3", "x5"}}}}
	few := Prior{Kind: BetaBinomialPrior, A: 1, B: 1, MaxSize: 2}
	add("unknown noise", 25, all, ModelOptions{})
	add("known noise", 25, all, ModelOptions{Sigma: 0.8})
	add("few rows", 4, all, ModelOptions{})
	add("two rows", 2, DesignOptions{Exclude: []string{"g", "o"}}, ModelOptions{})
	add("raw, no intercept", 12, DesignOptions{NoStandardize: true, NoIntercept: true}, ModelOptions{})
	add("heredity", 20, DesignOptions{Exclude: []string{"g", "o"}, Interactions: []string{"x1:x2", "x2:x3"}}, ModelOptions{Heredity: StrongHeredity})
	add("lists, unknown noise", 25, all, ModelOptions{Prior: few, Codes: ListCodes})
	add("lists, known noise", 4, all, ModelOptions{Sigma: 0.8, Prior: few, Codes: ListCodes})
	return problems
}

type withForms struct {
	vti.Target
	engine.Exact
}

// possible lists the codes of models that the prior does not exclude.
func possible(t *testing.T, target vti.Target) (codes [][]int32) {
	t.Helper()
	for _, code := range space.All(target.Space().Cards()) {
		codes = append(codes, slices.Clone(code))
	}
	logPrior := MustExecOnce(testkit.Backend(t), target.LogPrior, codes).Value().([]float64)
	var kept [][]int32
	for i, code := range codes {
		if !math.IsInf(logPrior[i], -1) {
			kept = append(kept, code)
		}
	}
	return kept
}

// Log evidences in closed form must equal the numbers of RunExact, which enumerates all models, to
// 1e-9, and must have the same bits on any number of cores.
func TestLogEvidencesAgreeWithEnumeration(t *testing.T) {
	for name, problem := range exactProblems(t) {
		target := withForms{problem.Posterior(), problem.forms()}
		codes := possible(t, target)
		evidences, err := target.LogEvidences(t.Context(), codes)
		require.NoError(t, err, name)
		enumerated, err := RunExact(t.Context(), problem, nil, "")
		require.NoError(t, err, name)
		want := map[string]float64{}
		for _, model := range enumerated.Models {
			want[model.Code] = float64(*model.LogEvidence) - problem.Design.LogJacobian()
		}
		require.Equal(t, len(want), len(codes), name)
		for i, code := range codes {
			key := modelText(problem.members(code), len(problem.Design.Predictors))
			require.InDelta(t, want[key], evidences[i], 1e-9, "%s, model %s", name, key)
		}
		before := runtime.GOMAXPROCS(1)
		alone, err := target.LogEvidences(t.Context(), codes)
		runtime.GOMAXPROCS(before)
		require.NoError(t, err)
		require.Equal(t, alone, evidences, "the same bits on any number of cores")
	}
}

// For every draw θ, log p(y | m) + log p(θ | y, m) must equal log p(y, θ | m) by the computation
// graph.
func TestSampledParametersHaveTheirDensity(t *testing.T) {
	for name, problem := range exactProblems(t) {
		target := withForms{problem.Posterior(), problem.forms()}
		codes := possible(t, target)
		codes = append(codes[:min(len(codes), 12)], codes[len(codes)-1])
		evidences, err := target.LogEvidences(t.Context(), codes)
		require.NoError(t, err)
		exec := MustNewExec(testkit.Backend(t), func(codes, theta *Node) (*Node, *Node) {
			mask := target.Space().Mask(codes)
			return target.LogJoint(codes, mask, theta), Where(mask, ZerosLike(theta), theta)
		})
		const n = 40
		for i, code := range codes {
			theta, logDensity, err := target.SampleParameters(code, n, stream.Rand(1, name))
			require.NoError(t, err)
			outputs := exec.MustExec(tensors.FromFlatDataAndDimensions(slices.Repeat(code, n), n, len(code)),
				tensors.FromFlatDataAndDimensions(theta.RawMatrix().Data, n, target.Space().Dim()))
			joint := tensors.MustCopyFlatData[float64](outputs[0])
			for k := range n {
				require.InDelta(t, joint[k], evidences[i]+logDensity[k], 1e-8*(1+math.Abs(joint[k])/100), "%s, model %v", name, code)
			}
			for _, v := range tensors.MustCopyFlatData[float64](outputs[1]) {
				require.Zero(t, v, "inactive coordinates")
			}
		}
	}
}

// Only Gaussian responses have closed forms; targets of other responses report none.
func TestOnlyGaussianTargetsAreExact(t *testing.T) {
	for _, kind := range likelihood.Kinds() {
		for _, model := range []ModelOptions{{Likelihood: kind}, {Likelihood: kind, Prior: Prior{MaxSize: 2}, Codes: ListCodes}} {
			if kind.HasCategories() && model.Codes == ListCodes {
				continue // a response of categories cannot be combined with models as lists
			}
			problem := slotlessOrNot(t, kind, model)
			require.Equal(t, kind.Conjugate(), problem.forms() != nil, "%v", kind)
			_, quadratic := problem.Posterior().(vti.QuadraticTarget)
			require.Equal(t, problem.Slots != nil, quadratic, "%v", kind)
		}
	}
}

func slotlessOrNot(t *testing.T, kind likelihood.Kind, model ModelOptions) *Problem {
	t.Helper()
	design, err := NewDesign(correlated(t, kind, 20, 4, 1), DesignOptions{Target: "y", Likelihood: kind})
	require.NoError(t, err)
	problem, err := NewProblem(design, model)
	require.NoError(t, err)
	return problem
}

func TestLogEvidencesCanBeCancelled(t *testing.T) {
	problem := exactProblems(t)["unknown noise"]
	ctx, cancel := gocontext.WithCancel(t.Context())
	cancel()
	_, err := problem.forms().LogEvidences(ctx, possible(t, problem.Target))
	require.ErrorIs(t, err, gocontext.Canceled)
}

// An answer from weighted draws of a flow that ignores closed forms agrees with the enumeration of
// all models, whether models are coded as bits or as lists. Ten numbers are compared to four
// standard errors, which gives a false alarm in one of 1,600 seeds.
func TestWeightsAgreeWithClosedForms(t *testing.T) {
	testkit.Slow(t)
	device := openDevice(t)
	for _, model := range []ModelOptions{{}, {Prior: Prior{Kind: BetaBinomialPrior, A: 1, B: 1, MaxSize: 2}, Codes: ListCodes}} {
		problem := haldProblem(t, model)
		exact, err := RunExact(t.Context(), problem, nil, "")
		require.NoError(t, err)
		problem.Target.known = func() (none engine.Known) { return none }
		fit := problem.Training(smallFit())
		fit.Models, err = problem.NewModels(AutoSampler, SurrogateOptions{}, 1, fit.DType)
		require.NoError(t, err)
		posterior, err := vti.Fit(t.Context(), device, problem.Posterior(), fit)
		require.NoError(t, err)
		certificate, err := posterior.Certify(t.Context(), vti.CertifyConfig{Draws: 1 << 14})
		require.NoError(t, err)
		require.NotEqual(t, vti.ExactSum, certificate.Basis)
		require.NotEqual(t, vti.Failed, certificate.Verdict)
		require.InDelta(t, float64(*exact.LogEvidence), certificate.LogEvidence+problem.Design.LogJacobian(), 4*certificate.LogEvidenceSE+1e-4)
		certified, se := certificate.Frequencies(len(problem.Design.Predictors), problem.members)
		for s, want := range exact.Inclusion {
			require.InDelta(t, float64(want.Certified), certified[s], 4*se[s]+1e-4, want.Name)
		}
	}
}
