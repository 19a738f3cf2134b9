package formula

import (
	"fmt"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/spline"
)

// Smooth is a smooth function of a variable, a natural cubic spline.
type Smooth struct {
	// Of is the variable.
	Of Variable
	// Knots is the number of knots of the spline.
	Knots int
}

// DefaultKnots is the number of knots of s(x), as in mgcv. mostKnots is the largest number of
// knots, and leastKnots the smallest: two at the ends and one between them.
const (
	DefaultKnots = 10
	mostKnots    = 60
	leastKnots   = 3
)

// String returns the function as a formula spells it.
func (s Smooth) String() string {
	if s.Knots == DefaultKnots {
		return "s(" + s.Of.String() + ")"
	}
	return fmt.Sprintf("s(%s, k=%d)", s.Of, s.Knots)
}

// Linear returns the term of the line around which the curve bends.
func (s Smooth) Linear() Term { return Term{s.Of} }

// smooth reads s(x) or s(x, k=20), and returns the linear part.
func (p *formulaParser) smooth() (Term, error) {
	position := p.next().position
	p.next()
	v, err := p.variable()
	if err != nil {
		return nil, err
	}
	switch v.Transform {
	case AsFactor, TakePolynomials:
		return nil, p.fail(v.Position, "s() is of a number, not of %s", v)
	}
	s := Smooth{v, DefaultKnots}
	if p.accept(',') {
		if t := p.next(); t.text != "k" || !p.accept('=') {
			return nil, p.fail(t.position, "got %s, want the number of knots, as in s(x, k=20)", t)
		}
		t := p.next()
		if s.Knots, err = strconv.Atoi(t.text); t.kind != numberToken || err != nil || s.Knots < leastKnots || s.Knots > mostKnots {
			return nil, p.fail(t.position, "got %s, want a number of knots, %d to %d", t, leastKnots, mostKnots)
		}
	}
	for _, other := range p.formula.Smooths {
		if other.Of.same(v) {
			return nil, p.fail(position, "s(%s) twice", v)
		}
	}
	p.formula.Smooths = append(p.formula.Smooths, s)
	return s.Linear(), p.expect(')', `")"`)
}

// Basis returns the functions [n, k − 2] of a natural cubic spline with k knots, at x [n]. The
// knots are quantiles of rows 0 to seen−1. Over these rows the functions are orthogonal to lines.
func (s Smooth) Basis(x []float64, seen int) (*mat.Dense, error) {
	if count := len(spline.Distinct(x[:seen])); count < s.Knots {
		return nil, fmt.Errorf("%s: got %s, want at least as many as the %s: write s(%s, k=%d)", s, english.Count(count, "different value"), english.Count(s.Knots, "knot"), s.Of, max(leastKnots, count))
	}
	functions := spline.NewNatural(x[:seen], s.Knots)
	if functions == nil {
		return nil, fmt.Errorf("%s: its knots lie too close to each other, want fewer of them", s)
	}
	basis := mat.NewDense(len(x), functions.Functions(), nil)
	for row, v := range x {
		functions.At(v, basis.RawRowView(row))
	}
	return basis, nil
}
