package frame

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/table"
)

// expand turns terms into columns of a design. The argument where begins the names of the terms in
// errors and warnings, such as "varying by county: "; it is "" for population terms.
func (f *Frame) expand(t *table.Table, terms []formula.Term, where string) (columns []Column, design *mat.Dense, err error) {
	var values [][]float64
	intercept := formula.Index(terms, nil) >= 0
	for place, term := range terms {
		if len(term) == 0 && where == "" && f.Response.Ordered() {
			continue // cut points take the place of the intercept
		}
		products, err := term.Expand(t, terms, f.fitted(t), false)
		if err != nil {
			return nil, nil, err
		}
		for _, p := range products {
			if p.Step == "" && len(term) > 0 && intercept && slices.Min(p.Values) == slices.Max(p.Values) {
				if p.Level {
					f.Warnings = append(f.Warnings, fmt.Sprintf("%s%s is left out: no row, or every one, has it", where, p.Name))
					continue
				}
				return nil, nil, fmt.Errorf("%s: %s%s is constant (%v in every row): the intercept takes its place", t.Path, where, p.Name, p.Values[0])
			}
			name := oneLine(cmp.Or(p.Name, formula.InterceptName))
			// The name of a column "(Intercept)" already has the backticks that a formula needs.
			if name == f.Response.Scale() {
				name = "`" + name + "`"
			}
			columns = append(columns, Column{Name: name, Term: place, Step: oneLine(p.Step)})
			values = append(values, p.Values)
		}
	}
	if len(values) == 0 {
		return nil, nil, nil
	}
	design = mat.NewDense(t.Rows(), len(values), nil)
	for j, column := range values {
		design.SetCol(j, column)
	}
	return columns, design, nil
}

// fitted returns the number of rows to which scale() and poly() of a formula are fitted.
func (f *Frame) fitted(t *table.Table) int {
	if f.seen > 0 {
		return f.seen
	}
	return t.Rows()
}

// oneLine returns a name for tables and files. A name with control characters, such as the newline
// of a spreadsheet cell, is quoted with escapes.
func oneLine(name string) string {
	if strings.ContainsFunc(name, unicode.IsControl) {
		return strconv.Quote(name)
	}
	return name
}

// DependentColumn is the largest length of the residual of a column, regressed on the columns
// before it, that counts as zero. It is relative to the length of the column.
const DependentColumn = 1e-8

// checkRank warns of population columns that are linear combinations of columns before them. Only
// the priors tell the coefficients of such columns apart.
func (f *Frame) checkRank() {
	if f.X == nil {
		return
	}
	rows, columns := f.X.Dims()
	var basis [][]float64
	for j := range columns {
		left := mat.Col(nil, j, f.X)
		length := floats.Norm(left, 2)
		for _, b := range basis {
			floats.AddScaled(left, -floats.Dot(b, left), b)
		}
		rest := floats.Norm(left, 2)
		if rest <= DependentColumn*length || len(basis) == rows {
			f.Warnings = append(f.Warnings, fmt.Sprintf("%s is a combination of the columns before it: only the priors tell their coefficients apart", f.Columns[j].Text()))
			continue
		}
		basis = append(basis, apply.To(left, func(v float64) float64 { return v / rest }))
	}
}

// addVarying adds the columns of f.Formula.Varying[place], a term whose coefficients vary by group,
// to its grouping.
func (f *Frame) addVarying(t *table.Table, place int, g *Grouping) error {
	columns, z, err := f.expand(t, f.Formula.Varying[place].Terms, "varying by "+g.Name+": ")
	if err != nil {
		return err
	}
	if z == nil {
		return fmt.Errorf("%s: nothing is left to vary by %s: every column is constant", f.Path, g.Name)
	}
	for i := range columns {
		columns[i].Varying = place
	}
	g.Columns = append(g.Columns, columns...)
	if g.Z == nil {
		g.Z = z
		return nil
	}
	var both mat.Dense
	both.Augment(g.Z, z)
	g.Z = &both
	return nil
}

