package formula

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/table"
)

// orderMark separates the labels of an order; no cell of a table has it.
const orderMark = "\x00"

// mostSteps bounds the steps of an ordered predictor. Each step adds a parameter to integrate over,
// its share of the coefficient.
const mostSteps = 20

// Order returns the labels of an ordered predictor mo(x, …) from the lowest to the highest, or nil
// if its values are whole numbers.
func (v Variable) Order() []string {
	if v.order == "" {
		return nil
	}
	return strings.Split(v.order, orderMark)
}

// Monotonic reports whether the term is mo(x): an effect of an ordered predictor that goes up with
// every step or down with every step, by a coefficient that is divided among the steps.
func (t Term) Monotonic() bool { return len(t) == 1 && t[0].Transform == TakeSteps }

// shortName returns the name of an ordered predictor without its labels.
func (v Variable) shortName() string { return v.Transform.String() + "(" + quotedName(v.Column) + ")" }

// order reads the labels of mo(x, "low", "mid", "high").
func (p *formulaParser) order(v *Variable) error {
	var labels []string
	for p.accept(',') {
		t := p.next()
		switch {
		case t.kind != textToken || t.text == "":
			return p.fail(t.position, `got %s, want labels in quotes from the lowest to the highest, as in mo(x, "low", "high")`, t)
		case slices.Contains(labels, t.text):
			return p.fail(t.position, "label %q twice", t.text)
		}
		labels = append(labels, t.text)
	}
	if len(labels) == 1 {
		return p.fail(v.Position, "one label has no order: want two or more")
	}
	v.order = strings.Join(labels, orderMark)
	return nil
}

// checkSteps refuses mo(x) unless it is a population term by itself. In products and varying terms,
// every coefficient would have to be divided among the steps too.
func (p *formulaParser) checkSteps() error {
	f := p.formula
	check := slices.Concat([]Variable{f.Response, f.Trials, f.Failures, f.Weights, f.Censored}, f.Offsets, f.curves())
	seen := map[string]bool{}
	for _, t := range f.Terms {
		switch {
		case !t.Monotonic():
			check = append(check, t...)
		case seen[t[0].Column]:
			return p.fail(t[0].Position, "%s twice", t[0].shortName())
		default:
			seen[t[0].Column] = true
		}
	}
	for _, v := range f.Varying {
		check = append(check, slices.Concat(v.Terms...)...)
	}
	for _, v := range check {
		if v.Transform == TakeSteps {
			return p.fail(v.Position, "%s stands as a population term of its own, not in products, groups, offsets and other functions", v)
		}
	}
	return nil
}

// steps returns the columns of an ordered predictor of D + 1 values. The column of step k is 1 if
// the value lies k or more steps above the lowest value, and 0 otherwise. Rows to be predicted may
// have values between two whole numbers, at which the column is interpolated linearly. Rows 0 to
// seen−1 have whole numbers, and no later row may lie outside their range. Labels have the order in
// the formula; the table may lack some of them.
func (v Variable) steps(data *table.Table, seen int) ([]Column, error) {
	places, labels := make([]float64, data.Rows()), v.Order()
	fail := func(row int, format string, args ...any) error {
		return fmt.Errorf("%s: %s: %s: %s", data.Path, data.Place(row), v, fmt.Sprintf(format, args...))
	}
	column, err := data.Lookup(v.Column)
	if err != nil {
		return nil, err
	}
	switch {
	case labels != nil:
		column = column.AsFactor()
		for row := range places {
			at := slices.Index(labels, column.Text(row))
			if at < 0 {
				return nil, fail(row, "got %q, want one of %q", column.Text(row), labels)
			}
			places[row] = float64(at)
		}
	case column.Kind == table.Factor:
		return nil, fmt.Errorf("%s: %s: column %q holds labels, %s, whose order is not known: want mo(%s, \"lowest\", …, \"highest\")", data.Path, v, v.Column, quotedList(column.Levels), quotedName(v.Column))
	default:
		low, high := slices.Min(column.Values[:seen]), slices.Max(column.Values[:seen])
		if high == low {
			return nil, fmt.Errorf("%s: column %q is %v in every row: it explains nothing", data.Path, v.Column, low)
		}
		if high-low > mostSteps {
			return nil, fmt.Errorf("%s: %s: %v steps from %v to %v, want at most %d", data.Path, v, high-low, low, high, mostSteps)
		}
		for row, x := range column.Values {
			if row < seen && x != math.Floor(x) {
				return nil, fail(row, "got %v, want a whole number, or labels with their order", x)
			}
			if x < low || x > high {
				return nil, fail(row, "%v lies beyond the values seen, %v to %v, where there are no steps", x, low, high)
			}
			places[row] = x - low
		}
		for x := low; x <= high; x++ {
			labels = append(labels, fmt.Sprint(x))
		}
	}
	if len(labels)-1 > mostSteps {
		return nil, fmt.Errorf("%s: %s: %s, want at most %d", data.Path, v, english.Count(len(labels)-1, "step"), mostSteps)
	}
	if first := places[0]; !slices.ContainsFunc(places[:seen], func(x float64) bool { return x != first }) {
		return nil, fmt.Errorf("%s: column %q is %s in every row: it explains nothing", data.Path, v.Column, column.Text(0))
	}
	var columns []Column
	for k := 1; k < len(labels); k++ {
		above := apply.To(places, func(x float64) float64 { return math.Max(0, math.Min(1, x-float64(k-1))) })
		columns = append(columns, Column{Name: v.shortName(), Values: above, Step: labels[k-1] + " to " + labels[k]})
	}
	return columns, nil
}

func quotedList(labels []string) string {
	const shown = 6
	text := fmt.Sprintf("%q", labels[:min(shown, len(labels))])
	if len(labels) > shown {
		text += fmt.Sprintf(" and %d more", len(labels)-shown)
	}
	return text
}
