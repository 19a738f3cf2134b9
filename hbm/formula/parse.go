package formula

import (
	"fmt"
	"slices"
)

// Parse reads a formula such as
//
//	log_radon ~ floor + (1 + floor | county)
//
// Population terms are joined by "+". a:b is an interaction, a*b stands for a + b + a:b, a/b for a
// + a:b, and "- a" takes a term away. (a + b + c)^2 stands for the terms and their products of two,
// and "." for all columns that are not named (see [Formula.Expand]). The intercept is in the
// formula unless 0 or -1 takes it away. offset(x) adds a column, or a function of columns, with the
// coefficient 1.
//
// (terms | group) lets the coefficients of terms vary by group. They are correlated with each
// other, or independent of each other with ||. An intercept varies too, unless it is taken away. A
// group is a column, a combination a:b of columns, or nested, a/b, which stands for (terms | a) +
// (terms | a:b).
//
// log, log1p, exp and sqrt take columns, and arithmetic on them. Other functions take a column:
// scale(x) subtracts the mean and divides by the standard deviation, poly(x, 3) stands for
// orthogonal polynomials, factor(x) for labels, and C(x, sum), C(x, helmert) and C(x,
// reference="b") for labels with a coding. I(a / b^2) is arithmetic on columns.
//
// s(x) stands for x and a smooth function of x around this line, with 10 knots, or with 20 as s(x,
// k=20). mo(x) is a monotonic effect of an ordered predictor, which has whole numbers, or labels in
// the order of mo(x, "low", "mid", "high").
//
// The response may be cbind(successes, failures), successes | trials(n), time | cens(bound), or y |
// weights(w). Names that are no words stand in backticks. Errors are of type *[Error].
func Parse(text string) (*Formula, error) {
	tokens, err := lex(text)
	if err != nil {
		return nil, err
	}
	p := &formulaParser{text: text, tokens: tokens, formula: &Formula{}}
	if err := p.parse(); err != nil {
		return nil, err
	}
	return p.formula, nil
}

type formulaParser struct {
	text    string
	tokens  []token
	formula *Formula
	depth   int
}

// maxFormulaDepth and maxFormulaTerms bound the growth of nested parentheses and products.
const (
	maxFormulaDepth = 50
	maxFormulaTerms = 1000
)

func (p *formulaParser) peek() token { return p.tokens[0] }

func (p *formulaParser) next() token {
	t := p.tokens[0]
	if t.kind != endToken {
		p.tokens = p.tokens[1:]
	}
	return t
}

// accept takes the next token if it is of the given kind, and reports whether it did.
func (p *formulaParser) accept(kind rune) bool {
	if p.peek().kind != kind {
		return false
	}
	p.next()
	return true
}

func (p *formulaParser) fail(position int, format string, args ...any) error {
	return &Error{p.text, position, fmt.Sprintf(format, args...)}
}

// expect takes the next token, or returns an error if the token is not of the given kind.
func (p *formulaParser) expect(kind rune, wanted string) error {
	if t := p.peek(); t.kind != kind {
		return p.fail(t.position, "got %s, want %s", t, wanted)
	}
	p.next()
	return nil
}

// parse reads response ~ sum.
func (p *formulaParser) parse() error {
	t := p.peek()
	if t.kind != nameToken {
		return p.fail(t.position, "got %s, want the name of the response", t)
	}
	if err := p.response(); err != nil {
		return err
	}
	if err := p.expect('~', `"~" after the response`); err != nil {
		return err
	}
	var err error
	if p.formula.Terms, err = p.sum([]Term{nil}, true); err != nil {
		return err
	}
	if t := p.peek(); t.kind != endToken {
		hint := ""
		if t.kind == nameToken {
			hint = ", or a name with spaces in backquotes, `like this`"
		}
		return p.fail(t.position, `got %s, want "+" or the end%s`, t, hint)
	}
	for _, s := range p.formula.Smooths {
		if Index(p.formula.Terms, s.Linear()) < 0 {
			return p.fail(s.Of.Position, "%s bends the line of %s, which cannot be taken away", s, s.Of)
		}
	}
	if err := p.checkSteps(); err != nil {
		return err
	}
	if len(p.formula.Terms) == 0 && len(p.formula.Varying) == 0 {
		return p.fail(p.peek().position, "the formula has no terms")
	}
	return nil
}

