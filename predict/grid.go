package predict

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/rank"
	"github.com/transdim/vti/table"
)

// Variable is a predictor of a model as a column of its table.
type Variable struct {
	Name string
	// Labels reports whether the values are labels. If not, they are numbers.
	Labels bool
}

// Focus is a predictor whose values are chosen. Values are written as in the table. Without values,
// a predictor of labels takes all labels. A numeric predictor takes all its distinct values if
// there are at most six; otherwise it takes its mean and its mean plus and minus its standard
// deviation.
type Focus struct {
	Name   string
	Values []string
}

// mostDistinct is the largest number of distinct values of a numeric column that are all used.
const mostDistinct = 6

// mostGridRows bounds the number of rows of a grid.
const mostGridRows = 200_000

// grid is a table of the rows to average over. A cell is one combination of the chosen values.
type grid struct {
	table *table.Table
	cells [][]string // chosen values of each cell, in the order of the axes
	each  int        // number of rows of a cell: cell c begins at row c·each
	held  []Held     // predictors without chosen values
	notes []string
}

// axis is a predictor with its chosen values. The field texts holds them as written.
type axis struct {
	column  *table.Column // column of the table
	factor  *table.Column // the column as labels; nil for numbers
	texts   []string
	codes   []int     // values as codes, for labels
	numbers []float64 // values, for numbers
}

func newAxis(seen *table.Table, variables []Variable, f Focus) (*axis, error) {
	at := slices.IndexFunc(variables, func(v Variable) bool { return v.Name == f.Name })
	if at < 0 {
		names := apply.To(variables, func(v Variable) string { return v.Name })
		return nil, fmt.Errorf("%q is no predictor of the run; its predictors are %s", f.Name, strings.Join(names, ", "))
	}
	c, err := seen.Lookup(f.Name)
	if err != nil {
		return nil, err
	}
	a := &axis{column: c, texts: f.Values}
	if variables[at].Labels {
		a.factor = c.AsFactor()
		if len(f.Values) == 0 {
			a.texts = a.factor.Levels
		}
		for _, text := range a.texts {
			code := slices.Index(a.factor.Levels, text)
			if code < 0 {
				return nil, fmt.Errorf("%s: got the label %q, want some of %s", f.Name, text, strings.Join(a.factor.Levels, ", "))
			}
			a.codes = append(a.codes, code)
		}
		return a, nil
	}
	if len(f.Values) == 0 {
		a.texts = usualValues(c)
	}
	for _, text := range a.texts {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%s: got the value %q, want a number", f.Name, text)
		}
		a.numbers = append(a.numbers, v)
	}
	return a, nil
}

// usualValues returns all distinct values of a numeric column, or three typical values if there are
// many.
func usualValues(c *table.Column) []string {
	if levels := c.AsFactor().Levels; len(levels) <= mostDistinct {
		return levels
	}
	mean, sd := centre(c.Values)
	return []string{text(mean - sd), text(mean), text(mean + sd)}
}

// centre returns the mean and the standard deviation of values. The mean of a centred column, which
// is not exactly 0 because of rounding errors, is returned as 0.
func centre(values []float64) (mean, sd float64) {
	if mean, sd = stat.MeanStdDev(values, nil); math.Abs(mean) < 1e-12*sd {
		mean = 0
	}
	return mean, sd
}

// text formats a computed number as a value of a predictor.
func text(v float64) string { return strconv.FormatFloat(v, 'g', 5, 64) }

// along returns n evenly spaced values from the least to the largest value of a column.
func along(c *table.Column, n int) []string {
	low, high := slices.Min(c.Values), slices.Max(c.Values)
	texts := apply.UpTo(n, func(k int) string { return strconv.FormatFloat(low+(high-low)*float64(k)/float64(n-1), 'g', 6, 64) })
	// The ends are exact, because a rounded end may lie outside the range.
	texts[0], texts[n-1] = strconv.FormatFloat(low, 'g', -1, 64), strconv.FormatFloat(high, 'g', -1, 64)
	return texts
}

// put writes value k to a row of a column.
func (a *axis) put(to *table.Column, k, row int) {
	switch {
	case to.Kind == table.Numeric && a.factor != nil: // numbers treated as labels
		to.Values[row], _ = strconv.ParseFloat(a.texts[k], 64)
	case a.factor != nil:
		to.Codes[row] = a.codes[k]
	default:
		to.Values[row] = a.numbers[k]
	}
}

func (a *axis) has(row, k int) bool {
	if a.factor != nil {
		return a.factor.Codes[row] == a.codes[k]
	}
	return a.column.Values[row] == a.numbers[k]
}

// combinations lists the combinations of the values of axes, as indices of the values. The value of
// the last axis changes fastest.
func combinations(axes []*axis) [][]int {
	list := [][]int{nil}
	for _, a := range axes {
		var longer [][]int
		for _, before := range list {
			for k := range a.texts {
				longer = append(longer, append(slices.Clip(before), k))
			}
		}
		list = longer
	}
	return list
}

