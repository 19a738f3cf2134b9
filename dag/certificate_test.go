package dag

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// The verdict goes by the k̂ of the families of the graphs that have weight, and by the errors of the edges.
func TestVerdictOnGraphs(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	s := FreeStructure(3)
	scores := randomScores(random, s, 3)
	for i := range scores.SE {
		scores.SE[i] = 0.001
		scores.KHat = append(scores.KHat, 0.2)
	}
	judge := func() *Certificate {
		p, err := NewPosterior(s, scores)
		require.NoError(t, err)
		draws := p.Sample(random, 2000)
		return p.certify(draws, p.EdgeErrors(draws), 1000, 0)
	}
	require.Equal(t, "trusted", judge().Verdict)
	p, err := NewPosterior(s, scores)
	require.NoError(t, err)
	order := mostProbable(p.Marginals, len(p.Marginals))
	for _, f := range order {
		if p.Marginals[f] < 1e-3 {
			scores.KHat[f] = 5 // of no weight
		}
	}
	require.Equal(t, "trusted", judge().Verdict)
	scores.KHat[order[0]] = 0.8
	c := judge()
	require.Equal(t, "doubtful", c.Verdict)
	require.InDelta(t, 0.8, float64(c.KHat), 0)
	scores.KHat[order[0]] = 1.2
	require.Equal(t, "failed", judge().Verdict)
	scores.KHat[order[0]] = 0.2
	for i := range scores.SE {
		scores.SE[i] = 0.3
	}
	require.NotEqual(t, "trusted", judge().Verdict)
}
