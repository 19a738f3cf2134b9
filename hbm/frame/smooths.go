package frame

import (
	"fmt"

	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/table"
)

// addSmooths makes a grouping of each smooth function s(x). All rows are in its one level, and the
// functions of its basis vary by it, independent of each other and with one common standard
// deviation. The line around which the curve bends is a population term.
func (f *Frame) addSmooths(t *table.Table) error {
	for place, s := range f.Formula.Smooths {
		if !f.Response.Conjugate() {
			return fmt.Errorf("%s: %s: smooth functions are for gaussian and lognormal responses; this one is %s", f.Path, s, f.Response)
		}
		x, err := s.Of.Expand(t, false, f.fitted(t))
		if err != nil {
			return err
		}
		if x[0].Level {
			return fmt.Errorf("%s: %s: column %q holds text, want numbers", f.Path, s, s.Of.Column)
		}
		basis, err := s.Basis(x[0].Values, f.fitted(t))
		if err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
		columns := apply.UpTo(basis.RawMatrix().Cols, func(k int) Column { return Column{Name: fmt.Sprintf("bend %d", k+1), Term: place} })
		f.Groupings = append(f.Groupings, &Grouping{Name: s.String(), Levels: []string{"all"}, Index: make([]int, t.Rows()), Counts: []int{t.Rows()}, Z: basis, Columns: columns, Smooth: true})
	}
	return nil
}

// TermOf returns the term of a column of a grouping: the varying term, or the line of a smooth
// function.
func (f *Frame) TermOf(g *Grouping, c Column) formula.Term {
	if g.Smooth {
		return f.Formula.Smooths[c.Term].Linear()
	}
	return f.Formula.Varying[c.Varying].Terms[c.Term]
}
