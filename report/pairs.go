package report

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/picture"
)

// pair is the joint distribution of two predictors among draws.
type pair struct {
	a, b int
	// both is the probability that predictors a and b are both in the model, first the probability
	// of a, and second the probability of b. correlation is the correlation of their inclusion
	// indicators.
	both, first, second, correlation float64
}

// pairsOf counts the draws in which two of the predictors are both in the model, for all pairs.
func (v *selection) pairsOf(predictors []int) [][]pair {
	n := len(predictors)
	together := apply.UpTo(n, func(int) []float64 { return make([]float64, n) })
	for i := range v.draws.Len() {
		var in []int
		for _, predictor := range v.members(i) {
			if k := slices.Index(predictors, predictor); k >= 0 {
				in = append(in, k)
			}
		}
		for _, a := range in {
			for _, b := range in {
				together[a][b] += 1 / float64(v.draws.Len())
			}
		}
	}
	pairs := make([][]pair, n)
	for a := range pairs {
		for b := range n {
			p := pair{a: predictors[a], b: predictors[b], both: together[a][b], first: together[a][a], second: together[b][b]}
			spread := math.Sqrt(p.first * (1 - p.first) * p.second * (1 - p.second))
			// the draws do not determine the correlation if an indicator is nearly constant
			if spread > 0.005 {
				p.correlation = (p.both - p.first*p.second) / spread
			}
			pairs[a] = append(pairs[a], p)
		}
	}
	return pairs
}

// pairs returns the section on predictors that tend to be in the model together, or to exclude each
// other. It shows pairs only if the run has draws.
func (v *selection) pairs() *document.Section {
	return &document.Section{ID: "pairs", Title: "Which predictors go together, and which replace each other",
		Lead: "The correlation of two predictors being in the model. Orange pairs replace each other: with one in, the other is needed less, as happens to predictors that carry the same information. Blue pairs come together.",
		Draw: func(_ context.Context, part *document.Section) {
			open := apply.Keep(v.order, func(k int) bool { return v.probability(k) > 0.01 && v.probability(k) < 0.99 })
			if v.draws != nil && len(open) >= 2 {
				v.drawPairs(part, slices.Sorted(slices.Values(open[:min(len(open), mostPaired)])))
			}
		}}
}

func (v *selection) drawPairs(part *document.Section, open []int) {
	matrix := v.pairsOf(open)
	names := apply.To(open, func(k int) string { return v.result.Data.Predictors[k] })
	p := picture.Cells("pairs", "Predictors together", widthFor(len(open)), names, names, nil, func(row, column int) picture.Cell {
		if row == column {
			return picture.Cell{Hint: names[row]}
		}
		one := matrix[row][column]
		return picture.Cell{Value: one.correlation, Text: signed(one.correlation),
			Hint: fmt.Sprintf("%s and %s: both in with probability %s, where %s would be expected if they were independent", names[row], names[column], picture.Probability(one.both), picture.Probability(one.first*one.second))}
	})
	all := slices.Concat(apply.UpTo(len(matrix), func(a int) []pair { return matrix[a][a+1:] })...)
	slices.SortStableFunc(all, func(x, y pair) int { return cmp.Compare(math.Abs(y.correlation), math.Abs(x.correlation)) })
	t := document.NewTable("Pairs", "<predictor", "<and", "both in", "if independent", "correlation", "<")
	t.Open = len(all) <= 12
	var apart, with []string
	const most = 100
	for k, one := range all {
		a, b := v.result.Data.Predictors[one.a], v.result.Data.Predictors[one.b]
		relation := ""
		switch {
		case one.correlation < -notable:
			relation = "replace each other"
			apart = append(apart, a+" with "+b)
		case one.correlation > notable:
			relation = "come together"
			with = append(with, a+" with "+b)
		}
		if k < most {
			t.Add(a, b, document.Probability(one.both, 0), document.Probability(one.first*one.second, 0), signed(one.correlation), relation)
		}
	}
	p.Text = fmt.Sprintf("Pairs that replace each other: %s. Pairs that come together: %s.", list(apart), list(with))
	part.Notes = []string{p.Text}
	part.Place(p)
	part.Tables = []*document.Table{t}
}

// notable is the least absolute correlation of two inclusion indicators from which the page says
// that the predictors go together or replace each other. It is twenty times the standard error from
// 10,000 independent draws, and large enough to be seen in the list of models.
const notable = 0.2

func signed(x float64) string {
	if math.Abs(x) < 0.005 {
		return "0"
	}
	s := fmt.Sprintf("%+.2f", x)
	if x < 0 {
		return "−" + s[1:]
	}
	return s
}
