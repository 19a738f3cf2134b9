package wide

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/varsel/regression"
)

// levelSD is the prior sd of an indicator's intercept, on the logit scale, which is wide.
const levelSD = 10

// parts returns the searches for predictors that matter to the response. A response without
// categories has one, s itself. For categories without an order each part is a logistic regression
// of the indicator of a category, for ordered categories of the indicator above a cut point: a
// predictor that moves categories apart moves at least one indicator.
//
// share is the factor of gains in a sum over the parts, as indicators repeat each other: the
// indicators of K equally frequent categories together have K/(K−1) times the information of the
// categories, and the indicators above cut points all have nearly the same. Of 48 members of 12
// tables, with a pair that matters together, searches find 38 without and 39 with an order, and one
// other predictor; with half of the factor 31 and 18, with twice the factor 42 and 41, with eight
// times 45 and 42, and five others.
func (s Search) parts() (parts []Search, share float64) {
	categories := s.Responses.Categories
	if categories == nil {
		return []Search{s}, 1
	}
	planes, levels := s.Planes(), categories.Levels()
	one := regression.Regression{X: s.X, Offset: s.Offset, Kind: likelihood.LogisticKind, Scale: -1}
	for j := 0; j < s.Dim; j += planes {
		one.Columns, one.Mean, one.SD = append(one.Columns, s.Columns[j]), append(one.Mean, s.Mean[j]), append(one.SD, s.SD[j])
	}
	one.Dim = len(one.Mean)
	design, ordered := *s.Design, s.Parameters() != nil
	if ordered { // cut points are levels, and have columns of zeros
		level := s.Parameters()[0]
		design.Always = append(slices.Clone(design.Always), level)
		one.X, one.Columns[level], one.SD[level] = mat.DenseCopyOf(s.X), slices.Repeat([]float64{1}, len(s.Responses.Y)), levelSD
		one.X.SetCol(level, one.Columns[level])
	}
	for k := range levels {
		y, count := make([]float64, len(s.Responses.Y)), 0
		for i, category := range s.Responses.Y {
			if category == float64(k) || (ordered || levels == 2) && category > float64(k) {
				y[i], count = 1, count+1
			}
		}
		if count == 0 || count == len(y) {
			continue
		}
		part := one
		part.Responses = regression.Responses{Likelihood: likelihood.New(likelihood.LogisticKind, likelihood.Shape{}), Y: y}
		parts = append(parts, Search{Regression: &part, Design: &design, Prior: s.Prior})
	}
	return parts, math.Min(1, float64(planes)/float64(len(parts)))
}
