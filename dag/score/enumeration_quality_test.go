//go:build quality

package score_test

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
)

var enumerationSeed = flag.Uint64("enumeration.seed", 0, "of the tables of TestChainsAgainstEnumeration and of chains")

// harderSets returns further tables: nodes that are set from outside in all rows except three or
// eight, levels that occur only in such rows, near copies in 3 to 8 rows, and categories in 3 to 8
// rows.
func harderSets() (sets []enumerationSet) {
	allBut := func(count int) func(row int) int {
		return func(row int) int {
			if row < count {
				return -1
			}
			return 1
		}
	}
	for _, nodes := range []int{4, 5} {
		for _, s := range []enumerationSet{
			{name: "all rows but three set", rows: 20, value: chainOf, set: allBut(3), setValue: 2},
			{name: "all rows but three set, near copies", rows: 12, value: copiesOf(1e-3), set: allBut(3), setValue: 1},
			{name: "copies 1e-2, 3 rows", rows: 3, value: copiesOf(1e-2)},
			{name: "copies 1e-6, 6 rows", rows: 6, value: copiesOf(1e-6)},
			{name: "scales, copies 1e-3, 8 rows", rows: 8, value: scaledOf(copiesOf(1e-3))},
			{name: "independent weights, copies 1e-4, 8 rows", rows: 8, value: copiesOf(1e-4), model: score.ModelOptions{Mechanism: sem.Linear, Sigma: 0.5}},
			{name: "categories, 4 rows", rows: 4, discrete: true, value: levelsOf(1)},
			{name: "categories, near copies, 12 rows", rows: 12, discrete: true, value: levelsOf(0.05)},
			{name: "categories, all rows but eight set", rows: 40, discrete: true, value: levelsOf(1), set: allBut(8), setValue: 2},
			{name: "categories, a level of set rows only", rows: 30, discrete: true, value: levelsOf(1), set: allBut(10), setValue: 5},
		} {
			s.nodes = nodes
			sets = append(sets, s)
		}
	}
	return sets
}

// TestChainsAgainstEnumeration compares edge probabilities by Markov chains over graphs, and by
// exact sums, with an independent enumeration of all graphs. It takes all 30 tables of
// enumerationSets and the harder tables. By chance, one of the 800 edges by chains is off by 4
// standard errors in 1 of 20 runs of the command
//
//	go test -tags quality -run ChainsAgainstEnumeration -v ./dag -args -enumeration.seed 100
func TestChainsAgainstEnumeration(t *testing.T) {
	for k, s := range append(enumerationSets(), harderSets()...) {
		seed := *enumerationSeed + uint64(k)
		p, values, counted := s.build(t, seed)
		if p.Data.Nodes() < s.nodes {
			t.Logf("%s, %d nodes: not compared, a column is constant and left out", s.name, s.nodes)
			continue
		}
		want := s.enumerate(p, values, counted)
		exact, err := dag.RunExact(t.Context(), p, dag.ExactConfig{})
		require.NoError(t, err, s.name)
		require.Equal(t, vti.Trusted, exact.Certificate.Verdict, s.name)
		difference, _ := worstZ(want, exact)
		require.Less(t, difference, 1e-6, "%s, %d nodes", s.name, s.nodes)
		s.checkChains(t, int(seed), p, want)
	}
}
