package score_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/dag"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/dag/walk"
)

// The log evidence of a node with several mechanisms is the sum over mechanisms of the log
// evidences of their rows. Data without interventions cannot distinguish v0 → v1 from v1 → v0. The
// data of the test can, because the mechanism of v1 differs between rows.
func TestSoftInterventions(t *testing.T) {
	for _, discrete := range []bool{false, true} {
		d := softData(t, 150, discrete, tables.DataOptions{SoftIntervened: "changed"})
		require.Equal(t, []dgraph.Set{dgraph.SetOf(1)}, d.Targets())
		p, err := score.NewProblem(d, score.ModelOptions{}, tables.Constraints{})
		require.NoError(t, err)
		scores, err := p.ExactScores(t.Context(), nil)
		require.NoError(t, err)
		apart := softData(t, 150, discrete, tables.DataOptions{Exclude: []string{"changed"}})
		for i, f := range p.Families {
			want := 0.0
			for _, changed := range []bool{false, true} {
				part := *apart
				part.Counted = make([][]bool, d.Rows())
				for row := range part.Counted {
					part.Counted[row] = []bool{true, true, true}
					part.Counted[row][f.Node] = f.Node != 1 || (row%3 == 0) == changed
				}
				if f.Node != 1 && changed {
					continue // all rows of the node have one mechanism
				}
				if discrete {
					want += naiveBDeu(&part, f, 1)
				} else {
					want += naiveBGe(&part, f)
				}
			}
			require.InDelta(t, want, scores.LogEvidence[i], 1e-8*math.Abs(want), "%v, discrete %v", f, discrete)
		}
		posterior, err := score.NewPosterior(t.Context(), p.Structure, scores, nil)
		require.NoError(t, err)
		forward := posterior.EdgeProbabilities()[0][1]
		result, err := dag.RunExact(t.Context(), p, dag.ExactConfig{Dir: t.TempDir()})
		require.NoError(t, err)
		require.Equal(t, vti.Trusted, result.Certificate.Verdict)
		require.InDelta(t, forward, result.Matrix()[0][1], 1e-9)
		require.Greater(t, forward, 0.95, "discrete %v", discrete)
		chains, err := dag.RunGraphChains(t.Context(), p, dag.GraphChainsConfig{Chains: walk.ChainConfig{Seed: 1, Rounds: 1}, Dir: t.TempDir()})
		require.NoError(t, err)
		require.InDelta(t, forward, chains.Matrix()[0][1], 0.02)

		plain, err := score.NewProblem(apart, score.ModelOptions{}, tables.Constraints{})
		require.NoError(t, err)
		exact, err := dag.RunExact(t.Context(), plain, dag.ExactConfig{})
		require.NoError(t, err)
		require.Less(t, exact.Matrix()[0][1], 0.8, "direction without the changes")
	}
}
