package varsel

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
	engine "github.com/transdim/vti/models"
	"github.com/transdim/vti/varsel/design"
)

// withoutEvidences is a SlotTarget for which no evidences of models are known, so that chains over
// models and latent variables answer.
type withoutEvidences struct{ *SlotTarget }

func (t withoutEvidences) Known() engine.Known {
	known := t.SlotTarget.Known()
	known.Evidences = nil
	return known
}

// twoPairs returns a problem of six predictors written as lists. The sum of the first two is a
// cause of the response, and so is the sum of the next two. One predictor of each pair says little
// without the other, so that all models between the two pairs are improbable.
func twoPairs(t *testing.T, kind likelihood.Kind) *Problem {
	t.Helper()
	const n = 60
	random := stream.Rand(4, "pairs")
	x, y := mat.NewDense(n, 7, nil), make([]float64, n)
	for i := range n {
		row, cause := x.RawRowView(i), random.NormFloat64()
		row[0] = 1
		for pair := range 2 {
			disturbance := 3 * random.NormFloat64()
			row[1+2*pair], row[2+2*pair] = cause+disturbance, -disturbance+0.3*random.NormFloat64()
		}
		row[5], row[6] = random.NormFloat64(), random.NormFloat64()
		if y[i] = 2*cause + 0.5*random.NormFloat64(); kind == likelihood.LogisticKind {
			y[i] = math.Round(1 / (1 + math.Exp(-2*y[i])))
		} else if i%10 == 0 {
			y[i] += 6
		}
	}
	problem, err := NewProblem(design.OfColumns(x, y, kind), ModelOptions{Likelihood: kind, Codes: ListCodes, Prior: Prior{MaxSize: 4}})
	require.NoError(t, err)
	return problem
}

// Chains over models and latent variables, confirmed by annealed populations, agree with the sum
// over all models of a logistic response, whose evidences importance sampling estimates. With
// limits of four standard errors, one of the seven comparisons fails for one in 2,000 seeds.
func TestAugmentedAgreesWithSum(t *testing.T) {
	testkit.Long(t)
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	problem := twoPairs(t, likelihood.LogisticKind)
	answers := make([]*engine.Certificate, 2)
	for i, target := range []vti.Target{problem.Slots, withoutEvidences{problem.Slots}} {
		answer, err := vti.Solve(t.Context(), device, target, vti.SolveConfig{AnswerOnly: true})
		require.NoError(t, err)
		answers[i] = answer.Certificate
		require.Equal(t, vti.Trusted, answers[i].Verdict, answers[i].Reasons)
	}
	sum, chains := answers[0], answers[1]
	require.True(t, sum.Complete)
	require.Equal(t, vti.CollapsedChains, chains.Basis)
	require.InDelta(t, sum.LogEvidence, chains.LogEvidence, 4*math.Hypot(sum.LogEvidenceSE, chains.LogEvidenceSE))
	for item := range problem.Slots.space.Items() {
		member := func(code []int32) bool { return slices.Contains(problem.Slots.space.Set(code), int32(item)) }
		p, se := sum.Probability(member)
		found, foundSE := chains.Probability(member)
		require.InDelta(t, p, found, 4*math.Hypot(se, foundSE), "item %d", item)
		require.Less(t, foundSE, 0.03)
		if item < 4 {
			require.Greater(t, p, 0.1)
		}
	}
}
