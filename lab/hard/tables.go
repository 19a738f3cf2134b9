package hard

import (
	"math/rand/v2"

	"github.com/transdim/vti/calibrate"
	"github.com/transdim/vti/table"
)

func uniform(random *rand.Rand, low, high float64) float64 {
	return low + (high-low)*random.Float64()
}

// targetsOf is the column that names the nodes v1, v2 and so on that were set in each row, from 0;
// −1 stands for none.
func targetsOf(set []int) *table.Column {
	numbers := make([]int, len(set))
	for i, j := range set {
		if numbers[i] = -1; j >= 0 {
			numbers[i] = j + 1
		}
	}
	return calibrate.Labelled("target", "v", numbers)
}

// compared is a comparison of a stated number with an exact one.
func compared(quantity calibrate.Quantity, subject string, stated, se, exact float64) calibrate.Comparison {
	return calibrate.Comparison{Quantity: quantity, Of: subject, Stated: calibrate.Number(stated), SE: calibrate.Number(se), Exact: calibrate.Number(exact)}
}
