package walk

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/lab/dagtest"
)

// Chains agree with exact sums for both priors, with constraints, and with few candidate parents of
// each node. In the last case, moves that change one edge find most sets of parents. Edge
// probabilities agree within 0.02 plus 5 Monte Carlo standard errors.
func TestGraphChainsAgainstExactSums(t *testing.T) {
	for name, test := range map[string]struct {
		nodes       int
		model       score.ModelOptions
		constraints tables.Constraints
		candidates  int
	}{
		"graphs":          {8, score.ModelOptions{EdgePenalty: 0.5}, tables.Constraints{}, 0},
		"orders":          {10, score.ModelOptions{Sigma: 1, Orders: true}, tables.Constraints{}, 0},
		"few candidates":  {8, score.ModelOptions{}, tables.Constraints{}, 3},
		"few, orders":     {8, score.ModelOptions{Orders: true}, tables.Constraints{}, 3},
		"constraints":     {8, score.ModelOptions{}, tables.Constraints{Require: []string{"x1->x0", "x4->x5"}, Forbid: []string{"x2->x3"}, MaxParents: 2}, 4},
		"constraints too": {8, score.ModelOptions{Orders: true}, tables.Constraints{Require: []string{"x1->x0"}, Tiers: [][]string{{"x3", "x2"}, {"x7"}}}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && test.candidates != 4 {
				t.Skip("takes seconds")
			}
			s, err := sem.Simulate(sem.Simulation{Nodes: test.nodes, Rows: 60, EdgeProbability: 0.4, Mechanism: sem.Linear, Seed: 3})
			require.NoError(t, err)
			d, err := tables.NewData(dagtest.Table(t, s.Names, s.Values), tables.DataOptions{})
			require.NoError(t, err)
			p, err := score.NewProblem(d, test.model, test.constraints)
			require.NoError(t, err)
			scores, err := p.ExactScores(t.Context(), nil)
			require.NoError(t, err)
			posterior, err := score.NewPosterior(context.Background(), p.Structure, scores, nil)
			require.NoError(t, err)
			sampled, err := SampleGraphs(p, t.Context(), ChainConfig{Candidates: test.candidates, Chains: 4, Rounds: 3, Seed: 1}, func(string) {})
			require.NoError(t, err)
			edges := sampled.Edges()
			worst := edges.Worst
			require.Less(t, worst.RHat, 1.05)
			require.Less(t, worst.MCSE, 0.03)
			want := posterior.EdgeProbabilities()
			largest := 0.0
			for _, e := range dgraph.OrderedPairs(test.nodes) {
				estimate, se := edges.Probabilities[e.From][e.To], edges.Errors[e.From][e.To]
				error := math.Abs(estimate - want[e.From][e.To])
				largest = math.Max(largest, error)
				require.Less(t, error, 0.02+5*se, "%d to %d: %g for %g", e.From, e.To, estimate, want[e.From][e.To])
			}
			t.Logf("worst edge %.4f, R-hat %.4f, ESS %.0f, %d sweeps", largest, worst.RHat, worst.ESS, sampled.sweeps)
		})
	}
}

// The scores of sets of parents that chains use equal the scores of the exact sums.
func TestCandidates(t *testing.T) {
	s, err := sem.Simulate(sem.Simulation{Nodes: 6, Rows: 50, Mechanism: sem.Linear, Seed: 5})
	require.NoError(t, err)
	d, err := tables.NewData(dagtest.Table(t, s.Names, s.Values), tables.DataOptions{})
	require.NoError(t, err)
	p, err := score.NewProblem(d, score.ModelOptions{EdgePenalty: 0.7}, tables.Constraints{Require: []string{"x1->x0"}, Forbid: []string{"x2->x0"}, MaxParents: 3})
	require.NoError(t, err)
	exact, err := p.ExactScores(t.Context(), nil)
	require.NoError(t, err)
	c, err := newCandidates(t.Context(), nil, p, 4, func(int, int) {})
	require.NoError(t, err)
	tables, err := c.newTables(t.Context(), 1)
	require.NoError(t, err)
	require.NotContains(t, c.parents[0], 1, "required")
	require.NotContains(t, c.parents[0], 2, "forbidden")
	found := 0
	for k, f := range exact.Families {
		mask := tables.localMask(f.Node, f.Parents)
		if mask == outside {
			continue
		}
		found++
		require.Equal(t, f.Parents, c.parentsOf(f.Node, mask))
		require.InDelta(t, exact.LogEvidence[k], c.scores[f.Node][mask], 1e-9)
		sum := math.Inf(-1)
		for other := range c.scores[f.Node] {
			if other&^mask == 0 {
				sum = logsum.Add(sum, tables.weight(f.Node, other))
			}
		}
		require.InDelta(t, sum, tables.within[f.Node][mask], 1e-9)
	}
	listed := 0
	for _, masks := range tables.sorted {
		listed += len(masks)
	}
	require.Equal(t, found, listed)
}

