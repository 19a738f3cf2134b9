package flows

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/internal/verdict"
)

// Weights of draws of q(m) give the probabilities of all graphs; and where both what was learned
// and its start have lost graphs that the scores prefer, the verdict says so, though all weights
// that were drawn are alike.
func TestWeightedGraphs(t *testing.T) {
	random := rand.New(rand.NewPCG(10, 1))
	for name, s := range testStructures() {
		m, _ := randomModels(t, s, random)
		scores := score.Scores{Families: m.families, LogEvidence: m.pilot, SE: make([]float64, len(m.pilot))}
		exact, err := score.NewPosterior(t.Context(), s, scores, nil)
		require.NoError(t, err)
		near := make([]float64, len(m.pilot))
		lost := make([]float64, len(m.pilot))
		for i, f := range m.families {
			near[i] = m.pilot[i] + 0.5*random.NormFloat64()
			lost[i] = m.pilot[i]
			if f.Parents.Has(3-f.Node) && f.Node > 1 {
				lost[i] -= 40
			}
			if f.Node == 0 && f.Parents.Has(1) {
				lost[i] -= 40
			}
		}
		proposals, err := m.propose(t.Context(), newGraphTables(m, m.pilotWeights(near), nil), newGraphTables(m, m.pilotWeights(near), nil), random)
		require.NoError(t, err)
		posterior := proposals.Posterior(s, scores)
		require.InDelta(t, exact.LogEvidence, posterior.LogEvidence, 5*posterior.LogEvidenceSE, name)
		graphs, err := posterior.Sample(t.Context(), random, 1000)
		require.NoError(t, err)
		want, errors := exact.EdgeProbabilities(), posterior.EdgeErrors(graphs)
		for i, row := range posterior.EdgeProbabilities() {
			for j, probability := range row {
				require.InDelta(t, want[i][j], probability, 5*errors[i][j]+1e-12, "%s: %d to %d", name, i, j)
			}
		}
		v := verdict.Judge(verdict.Measured{})
		proposals.Judge(v, scores, exact.LogEvidence)
		require.Equal(t, verdict.Trusted, v.Verdict, "%s: %v", name, v.Reasons)

		without := newGraphTables(m, m.pilotWeights(lost), nil)
		proposals, err = m.propose(t.Context(), without, without, random)
		require.NoError(t, err)
		v = verdict.Judge(verdict.Measured{})
		proposals.Judge(v, scores, exact.LogEvidence)
		require.NotEqual(t, verdict.Trusted, v.Verdict, name)
	}
}
