package walk

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/lab/dagtest"
)

// Two graphs differ in three parts: an edge that is turned, a node that loses a parent, and two
// nodes that an edge joins in one of the graphs only.
func TestDifferingParts(t *testing.T) {
	a := []dgraph.Set{{}, dgraph.SetOf(0), {}, dgraph.SetOf(2), {}, dgraph.SetOf(4), {}}
	b := []dgraph.Set{dgraph.SetOf(1), {}, {}, {}, dgraph.SetOf(6), {}, {}}
	require.Equal(t, [][]int{{0, 1}, {3}, {4, 5}}, differingParts(a, b))
	require.Empty(t, differingParts(a, a))
}

// A chain that only jumps between two versions of a part visits them in proportion to their
// weights, within 5 standard errors of independent draws times √((1+r)/(1−r)), where r is the
// correlation of successive draws. It never takes a version that closes a cycle.
func TestJumps(t *testing.T) {
	wide, _ := wideProblem(t, 60, []int{3, 64, 126, 127, 128, 129, 135, 139})
	c := candidatesOf(wide, make([][]int, 140))
	require.NoError(t, c.findTogether(t.Context()))
	for j := range c.parents {
		c.selectForward(j, 4)
		c.scoreSets(t.Context(), j)
	}
	tables, err := c.newTables(t.Context(), 1)
	require.NoError(t, err)
	w, other := newWalk(tables, dagtest.Random(1)), newWalk(tables, dagtest.Random(2))
	for _, walk := range []*walk{w, other} {
		for j := range walk.parents {
			walk.setFamily(j, dgraph.Set{})
		}
	}
	w.setFamily(64, dgraph.SetOf(129)) // 129 → 64 in one graph, 64 → 129 with one parent more in the other
	other.setFamily(129, dgraph.SetOf(64, 139))
	findJumps([]*walk{w, other})
	require.Len(t, w.jumps, 1)
	difference := other.scoreOf(129, other.parents[129]) + other.scoreOf(64, dgraph.Set{}) - w.scoreOf(129, dgraph.Set{}) - w.scoreOf(64, w.parents[64])
	p := 1 / (1 + math.Exp(-difference))
	t.Logf("probability %.3f", p)
	require.InDelta(t, 0.5, p, 0.49, "a test of two versions needs both")
	w.rescore()
	const draws = 40000
	count := 0.0
	for range draws {
		w.jump()
		count += dgraph.Indicator(w.parents[129].Has(64))
	}
	score := w.score
	w.rescore()
	require.InDelta(t, w.score, score, 1e-6, "the score follows jumps")
	r := 1 - math.Min(1, math.Exp(difference)) - math.Min(1, math.Exp(-difference)) // second eigenvalue of the chain
	se := math.Sqrt(p * (1 - p) / draws * (1 + r) / (1 - r))
	require.InDelta(t, p, count/draws, 5*se)
	// a version in which 129 has its descendant 3 as a parent
	w.setFamily(64, dgraph.SetOf(129))
	w.setFamily(129, dgraph.Set{})
	w.setFamily(139, dgraph.SetOf(64))
	w.setFamily(3, dgraph.SetOf(139))
	w.jumps = []jump{{nodes: []int{129, 64}, versions: [2][]dgraph.Set{{{}, dgraph.SetOf(129)}, {dgraph.SetOf(3), dgraph.SetOf(129)}}}}
	for range 100 {
		w.jump()
		require.False(t, w.parents[129].Has(3), "3 descends from 129")
	}
}
