package walk

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/lab/dagtest"
)

// The graph of the walk bad differs from the graph of the walk good at three nodes. Two nodes lost
// parents that explain them, at a cost of more than 20 nats each: bad takes over their parents from
// good. The third, a column of noise, has one edge more or less: bad keeps its version.
func TestLeavingHopelessModes(t *testing.T) {
	wide, _ := wideProblem(t, 300, []int{3, 64, 126, 127, 128, 129, 135, 139})
	for j, allowed := range wide.Structure.Allowed {
		if allowed.Empty() { // columns of noise may depend on columns 5 and 6, at a small cost
			wide.Structure.Allowed[j] = dgraph.SetOf(5, 6).Without(j)
		}
	}
	c := candidatesOf(wide, make([][]int, 140))
	require.NoError(t, c.findTogether(t.Context()))
	for j := range c.parents {
		c.selectForward(j, 4)
		c.scoreSets(t.Context(), j)
	}
	tables, err := c.newTables(t.Context(), 1)
	require.NoError(t, err)
	good := newWalk(tables, dagtest.Random(1))
	for range 50 {
		good.sweep()
	}
	bad := newWalk(tables, dagtest.Random(2))
	for j, parents := range good.parents {
		bad.setFamily(j, parents)
	}
	var lost []int
	for j, parents := range good.parents {
		if good.present(j)-good.scoreOf(j, dgraph.Set{}) > hopeless+1 && !slices.ContainsFunc(lost, parents.Has) {
			lost = append(lost, j)
		}
	}
	require.GreaterOrEqual(t, len(lost), 2)
	for _, j := range lost[:2] {
		bad.setFamily(j, dgraph.Set{})
	}
	bad.setFamily(5, good.parents[5].Toggle(6))
	if good.parents[6].Has(5) {
		bad.setFamily(6, dgraph.Set{})
	}
	five := bad.parents[5]
	bad.rescore()
	before := bad.score
	require.Len(t, bad.differingParts(good.parents), 3)
	kept := slices.Clone(good.parents)
	leaveHopelessModes([]*walk{bad, good})
	for _, j := range lost[:2] {
		require.Equal(t, good.parents[j], bad.parents[j])
	}
	require.Equal(t, five, bad.parents[5])
	require.Equal(t, kept, good.parents)
	require.Greater(t, bad.score, before+2*hopeless)
	require.True(t, dgraph.Acyclic(bad.parents))
}
