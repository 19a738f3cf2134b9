package modelcheck

import (
	"math"
	"slices"

	"github.com/transdim/vti/internal/logsum"
)

// Rows that are in order count as sorted if the probability of this order by chance is below
// leastChance, a value chosen by hand.
const leastChance = 1e-4

// sorted reports whether the rows of a table were sorted by the response. Either all rows are
// sorted, or the rows are sorted within each run of neighbouring rows that have equal values of all
// columns. An example of the second case is a table of counts of yes and no that was expanded to a
// row for each answer. The order of the rows then has no information about dependence.
func sorted(r *response, columns []Column) bool {
	y := r.y
	if r.order != nil {
		y = r.order
	}
	if inOrder(y, nil) {
		return true
	}
	if len(columns) == 0 {
		return false
	}
	keys, _ := rowKeys(checked(columns, r.rows))
	return inOrder(y, keys) && logChanceOfOrder(y, keys) < math.Log(leastChance)
}

// inOrder reports whether the values never fall, or never rise, within each run of neighbours that
// have the same key. If keys is nil, all rows are a single run.
func inOrder(y []float64, keys []int) bool {
	up, down := true, true
	for i := 1; i < len(y); i++ {
		if keys != nil && keys[i] != keys[i-1] {
			continue
		}
		up = up && y[i] >= y[i-1]
		down = down && y[i] <= y[i-1]
	}
	return up || down
}

// logChanceOfOrder returns the log of the probability that the values never fall if they are
// permuted at random within each run of neighbours with the same key. For a run of n values this is
// the product of the factorials of the multiplicities of equal values, divided by n!.
func logChanceOfOrder(y []float64, keys []int) float64 {
	factorial := func(n int) float64 { return logsum.Gamma(float64(n + 1)) }
	var total float64
	for first := 0; first < len(y); {
		last := first + 1
		for last < len(y) && keys[last] == keys[first] {
			last++
		}
		run := slices.Sorted(slices.Values(y[first:last]))
		total -= factorial(len(run))
		for i := 0; i < len(run); {
			j := i
			for j < len(run) && run[j] == run[i] {
				j++
			}
			total += factorial(j - i)
			i = j
		}
		first = last
	}
	return total
}