// Random sorts have the stated probability u: the mean of 1/u over sorts of a graph is the number
// of orders of the graph, within 5 standard errors.
func TestSortsCountOrders(t *testing.T) {
	g := dgraph.NewGraph(6)
	for _, e := range []dgraph.Edge{{From: 0, To: 1}, {From: 0, To: 2}, {From: 3, To: 2}, {From: 2, To: 5}} {
		g.Set(e.From, e.To, true)
	}
	w := newOrderedGraph(g.ParentSets(), dagtest.Random(3))
	const sorts = 20000
	var sum, squares float64
	for range sorts {
		logProbability := w.sort()
		require.InDelta(t, logProbability, w.logSort(), 1e-12)
		counts := slices.Clone(w.counts)
		w.resort(0, 5)
		require.Equal(t, counts, w.counts)
		for j, set := range w.parents {
			for i := range set.Nodes() {
				require.Less(t, w.position[i], w.position[j])
			}
		}
		sum += math.Exp(-logProbability) / sorts
		squares += math.Exp(-2*logProbability) / sorts
	}
	require.InDelta(t, g.Orders(), sum, 5*math.Sqrt((squares-sum*sum)/sorts))
}

// New candidates are chosen only for nodes for which chains visit other parents, and a node gets
// more candidates where the visits require it.
func TestRefinedCandidates(t *testing.T) {
	s, err := sem.Simulate(sem.Simulation{Nodes: 8, Rows: 50, Mechanism: sem.Linear, Seed: 5})
	require.NoError(t, err)
	d, err := tables.NewData(dagtest.Table(t, s.Names, s.Values), tables.DataOptions{})
	require.NoError(t, err)
	p, err := score.NewProblem(d, score.ModelOptions{}, tables.Constraints{Require: []string{"x1->x0"}, Forbid: []string{"x2->x0"}})
	require.NoError(t, err)
	c, err := newCandidates(t.Context(), nil, p, 3, func(int, int) {})
	require.NoError(t, err)
	visits := dgraph.Zeros(8)
	// x1 is required and x2 is forbidden; one more candidate does not suffice
	visits[0] = []float64{0, 1, 0, 0.5, 0.4, 0.3, 0.2, 0.15}
	for _, i := range c.parents[3] {
		visits[3][i] = 1
	}
	for i := range visits[4] {
		if i != 4 {
			visits[4][i] = 0.02
		}
	}
	refined, err := c.refined(t.Context(), nil, visits, 3)
	require.NoError(t, err)
	require.Equal(t, []int{3, 4, 5, 6, 7}, refined.parents[0])
	for mask, score := range refined.scores[0] {
		require.InDelta(t, c.score(0, refined.parentsOf(0, mask)), score, 1e-12)
	}
	for j := 1; j < 8; j++ {
		require.Equal(t, c.parents[j], refined.parents[j])
	}
	tables, err := c.newTables(t.Context(), 1)
	require.NoError(t, err)
	w := newWalk(tables, dagtest.Random(1))
	w.setFamily(0, dgraph.SetOf(1, 3, 4, 5, 6))
	if w.tables.localMask(0, dgraph.SetOf(1, 3, 4, 5, 6)) != outside {
		t.Fatal("4 of 3 candidates")
	}
	tables, err = refined.newTables(t.Context(), 1)
	require.NoError(t, err)
	w.use(tables)
	require.Equal(t, 0b1111, w.local[0])
}

// No round begins that would take longer than the time left.
func TestChainsEndInTime(t *testing.T) {
	p, _ := windowProblem(t, true)
	cfg := ChainConfig{Chains: 2, Rounds: 2, Candidates: 3, Seed: 4}
	sample := func() *Graphs {
		sampled, err := SampleGraphs(p, t.Context(), cfg, func(string) {})
		require.NoError(t, err)
		return sampled
	}
	require.Equal(t, 2, sample().sweeps, "a round is not enough")
	cfg.MaxTime = time.Nanosecond
	limited := sample()
	require.Equal(t, 1, limited.sweeps)
	cfg.MaxTime, cfg.Rounds = time.Hour, 1
	require.Equal(t, sample().Graphs, limited.Graphs)
}
