package formula

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/distinct"
	"github.com/transdim/vti/table"
)

// Column is a column of a design.
type Column struct {
	// Name is the name of the variables, with the level of each factor; "" for the intercept.
	Name string
	// Values are the entries of the column, one for each row.
	Values []float64
	// Level says that the column is an indicator or contrast of labels, or a product with such a
	// column.
	Level bool
	// Step is the step of a column of an ordered predictor, such as "low to mid". The columns of
	// such a predictor share one Name. "" stands for a column of another predictor.
	Step string
}

// Expand makes the columns of a term of a sum. The argument terms holds all terms of the sum. The
// functions scale() and poly() are fitted to rows 0 to seen−1, and applied to later rows. If
// standardize is true, the numbers of a product are first centred and scaled by their mean and
// standard deviation over rows 0 to seen−1.
//
// As in R, a factor in the term becomes indicators of all its levels. If terms also holds the term
// without this factor, the factor has one column fewer, by its coding. In a sum without an
// intercept, the first factor has indicators of all its levels.
func (t Term) Expand(data *table.Table, terms []Term, seen int, standardize bool) ([]Column, error) {
	products := []Column{{Values: slices.Repeat([]float64{1}, data.Rows())}}
	for k, v := range t {
		rest := slices.Delete(slices.Clone(t), k, k+1)
		factors, err := v.Expand(data, Index(terms, rest) >= 0 || len(rest) == 0 && spanned(data, terms, t), seen)
		if err != nil {
			return nil, err
		}
		for i := range factors {
			if standardize && len(t) > 1 && !factors[i].Level {
				if err := scaleBy(factors[i].Values, seen); err != nil {
					return nil, fmt.Errorf("%s: %s: %s %w", data.Path, t, factors[i].Name, err)
				}
			}
		}
		if products = crossColumns(products, factors); len(products) > data.Rows() {
			return nil, fmt.Errorf("%s: term %s has more columns than the table has rows (%d)", data.Path, t, data.Rows())
		}
	}
	return products, nil
}

// spanned reports whether a term before t is a factor by itself, whose indicators sum to 1.
func spanned(data *table.Table, terms []Term, t Term) bool {
	for _, other := range terms[:max(Index(terms, t), 0)] {
		if len(other) != 1 {
			continue
		}
		if column, err := data.Lookup(other[0].Column); other[0].Transform == AsFactor || other[0].Transform == AsIs && err == nil && column.Kind == table.Factor {
			return true
		}
	}
	return false
}

// Numbers returns the values of a variable that is a number, transformed.
func (v Variable) Numbers(data *table.Table) ([]float64, error) {
	columns := map[string][]float64{}
	for _, name := range v.Columns() {
		column, err := data.Lookup(name)
		if err != nil {
			return nil, err
		}
		if column.Kind == table.Factor {
			return nil, fmt.Errorf("%s: column %q: got %s, want numbers", data.Path, name, data.TextFound(column))
		}
		columns[name] = column.Values
	}
	values := make([]float64, data.Rows())
	for row := range values {
		domain := ""
		if v.Transform == Compute {
			values[row] = v.Expression.Value(func(column string) float64 { return columns[column][row] })
		} else {
			values[row], domain = v.Transform.value(columns[v.Column][row])
		}
		switch y := values[row]; {
		case !math.IsNaN(y) && !math.IsInf(y, 0):
		case v.Transform == Compute:
			return nil, fmt.Errorf("%s: %s: %s is %v, want a finite number", data.Path, data.Place(row), v, y)
		default:
			return nil, fmt.Errorf("%s: %s: %s: got %v, want %s", data.Path, data.Place(row), v, columns[v.Column][row], domain)
		}
	}
	return values, nil
}

