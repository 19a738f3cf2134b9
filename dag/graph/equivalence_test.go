package graph

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/transdim/vti/lab/testkit"
)

// Two graphs have the same interventional equivalence class if they have the same skeleton and
// unshielded colliders, and, for each set of targets, the same skeleton after the edges into the
// targets are removed (Hauser and Bühlmann 2012, theorem 10). The essential graph is the union of
// the graphs of a class. This is checked for all graphs of 4 nodes with several sets of targets.
func TestEssentialGraphIsTheUnionOfItsClass(t *testing.T) {
	const n = 4
	families := make([][]Set, n)
	for j := range families {
		for set := range subsets((1<<n - 1) &^ (1 << j)) {
			families[j] = append(families[j], lowSet(set))
		}
	}
	for _, targets := range [][]Set{{}, {SetOf(0)}, {SetOf(3)}, {SetOf(1, 2)}, {SetOf(0), SetOf(1)}, {SetOf(0, 1), SetOf(1, 2)}, {SetOf(0), SetOf(1), SetOf(2), SetOf(3)}} {
		union, members := map[string]*Graph{}, map[string][]*Graph{}
		testkit.EachGraph(families, func(parents []Set) bool {
			g := FromParents(parents)
			key := colliderKey(g)
			for _, set := range targets {
				cut := FromParents(parents)
				for to := range set.Nodes() {
					for _, from := range g.Parents(to) {
						cut.Set(from, to, false)
					}
				}
				key += cut.Skeleton().Key()
			}
			if union[key] == nil {
				union[key] = NewGraph(n)
			}
			for j, set := range parents {
				union[key].parents[j] = union[key].parents[j].Or(set)
			}
			members[key] = append(members[key], g)
			return true
		})
		for key, want := range union {
			for _, g := range members[key] {
				require.True(t, want.Equal(g.Essential(targets)), "%s with targets %s: want %s, got %s", g.Key(), fmt.Sprint(targets), want.Key(), g.Essential(targets).Key())
			}
		}
	}
	g := FromParents([]Set{{}, SetOf(0)})
	require.False(t, g.Essential([]Set{SetOf(1)}).Has(1, 0), "an edge into a target is directed")
	require.True(t, g.Essential([]Set{SetOf(0, 1)}).Has(1, 0), "both at once show nothing")
}
