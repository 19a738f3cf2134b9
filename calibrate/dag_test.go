package calibrate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/lab/testkit"
)

// TestAcyclic checks that there are 3, 25 and 543 acyclic graphs over 2, 3 and 4 labelled nodes
// (OEIS A003024).
func TestAcyclic(t *testing.T) {
	for nodes, count := range map[int]int{2: 3, 3: 25, 4: 543} {
		require.Len(t, Acyclic(nodes), count)
	}
	require.Equal(t, []int{2, 0, 1}, Topological([]int{1 << 2, 1 << 0, 0}))
	require.Nil(t, Topological([]int{1 << 1, 1 << 0}))
}

// The test makes small studies of tables drawn from the priors. The studies must compare every
// possible edge of trusted answers with the truth, and rank the true weights of edges unless
// columns are categorical.
func TestDagStudies(t *testing.T) {
	testkit.Slow(t)
	for _, mechanism := range []dag.Mechanism{dag.BGe, dag.Mixed} {
		source := Dag{Rows: 30, Nodes: 3, Record: dag.Record{Model: dag.ModelOptions{Mechanism: mechanism}}}
		cfg := Config{Replicates: 6, Seed: 1, Dir: t.TempDir()}
		list, err := Run(t.Context(), source, cfg)
		require.NoError(t, err)
		s := Summarize(source, cfg, list)
		require.Equal(t, 6*s.Verdicts[trusted], s.Reliability[0].Count, "two directions of three pairs of each table")
		require.Equal(t, mechanism == dag.BGe, len(s.Uniformity) > 0, "categories have no weights")
		require.Zero(t, s.Compared)
	}
}
