package frame

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/table"
)

// build implements New. Rows from seen on are rows that the run was not fitted to; 0 stands for a
// table without such rows.
func build(t *table.Table, opt Options, seen int) (*Frame, error) {
	parsed, t, err := parseFormula(t, opt)
	if err != nil {
		return nil, err
	}
	used, err := UsedColumns(t, opt, parsed)
	if err != nil {
		return nil, err
	}
	f := &Frame{Path: t.Path, Fingerprint: t.Fingerprint, Formula: parsed, Response: opt.Response, seen: seen}
	if t, f.DroppedRows, err = t.Complete(used, opt.DropMissing); err != nil {
		return nil, err
	}
	if t, err = f.readResponse(t, opt); err != nil {
		return nil, err
	}
	if err := f.readTerms(t); err != nil {
		return nil, err
	}
	return f, nil
}

// parseFormula parses the formula and expands it over the columns of the table. Columns that the
// formula takes as labels become labels.
func parseFormula(t *table.Table, opt Options) (*formula.Formula, *table.Table, error) {
	if opt.Formula == "" {
		return nil, nil, fmt.Errorf("%s: no formula was given; the columns are %s", t.Path, strings.Join(t.Names(), ", "))
	}
	parsed, err := formula.Parse(opt.Formula)
	if err != nil {
		return nil, nil, err
	}
	t = t.WithLabels(parsed.Labels()...)
	if _, err := parsed.Expand(opt.Formula, slices.DeleteFunc(slices.Clone(t.Names()), func(name string) bool { return name == opt.SE })); err != nil {
		return nil, nil, err
	}
	if err := checkFixedGroups(t, opt, parsed); err != nil {
		return nil, nil, err
	}
	if opt.SE != "" && opt.Response != likelihood.GaussianKind {
		return nil, nil, fmt.Errorf("known standard errors are for the gaussian likelihood; this one is %s", opt.Response)
	}
	return parsed, t, nil
}

// readResponse reads the response with its weights, trials, offset and standard errors. It returns
// the table with a row for each row of the frame: a table row may stand for several rows or none.
func (f *Frame) readResponse(t *table.Table, opt Options) (*table.Table, error) {
	t, err := f.applyWeights(t, opt)
	if err != nil {
		return nil, err
	}
	var successes []float64
	if f.Formula.Counts() {
		if t, successes, err = f.expandTrials(t); err != nil {
			return nil, err
		}
	}
	if t.Rows() < 2 {
		return nil, fmt.Errorf("%s: got %s, want at least two", t.Path, english.Count(t.Rows(), "row"))
	}
	f.Places, f.PlaceUnit = t.Places()
	if f.Y = successes; f.Y != nil {
		err = likelihood.Check(t, fmt.Sprintf("response %q", f.Formula.ResponseText()), f.Y, f.Response)
	} else {
		err = f.response(t, opt.Levels)
	}
	if err != nil {
		return nil, err
	}
	for _, v := range f.Formula.Offsets {
		values, err := v.Numbers(t)
		if err != nil {
			return nil, err
		}
		if f.Offset == nil {
			f.Offset = make([]float64, t.Rows())
		}
		floats.Add(f.Offset, values)
	}
	if opt.SE != "" {
		if f.SE, err = standardErrors(t, opt.SE); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// readTerms expands the terms: population columns, and groupings with their varying columns.
func (f *Frame) readTerms(t *table.Table) error {
	var err error
	if f.Columns, f.X, err = f.expand(t, f.Formula.Terms, ""); err != nil {
		return err
	}
	f.checkRank()
	for place, v := range f.Formula.Varying {
		g, err := f.grouping(t, v.Group)
		if err == nil {
			err = f.addVarying(t, place, g)
		}
		if err != nil {
			return err
		}
	}
	for _, g := range f.Groupings {
		if err := f.checkGrouping(g); err != nil {
			return err
		}
	}
	return f.addSmooths(t)
}

// UsedColumns lists the columns of a formula, each once. A column that is not in the table is an
// error with its position in the formula.
func UsedColumns(t *table.Table, opt Options, f *formula.Formula) (names []string, err error) {
	for i, v := range f.Variables() {
		for _, column := range v.Columns() {
			if !slices.Contains(t.Names(), column) {
				_, err := t.Lookup(column)
				return nil, &formula.Error{Text: opt.Formula, Position: v.Position, Message: err.Error()}
			}
			if i > 0 && slices.Contains(f.Response.Columns(), column) {
				return nil, &formula.Error{Text: opt.Formula, Position: v.Position, Message: fmt.Sprintf("%q is the response", column)}
			}
		}
	}
	names = formula.ColumnsOf(f.Variables()...)
	if opt.SE != "" {
		if _, err := t.Lookup(opt.SE); err != nil {
			return nil, fmt.Errorf("standard errors: %w", err)
		}
		names = append(names, opt.SE)
	}
	return names, nil
}

// response reads the response and checks its range.
func (f *Frame) response(t *table.Table, levels []string) error {
	v := f.Formula.Response
	switch {
	case !f.Response.HasCategories() && levels != nil:
		return fmt.Errorf("levels of the response are for %s, %s and %s; this likelihood is %s", likelihood.CumulativeLogitKind, likelihood.CumulativeProbitKind, likelihood.CategoricalKind, f.Response)
	case f.Response.HasCategories() && (v.Transform != formula.AsIs || f.Formula.Censored.Column != ""):
		return fmt.Errorf("%s: response %q: got a column that is transformed or censored, want it as it is for a %s likelihood", t.Path, v, f.Response)
	case f.unordered() && len(f.Formula.Offsets) > 0:
		return fmt.Errorf("%s: offset %q: the %s likelihood has a linear predictor for each category but one, and an offset belongs to none of them", t.Path, f.Formula.Offsets[0], f.Response)
	case f.Response.Ordered() && !f.Formula.HasIntercept():
		return fmt.Errorf("the %s likelihood has cut points in place of an intercept: there is none to leave out", f.Response)
	case f.Response.HasCategories():
		column, err := t.Lookup(v.Column)
		if err == nil {
			f.Y, f.Labels, err = likelihood.ReadCategories(t, "response", column, f.Response, levels)
		}
		return err
	}
	if v.Transform == formula.AsIs {
		column, err := t.Lookup(v.Column)
		if err != nil {
			return err
		}
		if column.Kind == table.Factor || f.Response.Binary() {
			f.Y, f.Labels, err = likelihood.Read(t, "response", column, f.Response)
			return err
		}
	}
	var err error
	if f.Y, err = v.Numbers(t); err != nil {
		return err
	}
	if err := likelihood.Check(t, fmt.Sprintf("response %q", v), f.Y, f.Response); err != nil || f.Formula.Censored.Column == "" {
		return err
	}
	f.Y, err = likelihood.Censor(t, f.Formula.Censored.Column, f.Y, f.Response)
	return err
}

// standardErrors reads a column of positive numbers.
func standardErrors(t *table.Table, name string) ([]float64, error) {
	values, err := formula.Variable{Column: name}.Numbers(t)
	if err != nil {
		return nil, fmt.Errorf("standard errors: %w", err)
	}
	for row, v := range values {
		if !(v > 0) {
			return nil, fmt.Errorf("%s: %s: standard error %q: got %v, want a positive number", t.Path, t.Place(row), name, v)
		}
	}
	return values, nil
}