// response reads y, cbind(successes, failures), successes | trials(n), or time | cens(bound).
func (p *formulaParser) response() (err error) {
	f := p.formula
	if t := p.peek(); t.text == "cbind" && p.tokens[1].kind == '(' {
		p.next()
		p.next()
		if f.Response, err = p.variable(); err != nil {
			return err
		}
		if err := p.expect(',', `"," before the column of failures`); err != nil {
			return err
		}
		if f.Failures, err = p.variable(); err != nil {
			return err
		}
		if err := p.expect(')', `")"`); err != nil {
			return err
		}
	} else if f.Response, err = p.variable(); err != nil {
		return err
	}
	if p.accept('|') {
		if err := p.responseColumns(); err != nil {
			return err
		}
	}
	for _, v := range []Variable{f.Response, f.Failures, f.Trials} {
		if f.Counts() && v.Transform != AsIs {
			return p.fail(v.Position, "successes, failures and trials are columns as they are, without %s", v)
		}
	}
	for _, v := range []Variable{f.Response, f.Weights} {
		switch v.Transform {
		case AsFactor:
			return p.fail(v.Position, "the response is a number or, for the logistic likelihood, a column of two labels, and a weight is a number: leave out factor()")
		case TakeScale, TakePolynomials:
			return p.fail(v.Position, "%s is for predictors", v)
		}
	}
	if v := f.Censored; v.Transform != AsIs || v.Column != "" && f.Response.Transform != AsIs {
		return p.fail(v.Position, "a time and what says that it is a lower bound are columns as they are")
	}
	return nil
}

// responseColumns reads trials(n), cens(bound) and weights(w), joined by +.
func (p *formulaParser) responseColumns() (err error) {
	f := p.formula
	for {
		t := p.next()
		variable := map[string]*Variable{"trials": &f.Trials, "cens": &f.Censored, "weights": &f.Weights}[t.text]
		switch {
		case variable == nil || p.peek().kind != '(':
			return p.fail(t.position, "got %s, want trials(column), cens(column) or weights(column)", t)
		case len(variable.Columns()) > 0:
			return p.fail(t.position, "%s() twice", t.text)
		case variable == &f.Trials && f.Failures.Column != "":
			return p.fail(t.position, "cbind() has the number of trials already")
		}
		p.next()
		if *variable, err = p.variable(); err != nil {
			return err
		}
		if err := p.expect(')', `")"`); err != nil {
			return err
		}
		if !p.accept('+') {
			return nil
		}
	}
}

// sum reads terms joined by + and -, and adds them to terms. It stops before a token that cannot be
// part of a sum. top says whether it may have varying terms, offsets and smooth functions.
func (p *formulaParser) sum(terms []Term, top bool) ([]Term, error) {
	for first := true; ; first = false {
		minus := false
		switch {
		case p.accept('-'):
			minus = true
		case p.accept('+') || first:
		default:
			slices.SortStableFunc(terms, func(a, b Term) int { return len(a) - len(b) })
			return terms, nil
		}
		var err error
		if terms, err = p.summand(terms, minus, top); err != nil {
			return nil, err
		}
		if len(terms) > maxFormulaTerms {
			return nil, p.fail(p.peek().position, "more than %d terms", maxFormulaTerms)
		}
	}
}

// summand reads one part of a sum, and adds it to the terms or, after a minus sign, removes it.
func (p *formulaParser) summand(terms []Term, minus, top bool) ([]Term, error) {
	t := p.peek()
	if t.kind == numberToken {
		p.next()
		if t.text != "0" && t.text != "1" || minus && t.text == "0" {
			return nil, p.fail(t.position, "got %s, want a term, 1 for the intercept, or 0 for none", t)
		}
		without := slices.DeleteFunc(terms, func(u Term) bool { return len(u) == 0 })
		if minus || t.text == "0" {
			return without, nil
		}
		return append(without, Term{}), nil
	}
	if top {
		if t.text == "s" && p.tokens[1].kind == '(' && !minus {
			linear, err := p.smooth()
			return Union(terms, []Term{linear}), err
		}
		if found, err := p.special(minus); found || err != nil {
			return terms, err
		}
	}
	more, err := p.crossing()
	if err != nil {
		return nil, err
	}
	if minus {
		p.formula.without = append(p.formula.without, more...)
		return slices.DeleteFunc(terms, func(u Term) bool { return Index(more, u) >= 0 }), nil
	}
	return Union(terms, more), nil
}

