package graph

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/transdim/vti/lab/testkit"
)

// The truth is 0 → 1 → 2. The answer is the graph with the only edge 1 → 0, with probability 3/4,
// or the truth, with probability 1/4.
func TestMetricsByHand(t *testing.T) {
	truth := FromParents([]Set{{}, SetOf(0), SetOf(1)})
	posterior := []Weighted{{FromParents([]Set{SetOf(1), {}, {}}), 0.75}, {truth, 0.25}}
	m := Evaluate(truth, posterior)

	require.InDelta(t, 0.25, float64(m.Paper.F1), 1e-12)
	require.InDelta(t, 0.75*3, float64(m.Paper.SHD), 1e-12, "entries 01, 10 and 12")
	require.InDelta(t, 0.75*0.75*3, float64(m.Paper.Brier), 1e-12)
	// the wrong graph: sensitivity 0, specificity 6/7 with the diagonal
	require.InDelta(t, 0.75*(6.0/7)/2+0.25, float64(m.Paper.AUROC), 1e-12)

	require.InDelta(t, 0.25, float64(m.Graph.ExpectedF1), 1e-12)
	require.Zero(t, float64(m.Graph.MedianF1))
	require.InDelta(t, 0.75*2, float64(m.Graph.ExpectedSHD), 1e-12, "the reversed edge counts once")
	require.InDelta(t, 0.75*3, float64(m.Graph.ExpectedSHDTwice), 1e-12)
	require.InDelta(t, 2, float64(m.Graph.MedianSHD), 1e-12)
	require.InDelta(t, 3, float64(m.Graph.MedianSHDTwice), 1e-12)
	require.InDelta(t, 0.75*0.75*3/6, float64(m.Graph.Brier), 1e-12)
	// edge probabilities: 0.25 for each true edge; 0.75 for 1 → 0 and 0 for the remaining three
	require.InDelta(t, 0.75, float64(m.Graph.AUROC), 1e-12)
	require.InDelta(t, 0.75*(3.0/4)/2+0.25, float64(m.Graph.AUROCGraphs), 1e-12)

	// skeleton: 0 − 1 is always found, 1 − 2 with probability 1/4, and 0 − 2 never
	require.InDelta(t, 0.75*2.0/3+0.25, float64(m.Skeleton.ExpectedF1), 1e-12)
	require.InDelta(t, 0.75, float64(m.Skeleton.ExpectedSHD), 1e-12)
	require.Equal(t, m.Skeleton.ExpectedSHD, m.Skeleton.ExpectedSHDTwice)
	require.InDelta(t, 0.75*0.75/3, float64(m.Skeleton.Brier), 1e-12)
	require.InDelta(t, 1, float64(m.Skeleton.AUROC), 1e-12)

	// equivalence classes: the truth becomes 0 − 1 − 2 without directions, and 1 → 0 becomes 0 − 1
	require.InDelta(t, 0.75*2.0/3+0.25, float64(m.CPDAG.ExpectedF1), 1e-12)
	require.InDelta(t, 0.75, float64(m.CPDAG.ExpectedSHD), 1e-12)
	require.InDelta(t, 1.5, float64(m.CPDAG.ExpectedSHDTwice), 1e-12)
}

// The metrics have their best values for a perfect answer, and known values for the empty graph.
func TestMetricsAtTheEnds(t *testing.T) {
	truth := FromParents([]Set{{}, {}, SetOf(0, 1), SetOf(2)})
	m := Evaluate(truth, []Weighted{{truth, 1}})
	for _, part := range []EdgeMetrics{m.Graph, m.Skeleton, m.CPDAG} {
		require.Equal(t, EdgeMetrics{ExpectedF1: 1, MedianF1: 1, AUROC: 1, AUROCGraphs: 1}, part)
	}
	require.Equal(t, PaperMetrics{F1: 1, AUROC: 1}, m.Paper)
	m = Evaluate(truth, []Weighted{{NewGraph(4), 1}})
	require.Equal(t, PaperMetrics{SHD: 3, Brier: 3, AUROC: 0.5}, m.Paper)
	require.Equal(t, EdgeMetrics{ExpectedSHD: 3, ExpectedSHDTwice: 3, MedianSHD: 3, MedianSHDTwice: 3, Brier: 0.25, AUROC: 0.5, AUROCGraphs: 0.5}, m.Graph)
}

// AUROC agrees with its definition by a loop over all pairs of cases.
func TestAUROC(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		n := 2 + random.IntN(20)
		scores, labels := make([]float64, n), make([]bool, n)
		for i := range scores {
			scores[i], labels[i] = float64(random.IntN(5)), random.IntN(2) == 0
		}
		var wins, pairs float64
		for i := range n {
			for j := range n {
				if !labels[i] || labels[j] {
					continue
				}
				pairs++
				switch {
				case scores[i] > scores[j]:
					wins++
				case scores[i] == scores[j]:
					wins += 0.5
				}
			}
		}
		if got := AUROC(scores, labels); pairs == 0 {
			require.True(t, math.IsNaN(got))
		} else {
			require.InDelta(t, wins/pairs, got, 1e-12)
		}
	}
}

// FewestReversals agrees with the smallest distance from the graph to any acyclic graph.
func TestFewestReversals(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	families := make([][]Set, 4)
	for j := range families {
		for set := range subsets(15 &^ (1 << j)) {
			families[j] = append(families[j], lowSet(set))
		}
	}
	for range 20 {
		g := NewGraph(4)
		for _, p := range OrderedPairs(4) {
			g.Set(p.From, p.To, random.IntN(2) == 0)
		}
		best := math.Inf(1)
		testkit.EachGraph(families, func(parents []Set) bool {
			best = min(best, pairDistance(g, FromParents(parents)))
			return true
		})
		// if two nodes have edges in both directions, one must be removed: the pair differs by 1
		fewest, ok := g.FewestReversals()
		require.True(t, ok)
		require.Equal(t, int(best), fewest, g.Key())
	}
}
