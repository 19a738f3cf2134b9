package dag

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/transdim/vti"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/verdict"
)

// Chains that all found one graph and never left it agree.
func TestChainsInOneGraph(t *testing.T) {
	s := &sampledGraphs{nodes: 2}
	for range 4 {
		chain, scores := make([][]dgraph.Set, keptGraphs), make([]float64, keptGraphs)
		for k := range chain {
			chain[k], scores[k] = []dgraph.Set{{}, dgraph.SetOf(0)}, -3
		}
		s.graphs, s.scores = append(s.graphs, chain), append(s.scores, scores)
	}
	edges, worst := s.edges()
	require.Equal(t, vti.Trusted, verdict.Judge(measuredChains(4, keptGraphs, worst)).Verdict)
	require.InDelta(t, 1, edges[0][1].Mean, 0)
	s.graphs[3], s.scores[3] = make([][]dgraph.Set, keptGraphs), make([]float64, keptGraphs)
	for k := range s.graphs[3] {
		s.graphs[3][k] = []dgraph.Set{dgraph.SetOf(1), {}}
	}
	_, worst = s.edges()
	require.Equal(t, vti.Failed, verdict.Judge(measuredChains(4, keptGraphs, worst)).Verdict)
}
