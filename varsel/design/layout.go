package design

import (
	"fmt"
	"slices"
	"strings"

	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/table"
)

// layout assigns every column of a table to its use.
type layout struct {
	blocks  []block
	factors map[string]bool
	// terms of a formula; standardize says whether to standardise numeric columns in products
	terms       []formula.Term
	standardize bool
	offset      []string // columns of the offset
}

// block is a predictor before its columns are expanded: a column, or a named group of them.
type block struct {
	name    string
	columns []string
	always  bool
	term    formula.Term // the term, if it comes from a formula
	parents []string     // the terms that an interaction of a formula multiplies
}

// rawPredictor is a predictor with its numeric columns, not yet standardised.
type rawPredictor struct {
	name    string
	always  bool
	columns []rawColumn
	parents []string // the predictors that an interaction multiplies
}

type rawColumn struct {
	name   string
	values []float64
}

// newLayout assigns columns to uses. It checks that every named column exists and has one use.
// Predictors are in the order of their first columns in the table, or of the terms in the formula.
// In the returned table, columns that the options declare as factors hold labels.
func newLayout(t *table.Table, opt Options) (*table.Table, *layout, error) {
	if opt.Formula != "" {
		return formulaLayout(t, opt)
	}
	t = t.WithLabels(opt.Factors...)
	l, err := columnLayout(t, opt)
	return t, l, err
}

// columnLayout does the same as newLayout for options that name columns, without a formula.
func columnLayout(t *table.Table, opt Options) (*layout, error) {
	uses, err := columnUses(t, opt)
	if err != nil {
		return nil, err
	}
	l := &layout{factors: make(map[string]bool), offset: opt.offset(t).Columns()}
	for _, name := range opt.Factors {
		l.factors[name] = true
	}
	groupOf := make(map[string]int)
	for g, group := range opt.Groups {
		for _, name := range group.Columns {
			groupOf[name] = g
		}
	}
	placed := make([]bool, len(opt.Groups))
	for _, name := range t.Names() {
		g, grouped := groupOf[name]
		switch use := uses[name]; {
		case grouped && !placed[g]:
			l.blocks = append(l.blocks, block{name: opt.Groups[g].Name, columns: opt.Groups[g].Columns})
			placed[g] = true
		case !grouped && (use == "" || use == "always"):
			l.blocks = append(l.blocks, block{name: name, columns: []string{name}, always: use == "always"})
		}
	}
	return l, checkPredictorNames(t, l.blocks)
}

// columnUses returns the use of every named column. It returns an error for unknown columns and for
// columns with two uses.
func columnUses(t *table.Table, opt Options) (map[string]string, error) {
	if opt.Target == "" {
		return nil, fmt.Errorf("%s: no target column was given; the columns are %s", t.Path, strings.Join(t.Names(), ", "))
	}
	names := t.Names()
	uses := make(map[string]string)
	named := [][2]string{{opt.Target, "target"}}
	for _, pair := range [][2]string{{opt.Trials, "trials"}, {opt.Censored, "censored"}} {
		if pair[0] != "" {
			named = append(named, pair)
		}
	}
	for k, list := range [][]string{opt.offset(t).Columns(), opt.Always, opt.Exclude} {
		for _, name := range list {
			named = append(named, [2]string{name, [...]string{"offset", "always", "exclude"}[k]})
		}
	}
	for _, group := range opt.Groups {
		if group.Name == "" || len(group.Columns) == 0 {
			return nil, fmt.Errorf("%s: group %q: want a name and at least one column", t.Path, group.Name)
		}
		for _, name := range group.Columns {
			named = append(named, [2]string{name, fmt.Sprintf("group %q", group.Name)})
		}
	}
	for _, pair := range named {
		name, use := pair[0], pair[1]
		before, used := uses[name]
		switch {
		case !slices.Contains(names, name):
			_, err := t.Lookup(name) // the error suggests similar names
			return nil, fmt.Errorf("%s: %w", use, err)
		case used && before != use:
			return nil, fmt.Errorf("%s: column %q is named as %s and as %s; it can have one use", t.Path, name, before, use)
		case used:
			return nil, fmt.Errorf("%s: column %q is named twice as %s", t.Path, name, use)
		}
		uses[name] = use
	}
	for _, name := range opt.Factors {
		if !slices.Contains(names, name) {
			_, err := t.Lookup(name)
			return nil, fmt.Errorf("factor: %w", err)
		}
		if use := uses[name]; use == "target" || use == "censored" || use == "trials" || use == "offset" || use == "exclude" {
			return nil, fmt.Errorf("%s: column %q is named as factor and as %s", t.Path, name, use)
		}
	}
	return uses, nil
}