// Expand makes the columns of a variable. If contrast is true, a factor has one column fewer than
// levels; see [Term.Expand].
func (v Variable) Expand(data *table.Table, contrast bool, seen int) ([]Column, error) {
	switch v.Transform {
	case AsFactor:
		return v.labels(data, contrast)
	case TakeSteps:
		return v.steps(data, seen)
	}
	if v.Transform == AsIs {
		if column, err := data.Lookup(v.Column); err != nil || column.Kind == table.Factor {
			return v.labels(data, contrast)
		}
	}
	values, err := v.Numbers(data)
	if err != nil {
		return nil, err
	}
	switch v.Transform {
	case TakeScale:
		if err := scaleBy(values, seen); err != nil {
			return nil, fmt.Errorf("%s: %s: column %q %w", data.Path, v, v.Column, err)
		}
	case TakePolynomials:
		polynomials, err := orthogonalPolynomials(values, seen, v.Degree)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: column %q has %w", data.Path, v, v.Column, err)
		}
		return apply.UpTo(v.Degree, func(k int) Column {
			return Column{Name: fmt.Sprintf("%s%d", v, k+1), Values: polynomials[k]}
		}), nil
	}
	return []Column{{Name: v.String(), Values: values}}, nil
}

// scaleBy centres and scales all values by the mean and standard deviation of values 0 to seen−1.
func scaleBy(values []float64, seen int) error {
	mean, sd := stat.MeanStdDev(values[:seen], nil)
	if !(sd > 0) {
		return fmt.Errorf("is %v in every row", values[0])
	}
	for i := range values {
		values[i] = (values[i] - mean) / sd
	}
	return nil
}

func (v Variable) labels(data *table.Table, contrast bool) ([]Column, error) {
	column, err := data.Lookup(v.Column)
	if err != nil {
		return nil, err
	}
	column = column.AsFactor()
	if len(column.Levels) == data.Rows() && data.Rows() > 2 {
		return nil, fmt.Errorf("%s: column %q: all %d rows hold different labels (first %q): it can be a group, not a predictor", data.Path, v.Column, data.Rows(), column.Text(0))
	}
	if len(column.Levels) < 2 {
		return nil, fmt.Errorf("%s: column %q is %s in every row: it explains nothing", data.Path, v.Column, column.Text(0))
	}
	reference := 0
	if v.Reference != "" {
		if reference = slices.Index(column.Levels, v.Reference); reference < 0 {
			return nil, fmt.Errorf("%s: %s: column %q has no label %q; it has %q", data.Path, v, v.Column, v.Reference, column.Levels)
		}
	}
	coding, name := v.Coding, v.String()
	if !contrast || coding == TreatmentCoding {
		coding, name = TreatmentCoding, v.Column
	}
	if !contrast {
		reference = -1
	}
	var columns []Column
	for level, label := range column.Levels {
		if entries := coding.column(level, reference, len(column.Levels)); entries != nil {
			columns = append(columns, Column{Name: name + "=" + label, Values: distinct.At(entries, column.Codes), Level: true})
		}
	}
	return columns, nil
}

// column returns the entries of the column of a level for rows of each label, or nil if the coding
// has no column for the level. The argument reference is the level without a column in treatment
// coding.
func (c Coding) column(level, reference, levels int) []float64 {
	column := make([]float64, levels)
	column[level] = 1
	switch {
	case c == TreatmentCoding && level == reference, c == SumCoding && level == levels-1, c == HelmertCoding && level == 0:
		return nil
	case c == SumCoding:
		column[levels-1] = -1
	case c == HelmertCoding:
		column[level] = float64(level)
		for before := range level {
			column[before] = -1
		}
	}
	return column
}

// crossColumns returns the products of every column of left with every column of right.
func crossColumns(left, right []Column) (list []Column) {
	for _, a := range left {
		for _, b := range right {
			product := Column{b.Name, slices.Clone(b.Values), a.Level || b.Level, b.Step}
			if a.Name != "" {
				product.Name = a.Name + ":" + b.Name
			}
			floats.Mul(product.Values, a.Values)
			list = append(list, product)
		}
	}
	return list
}
