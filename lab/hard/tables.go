package hard

import (
	"math/rand/v2"

	"github.com/transdim/vti/calibrate"
	"github.com/transdim/vti/table"
)

func uniform(random *rand.Rand, low, high float64) float64 {
	return low + (high-low)*random.Float64()
}

// targetsOf returns the column with the name v1, v2, … of the node that an intervention set in each
// row. The argument set holds the numbers of these nodes from 0, or −1 if no node was set.
func targetsOf(set []int) *table.Column {
	numbers := make([]int, len(set))
	for i, j := range set {
		if numbers[i] = -1; j >= 0 {
			numbers[i] = j + 1
		}
	}
	return calibrate.Labelled("target", "v", numbers)
}

// compared returns the comparison of a stated number with an exact number.
func compared(quantity calibrate.Quantity, subject string, stated, se, exact float64) calibrate.Comparison {
	return calibrate.Comparison{Quantity: quantity, Of: subject, Stated: calibrate.Number(stated), SE: calibrate.Number(se), Exact: calibrate.Number(exact)}
}
