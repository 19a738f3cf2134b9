package graph

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/transdim/vti/lab/testkit"
	"pgregory.net/rapid"
)

func TestCycle(t *testing.T) {
	g := FromParents([]Set{{}, SetOf(0, 3), SetOf(1), SetOf(2), SetOf(3)})
	require.Equal(t, []int{1, 2, 3}, g.Cycle())
	_, ok := g.Order()
	require.False(t, ok)
	require.Zero(t, g.Orders())
	g.Set(3, 1, false)
	require.Nil(t, g.Cycle())
	order, ok := g.Order()
	require.True(t, ok)
	require.Equal(t, []int{0, 1, 2, 3, 4}, order)
}

// A graph has a cycle if and only if some power of its adjacency matrix has a diagonal entry.
func TestAcyclicityByPowers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 7).Draw(t, "n")
		g := NewGraph(n)
		for i := range n {
			for j := range n {
				if i != j {
					g.Set(i, j, rapid.IntRange(0, 3).Draw(t, "edge") == 0)
				}
			}
		}
		reach := make([]bool, n*n)
		for i := range n {
			for j := range n {
				reach[i*n+j] = g.Has(i, j)
			}
		}
		cyclic := false
		for k := range n { // Warshall's algorithm
			for i := range n {
				for j := range n {
					reach[i*n+j] = reach[i*n+j] || reach[i*n+k] && reach[k*n+j]
				}
			}
		}
		for i := range n {
			cyclic = cyclic || reach[i*n+i]
		}
		_, ok := g.Order()
		require.Equal(t, !cyclic, ok)
		cycle := g.Cycle()
		require.Equal(t, cyclic, cycle != nil)
		for k, node := range cycle {
			require.True(t, g.Has(node, cycle[(k+1)%len(cycle)]))
		}
		require.True(t, FromParents(g.ParentSets()).Equal(g))
	})
}

// Two graphs are equivalent if they have the same skeleton and unshielded colliders (Verma and
// Pearl 1990). An edge of the CPDAG is directed if it has the same direction in all graphs of the
// class. This is checked for all graphs of 2 to 5 nodes.
func TestCPDAGIsTheUnionOfItsClass(t *testing.T) {
	for n := 2; n <= 5; n++ {
		if n == 5 && testing.Short() {
			continue
		}
		union, members := map[string]*Graph{}, map[string][]*Graph{}
		families := make([][]Set, n)
		for j := range families {
			for set := range subsets((1<<n - 1) &^ (1 << j)) {
				families[j] = append(families[j], lowSet(set))
			}
		}
		testkit.EachGraph(families, func(parents []Set) bool {
			g := FromParents(parents)
			key := colliderKey(g)
			if union[key] == nil {
				union[key] = NewGraph(n)
			}
			for j, set := range parents {
				union[key].parents[j] = union[key].parents[j].Or(set)
			}
			members[key] = append(members[key], g)
			return true
		})
		classes := map[string]bool{}
		for key, want := range union {
			for _, g := range members[key] {
				require.True(t, want.Equal(g.CPDAG()), "%s: want %s, got %s", g.Key(), want.Key(), g.CPDAG().Key())
			}
			classes[want.Key()] = true
		}
		require.Len(t, classes, len(union), "classes have different CPDAGs")
		require.Len(t, classes, []int{0, 0, 2, 11, 185, 8782}[n], "the number of classes (Gillispie and Perlman 2001)")
	}
}

// colliderKey returns a text that stands for the skeleton and the unshielded colliders of a graph.
func colliderKey(g *Graph) string {
	colliders := NewGraph(g.Nodes() * g.Nodes())
	for to := range g.Nodes() {
		for _, a := range g.Parents(to) {
			for _, b := range g.Parents(to) {
				if a < b && !g.Adjacent(a, b) {
					colliders.Set(to*g.Nodes()+a, to*g.Nodes()+b, true)
				}
			}
		}
	}
	return g.Skeleton().Key() + colliders.Key()
}
