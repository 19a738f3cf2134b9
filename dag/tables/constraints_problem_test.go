package tables_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/lab/dagtest"
	"github.com/transdim/vti/table"
)

func TestConstraints(t *testing.T) {
	d := dagtest.Chain(t, 10, tables.DataOptions{})
	s, err := d.NewStructure(tables.Constraints{Forbid: []string{"a->b"}, Require: []string{"b -> c"}, Tiers: [][]string{{"b"}, {"a"}}, MaxParents: 1})
	require.NoError(t, err)
	require.Equal(t, []dgraph.Set{dgraph.SetOf(1, 2), dgraph.SetOf(2), dgraph.SetOf(0, 1)}, s.Allowed)
	require.Equal(t, []dgraph.Set{{}, {}, dgraph.SetOf(1)}, s.Required)
	require.Equal(t, []dgraph.Family{{Node: 0, Parents: dgraph.Set{}}, {Node: 0, Parents: dgraph.SetOf(1)}, {Node: 0, Parents: dgraph.SetOf(2)}, {Node: 1, Parents: dgraph.Set{}}, {Node: 1, Parents: dgraph.SetOf(2)}, {Node: 2, Parents: dgraph.SetOf(1)}}, s.Families())

	listed, err := d.NewStructure(tables.Constraints{Require: []string{"a->b, b->c"}})
	require.NoError(t, err)
	require.Equal(t, []dgraph.Set{{}, dgraph.SetOf(0), dgraph.SetOf(1)}, listed.Required)
	for want, c := range map[string]tables.Constraints{
		`forbid: edge "a->bb": no node "bb"`:                       {Forbid: []string{"a->bb"}},
		`forbid: edge "a-b": want two nodes as a->b`:               {Forbid: []string{"a-b"}},
		`an edge from a node to itself`:                            {Require: []string{"a->a"}},
		`a->b is required and forbidden`:                           {Forbid: []string{"a->b"}, Require: []string{"a->b"}},
		`a->b is required and against the tiers: "a" is in tier 2`: {Tiers: [][]string{{"b"}, {"a"}}, Require: []string{"a->b"}},
		`the required edges make a cycle, a -> b -> c -> a`:        {Require: []string{"a->b", "b->c", "c->a"}},
		`"c" has 2 required parents and may have 1`:                {Require: []string{"a->c", "b->c"}, MaxParents: 1},
		`tiers: tier 2: no node "x"`:                               {Tiers: [][]string{{"a"}, {"x"}}},
		`node "a" is in tier 1 and again in tier 2`:                {Tiers: [][]string{{"a"}, {"a"}}},
		`max-parents: got -2, want at least 1`:                     {MaxParents: -2},
	} {
		_, err := d.NewStructure(c)
		require.ErrorContains(t, err, want)
	}
}

// A file of tiers (groups of nodes in causal order) may name a column that is constant and
// therefore not a node. The other columns keep their tiers.
func TestTiersOfConstantColumns(t *testing.T) {
	parsed, err := table.Parse("data.csv", []byte("a,b,c\n1,7,2\n2,7,1\n4,7,5\n3,7,3\n"))
	require.NoError(t, err)
	d, err := tables.NewData(parsed, tables.DataOptions{})
	require.NoError(t, err)
	s, err := d.NewStructure(tables.Constraints{Tiers: [][]string{{"c", "b"}, {"a"}}})
	require.NoError(t, err)
	require.Equal(t, []dgraph.Set{dgraph.SetOf(1), {}}, s.Allowed)
}
