package formula

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Formula is a regression in the notation of lme4 and brms: a response, population terms, and terms
// that vary by group.
type Formula struct {
	// Response is what stands before "~".
	Response Variable
	// Terms are the population terms, each once, main effects before interactions; an empty term is
	// the intercept.
	Terms []Term
	// Varying are the parenthesised terms, in the order of the formula; a/b has become a and a:b.
	Varying []Varying
	// Offsets are added to the linear predictor as they are.
	Offsets []Variable
}

// Variable is a column of a table, perhaps transformed.
type Variable struct {
	Column    string
	Transform Transform
	// Position is where it stands in the text of the formula, in characters from 1; it does not
	// take part in comparisons.
	Position int
}

// Transform is what a formula can do to a column.
type Transform int

// The transforms of a formula.
const (
	AsIs      Transform = iota
	TakeLog             // natural logarithm
	TakeLog1p           // log(1 + x)
	TakeExp
	TakeSqrt
	AsFactor // the values are labels
)

var transformNames = [...]string{"", "log", "log1p", "exp", "sqrt", "factor"}

// String returns the name as a formula spells it; that of AsIs is empty.
func (f Transform) String() string {
	if f < 0 || int(f) >= len(transformNames) {
		return fmt.Sprintf("Transform(%d)", int(f))
	}
	return transformNames[f]
}

// String returns the variable as a formula spells it.
func (v Variable) String() string {
	name := v.Column
	if !plainName(name) {
		name = "`" + name + "`"
	}
	if v.Transform == AsIs {
		return name
	}
	return v.Transform.String() + "(" + name + ")"
}

// same reports whether two variables are equal, wherever they stand.
func (v Variable) same(w Variable) bool {
	return v.Column == w.Column && v.Transform == w.Transform
}

// Term is a product of different variables; the empty product is the intercept.
type Term []Variable

// String returns the term as a formula spells it.
func (t Term) String() string {
	if len(t) == 0 {
		return "1"
	}
	names := make([]string, len(t))
	for i, v := range t {
		names[i] = v.String()
	}
	return strings.Join(names, ":")
}

// Same reports whether two terms are the same product, in any order.
func (t Term) Same(u Term) bool { return len(t) == len(u) && t.Contains(u) }

// Contains reports whether every variable of u is one of t.
func (t Term) Contains(u Term) bool {
	for _, v := range u {
		if !slices.ContainsFunc(t, v.same) {
			return false
		}
	}
	return true
}

// times is the product of two terms: a variable of both is there once.
func (t Term) times(u Term) Term {
	product := slices.Clone(t)
	for _, v := range u {
		if !slices.ContainsFunc(t, v.same) {
			product = append(product, v)
		}
	}
	return product
}

// Varying are terms whose coefficients vary by group.
type Varying struct {
	// Terms are those that vary; an empty term is the intercept.
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
	for _, v := range f.Varying {
		parts = append(parts, v.String())
	}
	return f.Response.String() + " ~ " + strings.Join(parts, " + ")
}

// HasIntercept reports whether the intercept is a population term.
func (f *Formula) HasIntercept() bool { return Index(f.Terms, nil) >= 0 }

// sumText is a sum of terms; a missing intercept is a zero.
func sumText(terms []Term) string {
	var parts []string
	if Index(terms, nil) < 0 {
		parts = append(parts, "0")
	}
	for _, t := range terms {
		parts = append(parts, t.String())
	}
	return strings.Join(parts, " + ")
}

// Index returns the place of a term among others, or −1.
func Index(terms []Term, t Term) int { return slices.IndexFunc(terms, t.Same) }

// Union returns terms, followed by those of more that are not among them.
func Union(terms, more []Term) []Term {
	for _, t := range more {
		if Index(terms, t) < 0 {
			terms = append(terms, t)
		}
	}
	return terms
}

// plainName reports whether a column needs no quotes in a formula.
func plainName(name string) bool {
	for i, r := range name {
		if !nameRune(r, i == 0) {
			return false
		}
	}
	return name != ""
}

// nameRune reports whether a character can be part of a name that is not quoted.
func nameRune(r rune, first bool) bool {
	return r == '_' || unicode.IsLetter(r) || r == '.' || !first && unicode.IsDigit(r)
}
