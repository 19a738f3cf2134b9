package score

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
)

// jointProblem returns a table whose columns have the given numbers of levels; 0 stands for a
// column of numbers. Some columns depend on other columns.
func jointProblem(t *testing.T, rows int, levels []int, options ModelOptions) *Problem {
	random := rand.New(rand.NewPCG(uint64(rows), 2))
	var names, discrete []string
	values := make([][]float64, rows)
	for j, nodeLevels := range levels {
		names = append(names, fmt.Sprint("x", j))
		if nodeLevels > 0 {
			discrete = append(discrete, names[j])
		}
	}
	for i := range values {
		sum := 0.0
		for _, nodeLevels := range levels {
			value := 0.3*sum + random.NormFloat64()
			if nodeLevels > 0 {
				value = float64(i % nodeLevels) // so that all levels occur
				if i >= nodeLevels {
					value = float64(random.IntN(nodeLevels) * random.IntN(2))
				}
			}
			values[i], sum = append(values[i], value), sum+value
		}
	}
	d, err := tables.NewData(tableOf(t, names, values), tables.DataOptions{Discrete: discrete})
	require.NoError(t, err)
	p, err := NewProblem(d, options, tables.Constraints{})
	require.NoError(t, err)
	return p
}

// everySet calls the function each for all sets of 2 to most items, with the places of the items
// and the log evidence L of the set together with the base.
func everySet(stack JointStack, items, most int, each func(places []int, value float64)) {
	var from func(places []int, below int)
	from = func(places []int, below int) {
		for place := range below {
			stack.Push(place)
			extended := append([]int{place}, places...)
			out := make([]float64, place)
			stack.Evidences(out)
			for a, value := range out {
				each(append([]int{a}, extended...), value)
			}
			if len(extended)+1 < most {
				from(extended, place)
			}
			stack.Pop()
		}
	}
	from(nil, items)
}

// TestJointGivesFamilies checks that differences of log evidences L of sets of columns are the
// evidences of nodes given their parents. This includes rows counted one by one and 64 at a time.
func TestJointGivesFamilies(t *testing.T) {
	for name, p := range map[string]*Problem{
		"two levels": jointProblem(t, 700, []int{2, 2, 2, 2, 2, 2, 2}, ModelOptions{}),
		"levels":     jointProblem(t, 300, []int{2, 3, 2, 5, 2, 4, 21}, ModelOptions{}),
		"few rows":   jointProblem(t, 25, []int{2, 3, 2, 2, 4, 4, 2}, ModelOptions{ImaginarySampleSize: 3}),
		"numbers":    jointProblem(t, 40, make([]int, 7), ModelOptions{}),
	} {
		forms := p.Forms()
		for _, base := range []dgraph.Set{{}, dgraph.SetOf(4), dgraph.SetOf(1, 5)} {
			items := dgraph.Below(7).Minus(base).List()
			stack, evidence := p.NewJoint(0).Stack(base, items)
			values, count := map[dgraph.Set]float64{base: evidence}, 0
			single := make([]float64, len(items))
			stack.Evidences(single)
			for place, value := range single {
				values[base.With(items[place])] = value
			}
			everySet(stack, len(items), 5, func(places []int, value float64) {
				set := base
				for _, place := range places {
					set = set.With(items[place])
				}
				values[set] = value
			})
			for set, value := range values {
				for j := range set.Minus(base).Nodes() {
					parents := set.Without(j)
					require.InDelta(t, forms[j].LogEvidence(parents), value-values[parents], 1e-8, "%s: %d given %v", name, j, parents.List())
					count++
				}
			}
			require.Greater(t, count, 70)
		}
	}
}

// TestJointOfMixedTables checks that the log evidence of a set of columns does not depend on the
// order in which the columns are listed.
func TestJointOfMixedTables(t *testing.T) {
	p := jointProblem(t, 200, []int{0, 3, 0, 2, 0, 4}, ModelOptions{Mechanism: sem.Mixed})
	values := map[dgraph.Set]float64{}
	for _, items := range [][]int{{0, 1, 2, 3, 4, 5}, {5, 3, 1, 0, 2, 4}, {1, 2, 5, 4, 3, 0}} {
		stack, _ := p.NewJoint(0).Stack(dgraph.Set{}, items)
		everySet(stack, len(items), 4, func(places []int, value float64) {
			set := dgraph.Set{}
			for _, place := range places {
				set = set.With(items[place])
			}
			if known, ok := values[set]; ok {
				require.InDelta(t, known, value, 1e-8)
			}
			values[set] = value
		})
	}
	require.Len(t, values, 15+20+15)
}

// TestStandardized checks that a constant column stays finite.
func TestStandardized(t *testing.T) {
	require.Equal(t, [][]float64{{0, -1}, {0, 1}}, standardized([][]float64{{0.1, 2}, {0.1, 6}}))
}
