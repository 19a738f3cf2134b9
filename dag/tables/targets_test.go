package tables

import (
	"testing"

	"github.com/stretchr/testify/require"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/table"
)

// TestTargets checks that the nodes of an intervention are read from names with semicolons between
// them, and that errors name the defect.
func TestTargets(t *testing.T) {
	parsed, err := table.Parse("targets.csv", []byte("v0,v1,v2,v3,set\n1,2,3,4,\n2,1,4,3,v0\n3,4,1,2,v1\n4,3,2,1,v2\n5,2,3,1,v3\n1,5,4,2,v1; v3\n2,4,1,5,\n3,1,5,4,\n"))
	require.NoError(t, err)
	d, err := NewData(parsed, DataOptions{Intervened: "set"})
	require.NoError(t, err)
	require.ElementsMatch(t, []dgraph.Set{dgraph.SetOf(0), dgraph.SetOf(1), dgraph.SetOf(2), dgraph.SetOf(3), dgraph.SetOf(1, 3)}, d.Targets())
	_, err = d.targets("v1;x")
	require.ErrorContains(t, err, `no node "x"`)
	semicolon := &Data{Names: []string{"a;b", "a", "b"}}
	targets, err := semicolon.targets("a;b")
	require.NoError(t, err)
	require.Equal(t, []int{0}, targets, "a name that has a semicolon")

	parsed, err = table.Parse("constant.csv", []byte("a,b,set\n1,7,b\n2,3,\n3,3,\n5,3,\n4,3,\n2,6,b\n"))
	require.NoError(t, err)
	_, err = NewData(parsed, DataOptions{Intervened: "set"})
	require.ErrorContains(t, err, `column "b" is constant in the 4 rows where it is not set from outside`)
}