// checkPredictorNames returns an error if a group has the name of another predictor.
func checkPredictorNames(t *table.Table, blocks []block) error {
	seen := make(map[string]bool)
	for _, b := range blocks {
		if seen[b.name] {
			return fmt.Errorf("%s: two predictors are called %q; name the group differently", t.Path, b.name)
		}
		seen[b.name] = true
	}
	return nil
}

// responseColumns returns the columns of the response, the target first.
func (opt Options) responseColumns() []string {
	names := []string{opt.Target}
	for _, name := range []string{opt.Censored, opt.Trials} {
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}

// used returns the names of the columns in which missing cells matter.
func (l *layout) used(opt Options) []string {
	names, seen := append(opt.responseColumns(), l.offset...), make(map[string]bool)
	for _, name := range names {
		seen[name] = true
	}
	for _, b := range l.blocks {
		for _, name := range b.columns {
			if !seen[name] { // terms may share a column
				names, seen[name] = append(names, name), true
			}
		}
	}
	return names
}

// expand reads the columns of every predictor: numbers unchanged, a factor as one 0/1 indicator per
// level but the first. The argument seen is the number of rows, the first ones, to which the run is
// fitted.
func (l *layout) expand(t *table.Table, seen int) ([]rawPredictor, error) {
	predictors, find := make([]rawPredictor, len(l.blocks)), t.Finder()
	for i, b := range l.blocks {
		predictors[i] = rawPredictor{name: b.name, always: b.always, parents: b.parents}
		if b.term != nil {
			columns, err := b.term.Expand(t, l.terms, seen, l.standardize)
			if err != nil {
				return nil, err
			}
			for _, c := range columns {
				predictors[i].columns = append(predictors[i].columns, rawColumn{c.Name, c.Values})
			}
			continue
		}
		for _, name := range b.columns {
			c, err := find(name)
			if err != nil {
				return nil, err
			}
			if l.factors[name] {
				c = c.AsFactor()
			}
			columns, err := numericColumns(t, c)
			if err != nil {
				return nil, err
			}
			predictors[i].columns = append(predictors[i].columns, columns...)
		}
	}
	return predictors, nil
}

func numericColumns(t *table.Table, c *table.Column) ([]rawColumn, error) {
	if c.Kind == table.Numeric {
		return []rawColumn{{c.Name, c.Values}}, nil
	}
	if len(c.Levels) == t.Rows() && t.Rows() > 2 {
		return nil, fmt.Errorf("%s: column %q: all %d rows hold different labels (first %q), so it looks like row names; exclude it", t.Path, c.Name, t.Rows(), c.Text(0))
	}
	if len(c.Levels) < 2 { // a constant factor, for which removeDegenerate returns an error
		return []rawColumn{{c.Name, make([]float64, t.Rows())}}, nil
	}
	columns := apply.UpTo(len(c.Levels)-1, func(k int) rawColumn { return rawColumn{c.Name + "=" + c.Levels[k+1], make([]float64, t.Rows())} })
	for row, code := range c.Codes {
		if code > 0 {
			columns[code-1].values[row] = 1
		}
	}
	return columns, nil
}