// grouping returns the grouping by the columns of group, and makes it if it is new.
func (f *Frame) grouping(t *table.Table, group formula.Term) (*Grouping, error) {
	levels := make([]*table.Column, len(group))
	for i, v := range group {
		column, err := t.Lookup(v.Column)
		if err != nil {
			return nil, err
		}
		levels[i] = column.AsFactor()
	}
	g := &Grouping{Name: groupingName(group), Group: group}
	for _, other := range f.Groupings {
		if other.Group.Same(group) {
			return other, nil
		}
	}
	// Levels are in the order of the columns' levels; the first column changes slowest.
	codes := apply.UpTo(t.Rows(), func(row int) []int {
		return apply.To(levels, func(column *table.Column) int { return column.Codes[row] })
	})
	distinct := slices.Clone(codes)
	slices.SortFunc(distinct, slices.Compare)
	distinct = slices.CompactFunc(distinct, slices.Equal)
	for _, code := range distinct {
		label := apply.UpTo(len(code), func(i int) string { return levels[i].Levels[code[i]] })
		g.Levels = append(g.Levels, oneLine(strings.Join(label, ":")))
	}
	g.Counts = make([]int, len(distinct))
	for _, code := range codes {
		at, _ := slices.BinarySearchFunc(distinct, code, slices.Compare)
		g.Index = append(g.Index, at)
		g.Counts[at]++
	}
	f.Groupings = append(f.Groupings, g)
	return g, nil
}

func groupingName(group formula.Term) string {
	names := apply.To(group, func(v formula.Variable) string { return v.Column })
	return oneLine(strings.Join(names, ":"))
}

// checkGrouping refuses a grouping without information on variation, and warns of groups of one
// row.
func (f *Frame) checkGrouping(g *Grouping) error {
	single := len(apply.Keep(g.Counts, func(count int) bool { return count == 1 }))
	switch {
	case len(g.Levels) == 1:
		return fmt.Errorf("%s: all rows are in one group of %s (%q): nothing can vary by it", f.Path, g.Name, g.Levels[0])
	case single == len(g.Levels) && f.Response.Continuous() && f.SE == nil:
		return fmt.Errorf("%s: each of the %d rows is a group of its own by %s: its effect cannot be distinguished from the noise", f.Path, f.Rows(), g.Name)
	case single == 1:
		at := slices.Index(g.Counts, 1)
		f.Warnings = append(f.Warnings, fmt.Sprintf("group %q of %s has one row", g.Levels[at], g.Name))
	case single > 0 && single < len(g.Levels):
		f.Warnings = append(f.Warnings, fmt.Sprintf("%d of the %s of %s %s one row", single, english.Count(len(g.Levels), "group"), g.Name, english.Form(single, "has", "have")))
	}
	f.noteApart(g)
	if len(g.Columns) > maxVaryingColumns {
		return fmt.Errorf("%s: %d effects vary by %s; at most %d can", f.Path, len(g.Columns), g.Name, maxVaryingColumns)
	}
	return nil
}

// noteApart warns of correlations between columns that are not both nonzero in any group, for
// example levels of a factor that is also the grouping. The data do not determine such
// correlations.
func (f *Frame) noteApart(g *Grouping) {
	in := make([]map[int]bool, len(g.Columns)) // groups in which a column is not always zero
	for c := range in {
		in[c] = map[int]bool{}
		for row, level := range g.Index {
			if g.Z.At(row, c) != 0 {
				in[c][level] = true
			}
		}
	}
	var names []string
	correlations := 0
	for b := range g.Columns {
		for a := range b {
			if !f.Correlated(g, a, b) {
				continue
			}
			correlations++
			shared := false
			for level := range in[a] {
				shared = shared || in[b][level]
			}
			if !shared {
				names = append(names, CorrelationName(g.Columns[a].Name, g.Columns[b].Name, g.Name))
			}
		}
	}
	if names == nil {
		return
	}
	f.Warnings = append(f.Warnings, fmt.Sprintf("%d of %s of effects by %s %s no row to learn from, and %s the prior: no group has both columns (%s)", len(names), english.Count(correlations, "correlation"), g.Name, english.Form(len(names), "has", "have"), english.Form(len(names), "keeps", "keep"), english.List(names, 3)))
}

// maxVaryingColumns bounds the columns that vary by one grouping, because their covariance is
// factorised group by group.
const maxVaryingColumns = 8