// special reads (terms | group) or offset(x), if that comes next.
func (p *formulaParser) special(minus bool) (found bool, err error) {
	t := p.peek()
	isOffset := t.kind == nameToken && t.text == "offset" && p.tokens[1].kind == '('
	if !isOffset && !p.barAhead() {
		return false, nil
	}
	if minus {
		return true, p.fail(t.position, "only population terms can be taken away")
	}
	if !isOffset {
		return true, p.varying()
	}
	p.next()
	p.next()
	v, err := p.offset()
	if err != nil {
		return true, err
	}
	p.formula.Offsets = append(p.formula.Offsets, v)
	return true, p.expect(')', `")"`)
}

// offset reads the argument of offset().
func (p *formulaParser) offset() (Variable, error) {
	v, err := p.variable()
	if err != nil {
		return v, err
	}
	switch v.Transform {
	case AsFactor:
		return v, p.fail(v.Position, "an offset is a number, not a factor")
	case TakeScale, TakePolynomials:
		return v, p.fail(v.Position, "%s is for predictors", v)
	}
	return v, nil
}

// ParseOffset reads an offset as in offset(): a column, or a function of columns such as
// log(exposure). Errors are of type *[Error].
func ParseOffset(text string) (Variable, error) {
	tokens, err := lex(text)
	if err != nil {
		return Variable{}, err
	}
	p := &formulaParser{text: text, tokens: tokens, formula: &Formula{}}
	v, err := p.offset()
	if err == nil && v.Transform == TakeSteps {
		err = p.fail(v.Position, "%s is for predictors", v)
	}
	if err != nil {
		return v, err
	}
	return v, p.expect(endToken, "the end of the offset")
}

// barAhead reports whether the next token opens parentheses with a bar | directly inside.
func (p *formulaParser) barAhead() bool {
	if p.peek().kind != '(' {
		return false
	}
	depth := 0
	for _, t := range p.tokens {
		switch t.kind {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return false
			}
		case '|', doubleBar:
			if depth == 1 {
				return true
			}
		}
	}
	return false
}

// varying reads (terms | group).
func (p *formulaParser) varying() error {
	position := p.next().position
	terms, err := p.sum([]Term{nil}, false)
	if err != nil {
		return err
	}
	if len(terms) == 0 {
		return p.fail(position, "nothing varies by group here")
	}
	bar := p.next()
	if bar.kind != '|' && bar.kind != doubleBar {
		return p.fail(bar.position, `got %s, want "|" before the group`, bar)
	}
	groups, err := p.groups()
	if err != nil {
		return err
	}
	if err := p.expect(')', `")" after the group`); err != nil {
		return err
	}
	for _, group := range groups {
		for _, other := range p.formula.Varying {
			if !other.Group.Same(group) {
				continue
			}
			for _, t := range terms {
				if Index(other.Terms, t) >= 0 {
					return p.fail(position, "%s varies by %s twice", t.Name(), group)
				}
			}
		}
		p.formula.Varying = append(p.formula.Varying, Varying{terms, group, bar.kind == doubleBar && len(terms) > 1})
	}
	return nil
}

// groups reads a, a:b or a/b.
func (p *formulaParser) groups() ([]Term, error) {
	var groups []Term
	current := Term{}
	for {
		t := p.peek()
		if t.kind != nameToken {
			return nil, p.fail(t.position, "got %s, want the column of the group", t)
		}
		v, err := p.variable()
		if err != nil {
			return nil, err
		}
		if v.Transform != AsIs && v.Transform != AsFactor {
			return nil, p.fail(t.position, "a group is a column as it is, without %s()", v.Transform)
		}
		v = Variable{Column: v.Column, Position: v.Position} // values of group columns are labels
		if current = current.times(Term{v}); len(current) > maxFormulaDepth {
			return nil, p.fail(t.position, "more than %d columns in a group", maxFormulaDepth)
		}
		switch {
		case p.accept(':'):
		case p.accept('/'):
			groups = Union(groups, []Term{current})
		default:
			return Union(groups, []Term{current}), nil
		}
	}
}
