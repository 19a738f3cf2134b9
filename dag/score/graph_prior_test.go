package score

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/tables"
)

// The default prior is uniform over the number of parents: the weights of all sets of k parents add
// up to one for every k. Reversing an edge between two nodes with otherwise equal parents does not
// change the prior of a graph.
func TestSparsePrior(t *testing.T) {
	p, err := NewProblem(chainData(t, 20, tables.DataOptions{}), ModelOptions{}, tables.Constraints{})
	require.NoError(t, err)
	sums := make([]float64, 3)
	for _, f := range p.Families {
		if f.Node == 1 {
			sums[f.Parents.Len()] += math.Exp(p.Structure.Prior.LogWeight(1, f.Parents))
		}
	}
	require.InDeltaSlice(t, []float64{1, 1, 1}, sums, 1e-12)
	forward := p.Structure.Prior.LogWeight(0, dgraph.Set{}) + p.Structure.Prior.LogWeight(1, dgraph.SetOf(0)) + p.Structure.Prior.LogWeight(2, dgraph.SetOf(0, 1))
	turned := p.Structure.Prior.LogWeight(1, dgraph.Set{}) + p.Structure.Prior.LogWeight(0, dgraph.SetOf(1)) + p.Structure.Prior.LogWeight(2, dgraph.SetOf(0, 1))
	require.InDelta(t, forward, turned, 1e-12)
	require.Contains(t, p.Priors()[len(p.Priors())-1], "sparse")
}

// The probabilities of edges in a file are the prior probabilities if no cycle is possible. The
// order of rows and columns in the file does not matter.
func TestEdgePrior(t *testing.T) {
	path := filepath.Join(t.TempDir(), "prior.csv")
	require.NoError(t, os.WriteFile(path, []byte("node,c,a,b\nb,0.9,0.3,NA\nc,,.2,.4\na,0.25,0,0.6\n"), 0o644))
	prior, err := ReadEdgePrior(path)
	require.NoError(t, err)
	p, err := NewProblem(chainData(t, 20, tables.DataOptions{}), ModelOptions{EdgePrior: prior}, tables.Constraints{Tiers: [][]string{{"a"}, {"b"}, {"c"}}})
	require.NoError(t, err)
	posterior, err := NewPosterior(t.Context(), p.Structure, Scores{Families: p.Families, LogEvidence: make([]float64, len(p.Families)), SE: make([]float64, len(p.Families))}, nil)
	require.NoError(t, err)
	edges := posterior.EdgeProbabilities()
	require.InDeltaSlice(t, []float64{0, 0.6, 0.25}, edges[0], 1e-12)
	require.InDeltaSlice(t, []float64{0, 0, 0.9}, edges[1], 1e-12)

	_, err = NewProblem(chainData(t, 20, tables.DataOptions{}), ModelOptions{EdgePrior: &EdgePrior{Nodes: []string{"a"}}}, tables.Constraints{})
	require.ErrorContains(t, err, `no row for node "b"`)
	require.ErrorContains(t, ModelOptions{EdgePrior: prior, EdgePenalty: 1}.Validate(), "edge-prior sets the prior of every edge")
	for text, want := range map[string]string{
		"node,a,b\na,0,1.5\nb,0.5,0\n": `column "b", line 2: got "1.5", want a probability`,
		"node,a,b\na,0,0.5\nz,0.5,0\n": `no column for "z"`,
		"node,a,b\na,0,0.5\n":          "got 1 row and 3 columns",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		_, err := ReadEdgePrior(path)
		require.ErrorContains(t, err, want)
	}
}

// The description of the priors includes the constraints.
func TestPriorsTellConstraints(t *testing.T) {
	p, err := NewProblem(chainData(t, 10, tables.DataOptions{}), ModelOptions{EdgePenalty: -5}, tables.Constraints{Forbid: []string{"a->b"}, Tiers: [][]string{{"a", "b"}, {"c"}}, MaxParents: 1})
	require.NoError(t, err)
	require.Equal(t, []string{
		"graphs: exp(+5 edges); over acyclic graphs, each counted once",
		"of them only those that keep to: no a->b; no edge from a later to an earlier tier of (a, b), (c); at most 1 parent per node",
	}, p.Priors()[3:])
}
