package walk

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/transdim/vti"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/verdict"
)

// Chains that all found one graph and never left it are judged to agree.
func TestChainsInOneGraph(t *testing.T) {
	s := &Graphs{nodes: 2}
	for range 4 {
		chain, scores := make([][]dgraph.Set, KeptGraphs), make([]float64, KeptGraphs)
		for k := range chain {
			chain[k], scores[k] = []dgraph.Set{{}, dgraph.SetOf(0)}, -3
		}
		s.Graphs, s.scores = append(s.Graphs, chain), append(s.scores, scores)
	}
	edges := s.Edges()
	require.Equal(t, vti.Trusted, verdict.Judge(Measured(4, KeptGraphs, edges.Worst)).Verdict)
	require.InDelta(t, 1, edges.Probabilities[0][1], 0)
	s.Graphs[3], s.scores[3] = make([][]dgraph.Set, KeptGraphs), make([]float64, KeptGraphs)
	for k := range s.Graphs[3] {
		s.Graphs[3][k] = []dgraph.Set{dgraph.SetOf(1), {}}
	}
	edges = s.Edges()
	require.Equal(t, vti.Failed, verdict.Judge(Measured(4, KeptGraphs, edges.Worst)).Verdict)
}
