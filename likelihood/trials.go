package likelihood

import (
	"fmt"

	"gonum.org/v1/gonum/stat/combin"

	"github.com/transdim/vti/table"
)

// mostTrials is the largest number of rows of trials.
const mostTrials = 1 << 20

// Trials holds a separate row for every Bernoulli trial of a response that counts successes. The
// likelihood of these rows, times the number of orders of successes and failures, is the likelihood
// of the counts.
type Trials struct {
	// Times [rows] holds the number of trials of each row of the table. Each row is repeated this
	// number of times.
	Times []int
	// Y holds the results of all trials, 1 or 0, the successes of a row before its failures.
	Y []float64
	// LogWays is the logarithm of the number of orders: the log evidence of the counts less the log
	// evidence of the trials.
	LogWays float64
}

// NewTrials makes trials from the numbers of successes and of all trials of each row. The label of
// the response, as in Read, and the names of the two columns appear in errors.
func NewTrials(t *table.Table, label string, successes, trials []float64, successesName, trialsName string) (*Trials, error) {
	for _, counts := range []struct {
		name   string
		values []float64
	}{{successesName, successes}, {trialsName, trials}} {
		for row, x := range counts.values {
			if !isCount(x) {
				return nil, fmt.Errorf("%s: %s: %q: got %v, want a count (0, 1, 2, …)", t.Path, t.Place(row), counts.name, x)
			}
		}
	}
	all, total := &Trials{Times: make([]int, len(successes))}, 0.0
	for row, k := range successes {
		n := trials[row]
		if n < k {
			return nil, fmt.Errorf("%s: %s: got %v successes in %v trials", t.Path, t.Place(row), k, n)
		}
		if total += n; total > mostTrials {
			return nil, fmt.Errorf("%s: the response %s has more than %d trials", t.Path, label, mostTrials)
		}
		all.Times[row] = int(n)
		all.LogWays += combin.LogGeneralizedBinomial(n, k)
		for trial := range all.Times[row] {
			if float64(trial) < k {
				all.Y = append(all.Y, 1)
			} else {
				all.Y = append(all.Y, 0)
			}
		}
	}
	return all, nil
}
