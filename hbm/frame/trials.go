package frame

import (
	"fmt"

	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/table"
)

// expandTrials makes a row of every trial of a response that counts successes. The likelihood of a
// count is the likelihood of its trials, one by one, times the number of their orders.
func (f *Frame) expandTrials(t *table.Table) (*table.Table, []float64, error) {
	if !f.Response.Binary() {
		return nil, nil, fmt.Errorf("%s: the response %s counts successes among trials: want --likelihood logistic, got %s", t.Path, f.Formula.ResponseText(), f.Response)
	}
	successes, err := f.Formula.Response.Numbers(t)
	if err != nil {
		return nil, nil, err
	}
	other := f.Formula.Failures
	if f.Formula.Trials.Column != "" {
		other = f.Formula.Trials
	}
	trials, err := other.Numbers(t)
	if err != nil {
		return nil, nil, err
	}
	if f.Formula.Failures.Column != "" {
		for row, k := range successes {
			if trials[row] < 0 {
				return nil, nil, fmt.Errorf("%s: %s: %q: got %v, want a count (0, 1, 2, …)", t.Path, t.Place(row), other.Column, trials[row])
			}
			trials[row] += k
		}
	}
	all, err := likelihood.NewTrials(t, f.Formula.ResponseText(), successes, trials, f.Formula.Response.Column, other.Column)
	if err != nil {
		return nil, nil, err
	}
	f.LogWays = all.LogWays
	return t.Repeat(all.Times), all.Y, nil
}

// checkFixedGroups refuses a population term of labels that are also the groups of a varying
// intercept: every group would have two coefficients, which no data can tell apart.
func checkFixedGroups(t *table.Table, opt Options, f *formula.Formula) error {
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
