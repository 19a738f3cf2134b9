package design

import (
	"errors"
	"fmt"
	"slices"

	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/table"
)

// WithFormula returns the options with a formula such as "y ~ poly(x, 2) + z*w", and with its
// target, trials, censoring, offset and intercept. Each term is a predictor: all columns of a
// factor or polynomial enter a model together, and the parents of an interaction are the terms that
// it multiplies. See [formula.Parse] for the syntax.
func (opt Options) WithFormula(text string) (Options, error) {
	f, err := formula.Parse(text)
	if err != nil {
		return opt, err
	}
	fail := func(v formula.Variable, format string, args ...any) (Options, error) {
		return opt, &formula.Error{Text: text, Position: max(v.Position, 1), Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case len(f.Varying) > 0:
		return fail(f.Varying[0].Group[0], "%s varies by group, which is for vti hbm --select", f.Varying[0])
	case len(f.Smooths) > 0:
		return fail(f.Smooths[0].Of, "%s is for vti hbm; want poly(x, degree)", f.Smooths[0])
	case slices.ContainsFunc(f.Terms, formula.Term.Monotonic):
		variable := f.Terms[slices.IndexFunc(f.Terms, formula.Term.Monotonic)][0]
		return fail(variable, "%s is for vti hbm --select, which integrates over the shares of its steps", variable)
	case len(f.Failures.Columns()) > 0:
		return fail(f.Failures, "want successes | trials(n)")
	case len(f.Weights.Columns()) > 0:
		return fail(f.Weights, "selection has no weights")
	case f.Response.Transform != formula.AsIs:
		return fail(f.Response, "the response is a column as it is; for its logarithm there is --likelihood lognormal")
	case len(f.Offsets) > 1:
		return fail(f.Offsets[1], "want one offset, which may be a sum in I()")
	case opt.Target != "" && opt.Target != f.Response.Column:
		return fail(f.Response, "the response is %q here and --target %q", f.Response.Column, opt.Target)
	case len(opt.Groups)+len(opt.Interactions)+len(opt.Factors) > 0 || opt.Trials != "" || opt.Censored != "" || opt.Offset != "":
		return opt, errors.New("a formula says itself which columns are factors, groups, interactions, trials, censoring and offset")
	}
	opt.Formula, opt.Target, opt.Trials, opt.Censored = text, f.Response.Column, f.Trials.Column, f.Censored.Column
	opt.NoIntercept = opt.NoIntercept || !f.HasIntercept()
	for _, v := range f.Offsets {
		if opt.Offset = v.Column; v.Transform != formula.AsIs {
			opt.Offset = v.String()
		}
	}
	return opt, nil
}

// formulaLayout makes a predictor of each term of the formula.
func formulaLayout(t *table.Table, opt Options) (*table.Table, *layout, error) {
	f, err := formula.Parse(opt.Formula)
	if err != nil {
		return nil, nil, err
	}
	t = t.WithLabels(f.Labels()...)
	others := slices.DeleteFunc(slices.Clone(t.Names()), func(name string) bool { return slices.Contains(opt.Exclude, name) })
	if _, err := f.Expand(opt.Formula, others); err != nil {
		return nil, nil, err
	}
	for _, name := range append(opt.responseColumns(), opt.Exclude...) {
		if !slices.Contains(t.Names(), name) {
			_, err := t.Lookup(name) // the error suggests similar names
			return nil, nil, err
		}
	}
	l := &layout{factors: make(map[string]bool), terms: f.Terms, standardize: !opt.NoStandardize, offset: opt.offset(t).Columns()}
	for _, name := range f.Labels() {
		l.factors[name] = true
	}
	var names []string
	for _, term := range f.Terms {
		if len(term) == 0 {
			continue
		}
		b := block{name: term.String(), term: term, always: slices.Contains(opt.Always, term.String())}
		for _, v := range term {
			for _, name := range v.Columns() {
				where := func(err string) error {
					return &formula.Error{Text: opt.Formula, Position: max(v.Position, 1), Message: err}
				}
				if !slices.Contains(t.Names(), name) {
					_, err := t.Lookup(name)
					return nil, nil, where(err.Error())
				}
				if slices.Contains(opt.responseColumns(), name) || slices.Contains(opt.Exclude, name) {
					return nil, nil, where(fmt.Sprintf("%q is part of the response, or excluded", name))
				}
				b.columns = append(b.columns, name)
			}
		}
		for _, part := range f.Terms {
			if len(part) > 0 && len(part) < len(term) && term.Contains(part) {
				b.parents = append(b.parents, part.String())
			}
		}
		names = append(names, b.name)
		l.blocks = append(l.blocks, b)
	}
	for _, name := range opt.Always {
		if !slices.Contains(names, name) {
			return nil, nil, fmt.Errorf("%s: always: the formula has no term %q; it has %q", t.Path, name, names)
		}
	}
	return t, l, checkPredictorNames(t, l.blocks)
}
