package regression

import (
	"fmt"
	"math"

	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/table"
)

// mostTrials bounds the rows that counts of successes become. Chosen by hand.
const mostTrials = 1 << 20

// expandTrials makes a row of every trial of a response that counts successes: the likelihood of
// the successes and failures, one by one, times the number of their orders is that of the counts.
func (f *Frame) expandTrials(t *table.Table) (*table.Table, []float64, error) {
	if f.Response != LogisticResponse {
		return nil, nil, fmt.Errorf("%s: the response %s counts successes among trials: want --likelihood logistic, got %s", t.Path, f.Formula.ResponseText(), f.Response)
	}
	counts := func(v formula.Variable) ([]float64, error) {
		values, err := numericValues(t, v)
		if err != nil {
			return nil, err
		}
		for row, x := range values {
			if x < 0 || x != math.Trunc(x) {
				return nil, fmt.Errorf("%s: %s: %q: got %v, want a count (0, 1, 2, …)", t.Path, t.Place(row), v.Column, x)
			}
		}
		return values, nil
	}
	successes, err := counts(f.Formula.Response)
	if err != nil {
		return nil, nil, err
	}
	other := f.Formula.Failures
	if f.Formula.Trials.Column != "" {
		other = f.Formula.Trials
	}
	failures, err := counts(other)
	if err != nil {
		return nil, nil, err
	}
	times, total := make([]int, len(successes)), 0.0
	for row, k := range successes {
		if f.Formula.Trials.Column != "" {
			if failures[row] < k {
				return nil, nil, fmt.Errorf("%s: %s: got %v successes in %v trials", t.Path, t.Place(row), k, failures[row])
			}
			failures[row] -= k
		}
		if total += k + failures[row]; total > mostTrials {
			return nil, nil, fmt.Errorf("%s: the response %s has more than %d trials", t.Path, f.Formula.ResponseText(), mostTrials)
		}
		times[row] = int(k + failures[row])
		f.LogWays += space.LogBinomial(times[row], int(k))
	}
	var y []float64
	for row, k := range successes {
		for trial := range times[row] {
			if float64(trial) < k {
				y = append(y, 1)
			} else {
				y = append(y, 0)
			}
		}
	}
	return t.Repeat(times), y, nil
}

// checkFixedGroups refuses a population term of labels that are also the groups of a varying
// intercept: every group would have two coefficients, which no data can tell apart.
func checkFixedGroups(t *table.Table, opt FrameOptions, f *formula.Formula) error {
	for _, v := range f.Varying {
		if len(v.Group) != 1 || formula.Index(v.Terms, nil) < 0 {
			continue
		}
		for _, term := range f.Terms {
			if len(term) != 1 || term[0].Column != v.Group[0].Column {
				continue
			}
			column, err := t.Lookup(term[0].Column)
			if err != nil {
				return err
			}
			if column.Kind == table.Factor || term[0].Transform == formula.AsFactor {
				return &formula.Error{Text: opt.Formula, Position: term[0].Position, Message: fmt.Sprintf(
					"%s has a coefficient for every label here, and one more for every group in %s: leave one of the two out", term, v)}
			}
		}
	}
	return nil
}
