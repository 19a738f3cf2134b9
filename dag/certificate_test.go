package dag

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/walk"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/lab/dagtest"
	"github.com/transdim/vti/rjmcmc"
)

// TestVerdictOnGraphs checks that the verdict depends on the Pareto k̂ of the families (nodes with
// sets of parents) in probable graphs, not in improbable graphs, and on the errors of evidences.
func TestVerdictOnGraphs(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	s := dgraph.FreeStructure(3)
	scores := scoresAtRandom(random, s, 3)
	for i := range scores.SE {
		scores.SE[i] = 0.001
		scores.KHat, scores.Missed = append(scores.KHat, 0.2), append(scores.Missed, 0.0005)
	}
	judge := func() *Certificate {
		p, err := score.NewPosterior(context.Background(), s, scores, nil)
		require.NoError(t, err)
		draws := dagtest.Draws(t, p, random, 2000)
		return certifyScores(p, draws, p.EdgeErrors(draws))
	}
	require.Equal(t, vti.Trusted, judge().Verdict)
	p, err := score.NewPosterior(context.Background(), s, scores, nil)
	require.NoError(t, err)
	order := byProbability(p)
	for _, f := range order {
		if p.Marginals[f] < 1e-3 {
			scores.KHat[f], scores.Missed[f] = 5, 1 // a family in no probable graph
		}
	}
	require.Equal(t, vti.Trusted, judge().Verdict)
	scores.KHat[order[0]] = 0.8
	c := judge()
	require.Equal(t, vti.Doubtful, c.Verdict)
	require.InDelta(t, 0.8, float64(c.KHat), 0)
	scores.KHat[order[0]] = 1.2
	require.Equal(t, vti.Failed, judge().Verdict)
	scores.KHat[order[0]] = 0.2
	scores.KHat[order[0]], scores.Missed[order[0]] = 0.4, psis.TailShare(0.4, 30_000)
	require.Equal(t, vti.Trusted, judge().Verdict)
	for i := range scores.SE {
		scores.SE[i] = 0.3
	}
	require.NotEqual(t, vti.Trusted, judge().Verdict)
}

// Importance sampling may miss a share of the evidence of a node given its parents. The test adds
// such a share to one evidence and sums over all graphs again. The largest change of an edge
// probability agrees with the error that was stated for this share.
func TestMissedEdges(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	s := dgraph.FreeStructure(3)
	scores := scoresAtRandom(random, s, 1)
	scores.Missed, scores.KHat = make([]float64, len(scores.Families)), slices.Repeat([]float64{0.6}, len(scores.Families))
	p, err := score.NewPosterior(t.Context(), s, scores, nil)
	require.NoError(t, err)
	order := byProbability(p)
	found := 0
	for _, f := range order[:6] {
		for _, share := range []float64{0.001, 0.1} {
			clear(scores.Missed)
			scores.Missed[f] = share
			p.Scores = scores
			complete := scores
			complete.LogEvidence = slices.Clone(scores.LogEvidence)
			complete.LogEvidence[f] -= math.Log1p(-share)
			shifted, err := score.NewPosterior(t.Context(), s, complete, nil)
			require.NoError(t, err)
			draws := dagtest.Draws(t, p, random, 20_000)
			want, before, after := 0.0, p.EdgeProbabilities(), shifted.EdgeProbabilities()
			for _, e := range dgraph.OrderedPairs(3) {
				want = max(want, math.Abs(after[e.From][e.To]-before[e.From][e.To]))
			}
			require.InDelta(t, want, float64(worstError(p.MissedEdges(draws))), 0.1*want+0.02*share)
			j := verdict.Judge(verdict.Measured{})
			new(Certificate).addWeights(j, p, draws)
			if want > 2*verdict.DoubtfulMissed {
				found++
				require.Equal(t, vti.Doubtful, j.Verdict)
				require.Contains(t, j.Reasons[0], "an edge probability may be off by")
			} else if want < verdict.DoubtfulMissed/2 {
				require.Equal(t, vti.Trusted, j.Verdict)
			}
		}
	}
	require.Positive(t, found)
}

// Markov chains are judged by R-hat, effective draws and errors of edge probabilities, and every
// objection is among the reasons of the verdict.
func TestVerdictOnChains(t *testing.T) {
	for name, test := range map[string]struct {
		worst   rjmcmc.Summary
		verdict vti.Verdict
		reasons []string
	}{
		"good":       {rjmcmc.Summary{RHat: 1.005, ESS: 900, MCSE: 0.01}, vti.Trusted, nil},
		"apart":      {rjmcmc.Summary{RHat: 2.58, ESS: 7, MCSE: 0.2}, vti.Failed, []string{"R-hat of the chains is 2.58", "only 7 effective draws of 3000", "edge probability is 0.2"}},
		"a bit":      {rjmcmc.Summary{RHat: 1.022, ESS: 900, MCSE: 0.01}, vti.Doubtful, []string{"R-hat of the chains is 1.022"}},
		"few":        {rjmcmc.Summary{RHat: 1.005, ESS: 300, MCSE: 0.03}, vti.Doubtful, []string{"only 300 effective draws", "edge probability is 0.03"}},
		"no numbers": {rjmcmc.Summary{RHat: math.NaN(), ESS: math.NaN()}, vti.Failed, []string{"R-hat of the chains is NaN", "only NaN effective draws"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := certifyChains(6, 500, walk.Edges{Worst: test.worst}, nil)
			require.Equal(t, test.verdict, c.Verdict)
			require.Len(t, c.Reasons, len(test.reasons))
			for i, reason := range test.reasons {
				require.Contains(t, c.Reasons[i], reason)
			}
			require.Equal(t, 6, c.Chains)
			require.Equal(t, 3000, c.Draws)
			require.True(t, math.IsNaN(float64(c.KHat)), "chains weigh nothing")
		})
	}
}

func byProbability(p *score.Posterior) (order []int) {
	for f := range p.Marginals {
		order = append(order, f)
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(p.Marginals[b], p.Marginals[a]) })
	return order
}

// scoresAtRandom returns random scores whose differences are as large as with real data: hundreds
// of nats.
func scoresAtRandom(random *rand.Rand, s dgraph.Structure, spread float64) score.Scores {
	scores := score.Scores{Families: s.Families()}
	for range scores.Families {
		scores.LogEvidence = append(scores.LogEvidence, -1000+spread*random.NormFloat64())
		scores.SE = append(scores.SE, 0.1*random.Float64())
	}
	return scores
}