// newGrid makes the rows for every combination of the values of the axes. With overData, each
// combination has all rows of the table, which supply the values of the other predictors. If
// overData is false, other numeric predictors have their mean values, and each combination has a
// row for every combination of labels of the other predictors. The argument fixed holds predictors
// with one value each.
func newGrid(seen *table.Table, variables []Variable, axes, fixed []*axis, overData bool) (*grid, error) {
	chosen := map[string]bool{}
	for _, a := range slices.Concat(axes, fixed) {
		if chosen[a.column.Name] {
			return nil, fmt.Errorf("%s: its values are chosen twice", a.column.Name)
		}
		chosen[a.column.Name] = true
	}
	g := &grid{each: 1, held: apply.To(fixed, func(a *axis) Held { return Held{a.column.Name, a.texts[0]} })}
	g.cells = apply.To(combinations(axes), func(values []int) []string {
		return apply.UpTo(len(axes), func(i int) string { return axes[i].texts[values[i]] })
	})
	var others []*axis // labels whose levels are combined, and means of numbers
	for _, v := range variables {
		if chosen[v.Name] {
			continue
		}
		switch a, err := newAxis(seen, variables, Focus{Name: v.Name}); {
		case err != nil:
			return nil, err
		case overData:
			g.held = append(g.held, Held{v.Name, "as in the table"})
		case a.factor != nil:
			others = append(others, a)
			g.each *= len(a.texts)
			g.held = append(g.held, Held{v.Name, fmt.Sprintf("average of its %s, all of one weight", english.Count(len(a.texts), "label"))})
		default:
			mean, _ := centre(a.column.Values)
			others = append(others, &axis{column: a.column, texts: []string{text(mean)}, numbers: []float64{mean}})
			g.held = append(g.held, Held{v.Name, "its mean, " + text(mean)})
		}
		if g.each*len(g.cells) > mostGridRows {
			return nil, fmt.Errorf("the labels of other predictors have more than %d combinations: fix some of them, or average over the table", mostGridRows/len(g.cells))
		}
	}
	if overData {
		if g.each = seen.Rows(); g.each*len(g.cells) > mostGridRows {
			return nil, fmt.Errorf("%d rows under each of %d combinations of values are more than %d: do not average over the table", g.each, len(g.cells), mostGridRows)
		}
	}
	var columns []*table.Column
	for _, name := range seen.Names() {
		c, err := seen.Lookup(name)
		if err != nil {
			continue // a column that Lookup refuses is not used by the run
		}
		columns = append(columns, g.column(c, slices.Concat(fixed, axes, others), overData))
	}
	var err error
	if g.table, err = table.New("the values asked for", columns...); err != nil {
		return nil, err
	}
	g.noteEmpty(seen, axes)
	return g, nil
}

// column returns a column of the grid, from a column of the table. Its values are values of one of
// the axes, of which the last changes fastest. Without an axis it has the values of the table, row
// by row if overData is true.
func (g *grid) column(c *table.Column, axes []*axis, overData bool) *table.Column {
	out := c.Repeated(0, g.each*len(g.cells))
	out.Missing = 0
	if overData {
		for cell := range g.cells {
			if c.Kind == table.Factor {
				copy(out.Codes[cell*g.each:], c.Codes)
			} else {
				copy(out.Values[cell*g.each:], c.Values)
			}
		}
	}
	turns := g.each * len(g.cells)
	for _, a := range axes {
		if turns /= len(a.texts); a.column.Name == c.Name {
			for row := range g.each * len(g.cells) {
				a.put(out, row/turns%len(a.texts), row)
			}
		}
	}
	return out
}

// noteEmpty adds notes about combinations of labels that no row of the table has. It also adds
// notes about numeric values outside the range of the rows with the same labels. Results for such
// values depend only on the model.
func (g *grid) noteEmpty(seen *table.Table, axes []*axis) {
	var labels, numbers []*axis
	for _, a := range axes {
		if a.factor != nil {
			labels = append(labels, a)
		} else {
			numbers = append(numbers, a)
		}
	}
	for _, values := range combinations(labels) {
		var said []string
		rows := rank.UpTo(seen.Rows())
		for i, a := range labels {
			said = append(said, a.column.Name+"="+a.texts[values[i]])
			rows = slices.DeleteFunc(rows, func(row int) bool { return !a.has(row, values[i]) })
		}
		where := strings.Join(said, ", ")
		if len(rows) == 0 {
			g.notes = append(g.notes, fmt.Sprintf("no row of the table has %s: what is said there follows from the model alone", where))
			continue
		}
		for _, a := range numbers {
			low, high := math.Inf(1), math.Inf(-1)
			for _, row := range rows {
				low, high = math.Min(low, a.column.Values[row]), math.Max(high, a.column.Values[row])
			}
			if slices.Min(a.numbers) < low || slices.Max(a.numbers) > high {
				with := "rows"
				if where != "" {
					with += " with " + where
				}
				g.notes = append(g.notes, fmt.Sprintf("%s have %s from %s to %s: beyond, what is said follows from the model alone", with, a.column.Name, text(low), text(high)))
			}
		}
	}
}
