package formula

import (
	"slices"
)

// crossing reads products joined by * and /.
func (p *formulaParser) crossing() ([]Term, error) {
	left, err := p.interaction()
	for err == nil {
		sign := p.peek()
		if sign.kind != '*' && sign.kind != '/' {
			return left, nil
		}
		p.next()
		var right []Term
		if right, err = p.interaction(); err != nil {
			return nil, err
		}
		if sign.kind == '*' {
			products := products(left, right)
			left = Union(Union(left, right), products)
		} else {
			all := Term{}
			for _, t := range left {
				all = all.times(t)
			}
			left = Union(left, products([]Term{all}, right))
		}
		if len(left) > maxFormulaTerms {
			return nil, p.fail(sign.position, "more than %d terms", maxFormulaTerms)
		}
	}
	return nil, err
}

// interaction reads products joined by a colon.
func (p *formulaParser) interaction() ([]Term, error) {
	left, err := p.power()
	for err == nil && p.accept(':') {
		var right []Term
		if right, err = p.power(); err == nil {
			if left = products(left, right); len(left) > maxFormulaTerms {
				err = p.fail(p.peek().position, "more than %d terms", maxFormulaTerms)
			}
		}
	}
	return left, err
}

// power reads a sum in parentheses and the largest number of factors of a product, as in (a + b +
// c)^2.
func (p *formulaParser) power() ([]Term, error) {
	grouped := p.peek().kind == '('
	terms, err := p.atom()
	if err != nil || p.peek().kind != '^' {
		return terms, err
	}
	sign := p.next()
	t := p.next()
	if !grouped {
		return nil, p.fail(sign.position, "a power of a column is I(x^2); polynomials of it are poly(x, 2)")
	}
	if t.kind != numberToken || len(t.text) != 1 || t.text == "0" {
		return nil, p.fail(t.position, "got %s, want the number of terms that a product may have, 1 to 9", t)
	}
	all := terms
	for range int(t.text[0]-'0') - 1 {
		if all = Union(slices.Clone(all), products(all, terms)); len(all) > maxFormulaTerms {
			return nil, p.fail(sign.position, "more than %d terms", maxFormulaTerms)
		}
	}
	return all, nil
}

// products returns the products of every term of one list with every term of another.
func products(left, right []Term) (list []Term) {
	for _, a := range left {
		for _, b := range right {
			list = Union(list, []Term{a.times(b)})
		}
	}
	return list
}

// atom reads a variable, or a sum in parentheses.
func (p *formulaParser) atom() ([]Term, error) {
	t := p.peek()
	switch t.kind {
	case nameToken:
		v, err := p.variable()
		return []Term{{v}}, err
	case '(':
		if p.barAhead() {
			return nil, p.fail(t.position, "terms that vary by group cannot be part of a product")
		}
		if p.depth++; p.depth > maxFormulaDepth {
			return nil, p.fail(t.position, "more than %d parentheses inside each other", maxFormulaDepth)
		}
		p.next()
		terms, err := p.sum(nil, false)
		if err != nil {
			return nil, err
		}
		p.depth--
		if after := p.peek(); after.kind == nameToken {
			return nil, p.fail(after.position, `got %s, want ")", or "|" before a group, as in (1 | %s)`, after, after.text)
		}
		if Index(terms, nil) >= 0 {
			return nil, p.fail(t.position, "the intercept cannot be part of a product")
		}
		return terms, p.expect(')', `")"`)
	}
	return nil, p.fail(t.position, "got %s, want a term", t)
}

// Name returns the name of a term in messages and results: InterceptName for the intercept, and a
// name without labels for an ordered predictor.
func (t Term) Name() string {
	switch {
	case len(t) == 0:
		return InterceptName
	case t.Monotonic():
		return t[0].shortName()
	}
	return t.String()
}

// InterceptName is the name of the intercept in results.
const InterceptName = "(Intercept)"
