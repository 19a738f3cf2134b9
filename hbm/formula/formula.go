package formula

import (
	"slices"
	"strings"

	"github.com/transdim/vti/internal/apply"
)

// Formula is a regression in the notation of lme4 and brms: a response, population terms, and terms
// that vary by group.
type Formula struct {
	// Response is the variable before "~".
	Response Variable
	// Trials and Failures make the response a count of successes: Trials is the column of all
	// trials, or Failures the column of failures. At most one of them has a column.
	Trials, Failures Variable
	// Weights is the column of the weights of the rows. It has no columns if all rows have the
	// weight 1.
	Weights Variable
	// Censored is a column with a 1 in rows whose time is only a lower bound, and a 0 in other
	// rows. Censored.Column is empty if the formula names no such column.
	Censored Variable
	// Terms are the population terms, without repetition, and main effects come first. The empty
	// term is the intercept.
	Terms []Term
	// Varying are the parenthesised terms, in the order of the formula. Nested groupings a/b are
	// written out as a and a:b.
	Varying []Varying
	// Offsets are added to the linear predictor with the coefficient 1.
	Offsets []Variable
	// Smooths are smooth functions s(x), whose linear parts are among Terms.
	Smooths []Smooth

	without []Term // terms taken away, which "." does not bring back
}

// Term is a product of different variables; the empty product is the intercept.
type Term []Variable

// String returns the term as a formula spells it.
func (t Term) String() string {
	if len(t) == 0 {
		return "1"
	}
	return strings.Join(apply.To(t, Variable.String), ":")
}

// Same reports whether two terms are the same product, in any order.
func (t Term) Same(u Term) bool { return len(t) == len(u) && t.Contains(u) }

// Contains reports whether every variable of u is one of t.
func (t Term) Contains(u Term) bool {
	return !slices.ContainsFunc(u, func(v Variable) bool { return !slices.ContainsFunc(t, v.same) })
}

// times returns the product of two terms. A variable of both terms occurs once in it.
func (t Term) times(u Term) Term {
	return slices.Concat(t, apply.Keep(u, func(v Variable) bool { return !slices.ContainsFunc(t, v.same) }))
}

// Varying holds terms whose coefficients vary by group.
type Varying struct {
	// Terms are the varying terms; an empty term is the intercept.
	Terms []Term
	// Group are the columns whose combinations are the groups.
	Group Term
	// Independent says that the effects of different terms are not correlated (||).
	Independent bool
}

// String returns the terms as a formula spells them.
func (v Varying) String() string {
	bar := " | "
	if v.Independent {
		bar = " || "
	}
	return "(" + sumText(v.Terms) + bar + v.Group.String() + ")"
}

// String returns the formula with every term spelled out; parsing it again gives the same formula.
func (f *Formula) String() string {
	parts := []string{sumText(f.Terms)}
	for _, v := range f.Offsets {
		parts = append(parts, "offset("+v.String()+")")
	}
	parts = slices.Concat(parts, apply.To(f.Smooths, Smooth.String), apply.To(f.Varying, Varying.String))
	return f.ResponseText() + " ~ " + strings.Join(parts, " + ")
}

// ResponseText returns the text before "~".
func (f *Formula) ResponseText() string {
	text := f.Response.String()
	if f.Failures.Column != "" {
		text = "cbind(" + text + ", " + f.Failures.String() + ")"
	}
	var parts []string
	for name, v := range map[string]Variable{"trials": f.Trials, "cens": f.Censored, "weights": f.Weights} {
		if len(v.Columns()) > 0 {
			parts = append(parts, name+"("+v.String()+")")
		}
	}
	if slices.Sort(parts); len(parts) == 0 {
		return text
	}
	return text + " | " + strings.Join(parts, " + ")
}

// Counts reports whether the response counts successes among trials.
func (f *Formula) Counts() bool { return f.Trials.Column != "" || f.Failures.Column != "" }

// Products lists the population terms, and then the varying terms.
func (f *Formula) Products() []Term {
	varying := apply.To(f.Varying, func(v Varying) []Term { return v.Terms })
	return slices.Concat(f.Terms, slices.Concat(varying...))
}

// Variables lists all variables of the formula, the response first.
func (f *Formula) Variables() []Variable {
	all := slices.Concat([]Variable{f.Response}, f.Offsets, f.curves(), []Variable{f.Failures, f.Trials, f.Censored, f.Weights}, slices.Concat(f.Terms...))
	for _, v := range f.Varying {
		all = slices.Concat(all, slices.Concat(v.Terms...), v.Group)
	}
	return all
}

// curves lists the variables of the smooth functions.
func (f *Formula) curves() []Variable {
	return apply.To(f.Smooths, func(s Smooth) Variable { return s.Of })
}

// Labels lists the columns whose values are labels: columns in factor(), columns of groups, and
// ordered predictors with labels.
func (f *Formula) Labels() (columns []string) {
	for _, v := range f.Varying {
		for _, group := range v.Group {
			columns = append(columns, group.Column)
		}
	}
	for _, v := range slices.Concat(f.Products()...) {
		if v.Transform == AsFactor || v.order != "" {
			columns = append(columns, v.Column)
		}
	}
	return columns
}

// everything is the column name that stands for all columns that a formula does not name.
const everything = "."

// Expand replaces the term "." by a term for each column that the formula does not name. It reports
// whether the formula has this term. Errors are of type *[Error].
func (f *Formula) Expand(text string, columns []string) (found bool, err error) {
	for k, term := range f.Products() {
		for _, v := range term {
			if v.Column == everything && (k >= len(f.Terms) || len(term) > 1 || v.Transform != AsIs) {
				return false, &Error{text, v.Position, `"." stands for all other columns, as a population term of its own`}
			}
		}
	}
	named := ColumnsOf(f.Variables()...)
	at := Index(f.Terms, Term{{Column: everything}})
	if at < 0 {
		return false, nil
	}
	position := f.Terms[at][0].Position
	var more []Term
	for _, column := range columns {
		if !slices.Contains(named, column) && Index(f.without, Term{{Column: column}}) < 0 {
			more = append(more, Term{{Column: column, Position: position}})
		}
	}
	if len(more) == 0 {
		return false, &Error{text, position, `"." stands for all other columns, and there are none`}
	}
	f.Terms = slices.Concat(f.Terms[:at:at], more, f.Terms[at+1:])
	return true, nil
}

// HasIntercept reports whether the intercept is a population term.
func (f *Formula) HasIntercept() bool { return Index(f.Terms, nil) >= 0 }

// sumText returns a sum of terms as text; 0 stands for a missing intercept.
func sumText(terms []Term) string {
	var parts []string
	if Index(terms, nil) < 0 {
		parts = append(parts, "0")
	}
	return strings.Join(append(parts, apply.To(terms, Term.String)...), " + ")
}

// Index returns the index of t in terms, or −1 if t is not among them.
func Index(terms []Term, t Term) int { return slices.IndexFunc(terms, t.Same) }

// Union returns terms, followed by the terms of more that are not among them.
func Union(terms, more []Term) []Term {
	for _, t := range more {
		if Index(terms, t) < 0 {
			terms = append(terms, t)
		}
	}
	return terms
}
