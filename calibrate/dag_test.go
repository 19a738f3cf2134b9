package calibrate

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/internal/stream"
)

// There are 3, 25 and 543 acyclic graphs over 2, 3 and 4 labelled nodes (OEIS A003024).
func TestAcyclic(t *testing.T) {
	for nodes, count := range map[int]int{2: 3, 3: 25, 4: 543} {
		require.Len(t, acyclic(nodes), count)
	}
	require.Equal(t, []int{2, 0, 1}, topological([]int{1 << 2, 1 << 0, 0}))
	require.Nil(t, topological([]int{1 << 1, 1 << 0}))
}

// Small studies of graphs: from the priors every trusted number is right, and edges and weights are
// noted; of nasty tables no probability is wrong, with interventions too.
func TestDagStudies(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	for _, model := range []dag.ModelOptions{{}, {Graphs: dag.UniformGraphs, Sigma: 1}, {EdgePenalty: 1}} {
		source := Dag{Rows: 30, Nodes: 3, Record: dag.Record{Model: model}}
		cfg := Config{Replicates: 6, Seed: 1, Dir: t.TempDir()}
		list, err := Run(t.Context(), source, cfg)
		require.NoError(t, err)
		s := Summarize(source, cfg, list)
		require.Equal(t, 6, s.Compared, "%v", s.Verdicts)
		require.Empty(t, s.Wrong)
		require.Equal(t, 36, s.Reliability[0].Count, "two directions of three pairs of six tables")
		require.NotEmpty(t, s.Uniformity)
		for _, score := range s.Scores {
			require.Less(t, float64(score.Error), map[Quantity]float64{Inclusion: 1e-6, Evidence: 1e-6, Mean: 0.2, SD: 0.2}[score.Quantity], source.Name())
		}
	}

	hard := HardDag{}
	cfg := Config{Replicates: 10, Seed: 2, Dir: t.TempDir()}
	list, err := Run(t.Context(), hard, cfg)
	require.NoError(t, err)
	for _, r := range list {
		for _, c := range r.Comparisons {
			if c.Quantity == Inclusion || c.Quantity == Evidence {
				require.False(t, c.Wrong(), "%s: %v", r.About, c)
			}
		}
	}
}

// Nasty tables have interventions, and the same seed gives the same table.
func TestHardDagTables(t *testing.T) {
	intervened, together := 0, 0
	for seed := range uint64(100) {
		p := HardDag{}.draw(stream.Rand(seed, "hard"))
		require.Equal(t, string(p.csv), string(HardDag{}.draw(stream.Rand(seed, "hard")).csv))
		if p.record.Columns.Intervened != "" {
			intervened++
		}
		together += len(p.planted)
	}
	require.Greater(t, intervened, 5)
	require.Greater(t, together, 5)
}

// The scores of categories sum to one over all columns of a few rows, with and without a parent.
func TestBDeuSumsToOne(t *testing.T) {
	parent := []int{0, 1, 1, 2}
	for _, parents := range [][][]int{nil, {parent}} {
		levels := []int{3}[:len(parents)]
		sum := 0.0
		for code := range 16 {
			column := []int{code & 1, code >> 1 & 1, code >> 2 & 1, code >> 3}
			sum += math.Exp(bdeuEvidence(column, 2, parents, levels, 1.7))
		}
		require.InDelta(t, 1, sum, 1e-12)
	}
}

// Small studies of mixed tables: from the prior, and nasty ones, some of which are refused.
func TestMixedDagStudies(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	for name, source := range map[string]Source{
		"prior": Dag{Rows: 16, Nodes: 2, Record: dag.Record{Model: dag.ModelOptions{Mechanism: dag.Mixed}}},
		"hard":  HardDag{Record: dag.Record{Model: dag.ModelOptions{Mechanism: dag.Mixed}}},
	} {
		cfg := Config{Replicates: 6, Seed: 3, Dir: t.TempDir()}
		list, err := Run(t.Context(), source, cfg)
		require.NoError(t, err)
		s := Summarize(source, cfg, list)
		require.Greater(t, s.Compared, 2, "%s: %v", name, s.Verdicts)
		require.Empty(t, s.Wrong, name)
		for _, score := range s.Scores {
			require.Less(t, float64(score.Error), map[Quantity]float64{Inclusion: 0.02, Evidence: 0.06}[score.Quantity], name)
		}
	}
}

// Exact evidences of mixed tables sum to one over a category, for any order of two levels.
func TestMixedEvidenceSumsToOne(t *testing.T) {
	x := mixedColumn{0, []float64{-1, 0.3, 2, 0.5}}
	k := mixedColumn{2, []float64{0, 1, 1, 0}}
	sum := 0.0
	for code := range 16 {
		own := mixedColumn{2, []float64{float64(code & 1), float64(code >> 1 & 1), float64(code >> 2 & 1), float64(code >> 3)}}
		m, err := mixedEvidence(own, []mixedColumn{x, k})
		require.NoError(t, err)
		sum += math.Exp(m.logEvidence)
	}
	require.InDelta(t, 1, sum, 1e-4)
	swapped := mixedColumn{2, []float64{1, 0, 0, 1}}
	a, err := mixedEvidence(x, []mixedColumn{k})
	require.NoError(t, err)
	b, err := mixedEvidence(x, []mixedColumn{swapped})
	require.NoError(t, err)
	require.InDelta(t, a.logEvidence, b.logEvidence, 1e-10)
}
