package walk

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/logsum"
)

// Steps that turn edges, mixed with a few steps that add and remove edges, leave the posterior
// invariant: no edge probability is off by 5 standard errors. Compared with the posterior for
// another prior, some edge probabilities are off by 8.
func TestTurnsAgainstExactSums(t *testing.T) {
	p, tables := windowProblem(t, false)
	for name, steps := range map[string]func(w *walk){
		"turn":    func(w *walk) { w.turn(); w.turn(); w.addOrRemove() },
		"reverse": func(w *walk) { w.reverse(); w.reverse(); w.addOrRemove() },
		"block":   func(w *walk) { w.block(4); w.block(3); w.addOrRemove() },
		"doubtful blocks": func(w *walk) {
			w.blocks = newDoubtfulBlocks([][]float64{{0, 0.3, 0, 0, 0.9}, {0.1, 0, 0.5, 0, 0}, {0, 0, 0, 0.01, 0}, {0, 0.2, 0.4, 0, 0}, {0, 0, 0.6, 0.7, 0}})
			w.block(4)
			w.block(2)
			w.addOrRemove()
		},
		"doubtful pairs": func(w *walk) {
			w.pairs = newDoubtfulPairs([][]float64{{0, 0, 0, 0, 0}, {1, 0, 0, 0, 0}, {0.01, 0.3, 0, 0, 0}, {2, 0.05, 0.7, 0, 0}, {0.02, 5, 0.1, 0.4, 0}})
			w.toggleDoubtful()
			w.toggleDoubtful()
			w.toggleDoubtful()
		},
		"all": func(w *walk) { w.reverse(); w.turn(); w.block(5); w.addOrRemove() },
	} {
		require.Less(t, farthest(t, p, tables, steps), 5.0, name)
	}
	other := *p
	other.Structure.Prior = dgraph.PenaltyPrior(5, 0.9)
	require.Greater(t, farthest(t, &other, tables, func(w *walk) { w.reverse(); w.addOrRemove() }), 8.0)
}

// Sums over the sets with a certain candidate are right, both as differences and added up one by
// one. Draws pick each set with its probability, even if the weights of these sets are far below
// the weights of other sets.
func TestContaining(t *testing.T) {
	_, tables := windowProblem(t, false)
	checkContaining(t, tables)
	tables.scores[0][len(tables.scores[0])-1] += 2000
	tables, err := tables.newTables(t.Context(), 1)
	require.NoError(t, err)
	checkContaining(t, tables)
	rest := len(tables.scores[0]) - 2 // without the first candidate
	total, below := tables.within[0][rest], 0.0
	for _, set := range tables.sorted[0] {
		if m := int(set.mask); m&^rest == 0 {
			probability := math.Exp(tables.weight(0, m) - total)
			require.Equal(t, m, tables.pick(0, rest, 0, total, below+probability/2))
			below += probability
		}
	}
	require.InDelta(t, 1, below, 1e-9)
}

func checkContaining(t *testing.T, tables *orderTables) {
	for j, candidates := range tables.parents {
		all := 1<<len(candidates) - 1
		for k := range candidates {
			want := math.Inf(-1)
			for mask := range all + 1 {
				if mask>>k&1 != 0 {
					want = logsum.Add(want, tables.weight(j, mask))
				}
			}
			require.InDelta(t, want, tables.containing(j, all, 1<<k), 1e-8)
			require.NotZero(t, tables.pick(j, all, 1<<k, want, 0)>>k&1)
		}
	}
}
