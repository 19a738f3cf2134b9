package modelcheck

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
)

// RowNames determines how findings name the rows of a table.
type RowNames struct {
	// Numbers are the numbers of the rows in the file; nil means that rows are numbered from 1.
	Numbers []int
	// Unit is the unit of Numbers, "line" or "row". The empty string stands for "row".
	Unit string
}

func (r RowNames) number(row int) int {
	if r.Numbers == nil {
		return row + 1
	}
	return r.Numbers[row]
}

// shownRows is the largest number of rows that a finding names.
const shownRows = 5

func (r RowNames) list(rows []int) string {
	names := apply.To(rows, func(i int) string { return fmt.Sprint(r.number(i)) })
	return english.Noun(len(rows), cmp.Or(r.Unit, "row")) + " " + english.List(names, shownRows)
}

// columnFindings returns the findings about columns that need no model and no other column.
func columnFindings(columns []Column, rows RowNames) (found []Finding) {
	rare := make(map[string][]Finding) // findings by factor
	for _, c := range columns {
		constant := nearConstant(c, rows)
		if factor, _, level := strings.Cut(c.Name, "="); c.Indicator && level {
			rare[factor] = append(rare[factor], constant...)
		} else {
			found = append(found, constant...)
		}
		found = append(found, sentinel(c, Continuous, rows)...)
	}
	for _, factor := range slices.Sorted(maps.Keys(rare)) {
		found = append(found, rareLevels(factor, rare[factor])...)
	}
	return found
}

// rareLevels combines the findings of the nearly constant indicators of one factor. Several
// findings become one, because a column of dates or names has a level for nearly each row. A single
// finding is returned unchanged.
func rareLevels(factor string, found []Finding) []Finding {
	if len(found) < 2 {
		return found
	}
	f := found[0]
	var places []string
	for _, level := range found {
		f.Statistic = max(f.Statistic, level.Statistic)
		places = append(places, strings.TrimPrefix(level.Where, "column "))
	}
	f.What = fmt.Sprintf("rare levels: %d levels of %s have at most %s each, so that their effects rest on these",
		len(found), factor, english.Count(int(f.Statistic), "row"))
	f.Where = "columns " + strings.Join(places[:2], "; ")
	if more := len(places) - 2; more > 0 {
		f.Where += fmt.Sprintf("; and %d more", more)
	}
	f.Advice = "the table without " + factor + ", with it as a number (days, for dates), or with these levels as one"
	return []Finding{f}
}

func collinearFindings(columns []Column) []Finding {
	if len(columns) == 0 {
		return nil
	}
	return collinear(checked(columns, CheckedRows(len(columns[0].Values), MostChecked)))
}

// fewestForValues is the least number of rows for checks of distinct values.
const fewestForValues = 10

// fewValues finds a continuous response with only two values, or with at most five values that are
// all integers.
func fewValues(c Column, remedies Remedies) []Finding {
	if len(c.Values) < fewestForValues {
		return nil
	}
	sorted := slices.Sorted(slices.Values(c.Values))
	count := len(slices.Compact(sorted))
	integers := !slices.ContainsFunc(sorted[:count], func(v float64) bool { return v != math.Trunc(v) })
	f := Finding{Where: "column " + c.Name, Statistic: Number(count), P: Number(math.NaN()), Verdict: Questionable}
	switch {
	case count == 2:
		f.What = fmt.Sprintf("two values: %s is always %v or %v, and the model has continuous noise", c.Name, sorted[0], sorted[1])
		f.Advice = cmp.Or(remedies.TwoValues, "a model for a binary response")
	case count <= 5 && integers:
		f.What = fmt.Sprintf("few values: %s takes only %d integers, and the model has continuous noise", c.Name, count)
		f.Advice = cmp.Or(remedies.Categories, "a model for ordered categories")
		if sorted[0] >= 0 {
			f.Advice += " or " + cmp.Or(remedies.Counts, "a model for counts")
		}
	default:
		return nil
	}
	return []Finding{f}
}

// nearConstant finds a column that has the same value in all rows but one, or in all but at most
// one in 200.
func nearConstant(c Column, rows RowNames) []Finding {
	n := len(c.Values)
	if n < fewestForValues {
		return nil
	}
	common, lead := 0.0, 0 // the value of more than half of the rows, if there is one (Boyer and Moore 1991)
	for _, v := range c.Values {
		switch {
		case lead == 0:
			common, lead = v, 1
		case v == common:
			lead++
		default:
			lead--
		}
	}
	var others []int
	for i, v := range c.Values {
		if v == common {
			continue
		}
		if others = append(others, i); len(others) > max(1, n/200) {
			return nil
		}
	}
	if len(others) == 0 { // a constant column is the intercept, or the command refuses it
		return nil
	}
	return []Finding{{
		What:  fmt.Sprintf("nearly constant: %s is %v in all but %d of %d rows, so that its effect rests on these", c.Name, common, len(others), n),
		Where: "column " + c.Name + ", " + rows.list(others), Statistic: Number(len(others)), P: Number(math.NaN()), Verdict: Questionable,
		Advice: "the table without this column, or without these rows, for comparison",
	}}
}

// Separation of the responses 0 and 1 lowers the verdict if there are at least separationRows rows,
// and at least separationRarer rows with the rarer response. With fewer rows, separation is common
// by chance.
const (
	separationRows  = 30
	separationRarer = 5
)

// separation returns a finding if every row with the response 0 has a lower fitted probability than
// every row with the response 1.
func separation(r *response, fitted []float64) []Finding {
	highest, lowest := math.Inf(-1), math.Inf(1)
	ones := 0
	for i, y := range r.y {
		if y == 0 {
			highest = max(highest, fitted[i])
		} else {
			ones++
			lowest = min(lowest, fitted[i])
		}
	}
	n := len(fitted)
	rarer := min(ones, n-ones)
	if rarer == 0 || highest >= lowest { // all fitted probabilities are equal if no model has a predictor
		return nil
	}
	f := Finding{
		What:  "separation: a linear combination of the predictors separates all zeros from all ones, so that the sizes of the coefficients come from the prior",
		Where: r.place(), Statistic: Number(lowest - highest), P: Number(math.NaN()),
		Advice: "check for a predictor that was measured after the response; report probabilities, not coefficients",
	}
	if r.order != nil {
		f.What = "separation: a linear combination of the predictors separates the rows of the category from all others, so that the sizes of its coefficients come from the prior"
	}
	if n >= separationRows && rarer >= separationRarer {
		f.Verdict = Questionable
	}
	return []Finding{f}
}
