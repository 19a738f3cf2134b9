package frame

import (
	"fmt"
	"math"

	"github.com/transdim/vti/table"
)

// mostWeight bounds weights that are numbers of repeated rows.
const mostWeight = 1e6

// applyWeights reads weights(w) of the response. For a gaussian or log-normal response they are
// precisions, as in R's lm and lme4: a row has the variance σ² / w. For counts, labels and times
// they are numbers of rows, as in brms: a row is repeated.
func (f *Frame) applyWeights(t *table.Table, opt Options) (*table.Table, error) {
	v := f.Formula.Weights
	if len(v.Columns()) == 0 {
		return t, nil
	}
	weights, err := v.Numbers(t)
	if err != nil {
		return nil, err
	}
	refuse := func(row int, want string) (*table.Table, error) {
		return nil, fmt.Errorf("%s: %s: weight %s: got %v, want %s", t.Path, t.Place(row), v, weights[row], want)
	}
	switch {
	case opt.SE != "":
		return nil, fmt.Errorf("%s: got weights(%s) and known standard errors, want only one of them: both set the variance of a row", t.Path, v)
	case f.Response.Conjugate():
		for row, w := range weights {
			if !(w > 0) {
				return refuse(row, "a positive number: the variance of the row is σ² / weight")
			}
		}
		f.Weights = weights
		return t, nil
	case !f.Response.Discrete() && !f.Response.Survival():
		return nil, fmt.Errorf("%s: weights(%s) are for gaussian and lognormal responses, counts, labels and times; this likelihood is %s", t.Path, v, f.Response)
	}
	times := make([]int, len(weights))
	for row, w := range weights {
		if w < 0 || w > mostWeight || w != math.Trunc(w) {
			return refuse(row, "a whole number from 0: how many rows the row stands for")
		}
		times[row] = int(w)
	}
	return t.Repeat(times), nil
}
