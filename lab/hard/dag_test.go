package hard

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/calibrate"
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
)

// TestDagTables checks that some tables have interventions, and that a seed always gives one table.
func TestDagTables(t *testing.T) {
	intervened, together := 0, 0
	for seed := range uint64(100) {
		p := Dag{}.draw(stream.Rand(seed, "hard"))
		require.Equal(t, string(p.CSV), string(Dag{}.draw(stream.Rand(seed, "hard")).CSV))
		if p.Record.Columns.Intervened != "" {
			intervened++
		}
		if strings.Contains(p.About, "matter only together") {
			together++
		}
	}
	require.Greater(t, intervened, 5)
	require.Greater(t, together, 3)
}

// TestBDeuSumsToOne checks that the evidences of all possible columns of categories of a few rows
// sum to one, with and without a parent.
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

// TestMixedDagStudies runs small studies of tables of numbers and categories, drawn from the prior
// or difficult. No trusted answer may be wrong. The program may refuse difficult tables.
func TestMixedDagStudies(t *testing.T) {
	testkit.Long(t)
	for name, source := range map[string]calibrate.Source{
		"prior": calibrate.Dag{Exact: ExactDag, Rows: 16, Nodes: 2, Record: dag.Record{Model: dag.ModelOptions{Mechanism: dag.Mixed}}},
		"hard":  Dag{Record: dag.Record{Model: dag.ModelOptions{Mechanism: dag.Mixed}}},
	} {
		cfg := calibrate.Config{Replicates: 6, Seed: 3, Dir: t.TempDir()}
		list, err := calibrate.Run(t.Context(), source, cfg)
		require.NoError(t, err)
		s := calibrate.Summarize(source, cfg, list)
		require.Greater(t, s.Compared, 2, "%s: %v", name, s.Verdicts)
		require.Empty(t, s.Wrong, name)
		for _, score := range s.Scores {
			require.Less(t, float64(score.Error), map[calibrate.Quantity]float64{calibrate.Inclusion: 0.02, calibrate.Evidence: 0.06}[score.Quantity], name)
		}
	}
}

// TestMixedEvidenceSumsToOne checks evidences of mixed tables. The evidences of all possible
// columns of two categories in four rows must sum to one. The order of the levels of a parent must
// not matter.
func TestMixedEvidenceSumsToOne(t *testing.T) {
	testkit.Slow(t)
	x := calibrate.MixedColumn{Levels: 0, Values: []float64{-1, 0.3, 2, 0.5}}
	k := calibrate.MixedColumn{Levels: 2, Values: []float64{0, 1, 1, 0}}
	sum := 0.0
	for code := range 16 {
		response := calibrate.MixedColumn{Levels: 2, Values: []float64{float64(code & 1), float64(code >> 1 & 1), float64(code >> 2 & 1), float64(code >> 3)}}
		m, err := mixedEvidence(response, []calibrate.MixedColumn{x, k})
		require.NoError(t, err)
		sum += math.Exp(m.logEvidence)
	}
	require.InDelta(t, 1, sum, 1e-4)
	swapped := calibrate.MixedColumn{Levels: 2, Values: []float64{1, 0, 0, 1}}
	a, err := mixedEvidence(x, []calibrate.MixedColumn{k})
	require.NoError(t, err)
	b, err := mixedEvidence(x, []calibrate.MixedColumn{swapped})
	require.NoError(t, err)
	require.InDelta(t, a.logEvidence, b.logEvidence, 1e-10)
}

// TestDagStudies runs small studies of graphs. For tables from the prior, all trusted numbers must
// be right, and there must be comparisons of edges and weights. For difficult tables, some with
// interventions, no probability may be wrong.
func TestDagStudies(t *testing.T) {
	testkit.Slow(t)
	for _, model := range []dag.ModelOptions{{}, {Graphs: dag.UniformGraphs, Sigma: 1}, {EdgePenalty: 1}} {
		source := calibrate.Dag{Exact: ExactDag, Rows: 30, Nodes: 3, Record: dag.Record{Model: model}}
		cfg := calibrate.Config{Replicates: 6, Seed: 1, Dir: t.TempDir()}
		list, err := calibrate.Run(t.Context(), source, cfg)
		require.NoError(t, err)
		s := calibrate.Summarize(source, cfg, list)
		require.Equal(t, 6, s.Compared, "%v", s.Verdicts)
		require.Empty(t, s.Wrong)
		require.Equal(t, 36, s.Reliability[0].Count, "two directions of three pairs of six tables")
		require.NotEmpty(t, s.Uniformity)
		for _, score := range s.Scores {
			require.Less(t, float64(score.Error), map[calibrate.Quantity]float64{calibrate.Inclusion: 1e-6, calibrate.Evidence: 1e-6, calibrate.Mean: 0.2, calibrate.SD: 0.2}[score.Quantity], source.Name())
		}
	}

	t.Run("hard", func(t *testing.T) {
		testkit.Long(t)
		hard := Dag{}
		cfg := calibrate.Config{Replicates: 10, Seed: 2, Dir: t.TempDir()}
		list, err := calibrate.Run(t.Context(), hard, cfg)
		require.NoError(t, err)
		for _, r := range list {
			for _, c := range r.Comparisons {
				if c.Quantity == calibrate.Inclusion || c.Quantity == calibrate.Evidence {
					require.False(t, c.Wrong(), "%s: %v", r.About, c)
				}
			}
		}
	})
}

// TestSplineDagStudies checks answers of vti dag for difficult tables of a few columns under the
// spline mechanism: evidences and probabilities of edges must agree with the exact answer.
func TestSplineDagStudies(t *testing.T) {
	source := Dag{Record: dag.Record{Model: dag.ModelOptions{Mechanism: dag.Spline}}}
	compared := 0
	for seed := uint64(0); compared < 6; seed++ {
		p := source.draw(stream.Rand(seed, "hard"))
		if strings.Contains(p.About, "matter only together") {
			continue // too many columns for an exact answer
		}
		r, err := calibrate.AnswerDag(t.Context(), nil, p, seed, t.TempDir())
		require.NoError(t, err)
		require.Equal(t, "trusted", r.Verdict, p.About)
		require.NotEmpty(t, r.Comparisons, p.About)
		for _, c := range r.Comparisons {
			require.InDelta(t, float64(c.Exact), float64(c.Stated), 1e-9, "%s: %v %s", p.About, c.Quantity, c.Of)
		}
		compared++
	}
}
