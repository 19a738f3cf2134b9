package walk

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/dag/dagtest"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/internal/verdict"
)

// parityTable has yes/no columns, of which the first, but for a share of flips, is the parity of
// some others that follow: any of these is independent of all but one of the rest.
func parityTable(t *testing.T, nodes, rows, parents int, flips float64, seed uint64) *score.Problem {
	random := rand.New(rand.NewPCG(seed, 1))
	names, values := make([]string, nodes), make([][]float64, rows)
	for j := range names {
		names[j] = fmt.Sprint("x", j)
	}
	for i := range values {
		values[i] = make([]float64, nodes)
		sum := 0
		for j := range values[i] {
			value := random.IntN(2)
			if 1 <= j && j <= parents {
				sum += value
			}
			values[i][j] = float64(value)
		}
		if random.Float64() < flips {
			sum++
		}
		values[i][0] = float64(sum % 2)
	}
	d, err := tables.NewData(dagtest.Table(t, names, values), tables.DataOptions{Discrete: names})
	require.NoError(t, err)
	p, err := score.NewProblem(d, score.ModelOptions{}, tables.Constraints{MaxParents: 4})
	require.NoError(t, err)
	return p
}

// TestParentsThatMatterOnlyTogether: columns whose parity is nearly constant and that are
// independent but for that are found among others. Chains had never had all of three as
// candidates: the answer without them, 60 to 110 nats worse, was trusted.
func TestParentsThatMatterOnlyTogether(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	for _, parents := range []int{2, 3} {
		p := parityTable(t, 20, 200, parents, 0.05, uint64(parents))
		sampled, err := SampleGraphs(p, t.Context(), ChainConfig{Seed: 1}, func(string) {})
		require.NoError(t, err)
		require.Equal(t, vti.Trusted, verdict.Judge(Measured(len(sampled.Graphs), KeptGraphs, sampled.Edges().Worst)).Verdict)
		for _, chain := range sampled.Graphs {
			for _, graph := range chain {
				found, all := false, dgraph.Below(parents+1)
				for j := range all.Nodes() {
					found = found || all.Without(j).Within(graph[j])
				}
				require.True(t, found, "%d: %v", parents, graph)
			}
		}
	}
}

// TestTogether compares with a sum over all subsets, with and without a base, required and
// forbidden parents and a largest number of them.
func TestTogether(t *testing.T) {
	s, err := sem.Simulate(sem.Simulation{Nodes: 7, Rows: 40, EdgeProbability: 0.5, Mechanism: sem.Linear, Seed: 4})
	require.NoError(t, err)
	d, err := tables.NewData(dagtest.Table(t, s.Names, s.Values), tables.DataOptions{})
	require.NoError(t, err)
	for _, constraints := range []tables.Constraints{{}, {Require: []string{"x1->x0"}, Forbid: []string{"x2->x0"}, MaxParents: 4}} {
		p, err := score.NewProblem(d, score.ModelOptions{}, constraints)
		require.NoError(t, err)
		c := &candidates{problem: p, forms: p.Forms()}
		for _, base := range []dgraph.Set{p.Structure.Required[0], p.Structure.Required[0].With(3)} {
			weight := func(set dgraph.Set) float64 {
				if !p.Structure.Allows(0, set) {
					return math.Inf(-1)
				}
				return c.forms[0].LogEvidence(set) + p.Structure.Prior.LogWeight(0, set)
			}
			sets := []dgraph.Set{base} // by size within a node
			for _, i := range p.Structure.Allowed[0].Minus(base).List() {
				for _, set := range sets {
					sets = append(sets, set.With(i))
				}
			}
			want, highest, most := map[int]float64{}, 0.0, dgraph.Set{}
			for _, set := range sets {
				if set.Len() < base.Len()+2 {
					continue
				}
				below := math.Inf(-1)
				for _, other := range sets {
					if other != set && other.Within(set) {
						below = math.Max(below, weight(other))
					}
				}
				if gain := weight(set) - below; gain > 0 {
					if gain > highest {
						highest, most = gain, set.Minus(base)
					}
					for i := range set.Minus(base).Nodes() {
						want[i] = math.Max(want[i], gain)
					}
				}
			}
			gains, found := c.together(t.Context(), 0, base)
			require.Equal(t, most, found)
			require.Len(t, gains, len(want))
			for i, gain := range want {
				require.InDelta(t, gain, gains[i], 1e-9)
			}
		}
	}
}
