package formula

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/english"
)

// Smooth is a smooth function of a variable, a natural cubic spline.
type Smooth struct {
	Of Variable
	// Knots is the number of its knots.
	Knots int
}

// DefaultKnots is the number of knots of s(x), as in mgcv. mostKnots bounds it, and leastKnots is
// one between two ends.
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

// Linear is the term of the line around which the curve bends.
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

// Basis are functions [n, k − 2] of x [n] such that a natural cubic spline with k knots is a line
// plus Σ b_j basis_j, and ∫ f″² is proportional to Σ b_j²: with b ~ N(0, s²) a penalised spline is
// a varying effect. The first seen rows place the knots, at quantiles of their different values.
// Over them every function is orthogonal to lines, and the mean over rows of Σ basis_j² is 1, so
// that s is the standard deviation of the curve around its line.
//
// With knots t, h_i = t_{i+1} − t_i and second derivatives γ at the inner knots, linear between, ∫
// f″² = γᵀ R γ with R_ii = (h_{i−1} + h_i)/3, R_{i,i+1} = h_i/6 (Green and Silverman 1994, section
// 2.1). With R = C Cᵀ and γ = C⁻ᵀ b it is Σ b_j².
func (s Smooth) Basis(x []float64, seen int) (*mat.Dense, error) {
	distinct := slices.Clone(x[:seen])
	slices.Sort(distinct)
	distinct = slices.Compact(distinct)
	if len(distinct) < s.Knots {
		return nil, fmt.Errorf("%s: %s, want at least as many as the %s: s(%s, k=%d)", s, english.Count(len(distinct), "different value"), english.Count(s.Knots, "knot"), s.Of, max(leastKnots, len(distinct)))
	}
	low, width := distinct[0], distinct[len(distinct)-1]-distinct[0]
	knots := make([]float64, s.Knots)
	for i := range knots { // as R's quantile
		at := float64(i) * float64(len(distinct)-1) / float64(s.Knots-1)
		below := min(int(at), len(distinct)-2)
		value := distinct[below] + (at-float64(below))*(distinct[below+1]-distinct[below])
		knots[i] = (value - low) / width
	}
	q := s.Knots - 2
	gap := func(i int) float64 { return knots[i+1] - knots[i] }
	penalty := mat.NewSymDense(q, nil)
	for i := range q {
		penalty.SetSym(i, i, (gap(i)+gap(i+1))/3)
		if i+1 < q {
			penalty.SetSym(i, i+1, gap(i+1)/6)
		}
	}
	var cholesky mat.Cholesky
	var upper mat.TriDense
	if !cholesky.Factorize(penalty) {
		return nil, fmt.Errorf("%s: knots lie too close to each other", s)
	}
	cholesky.UTo(&upper) // Cᵀ
	var toSecond mat.Dense
	if err := toSecond.Solve(&upper, identity(q)); err != nil {
		return nil, fmt.Errorf("%s: knots lie too close to each other", s)
	}
	bends := mat.NewDense(len(x), q, nil) // of unit second derivative at an inner knot
	for row, v := range x {
		z := (v - low) / width
		for i := range q {
			bends.Set(row, i, cube(z-knots[i])/gap(i)-cube(z-knots[i+1])*(1/gap(i)+1/gap(i+1))+cube(z-knots[i+2])/gap(i+1))
		}
	}
	var basis mat.Dense
	basis.Mul(bends, &toSecond)
	squares := 0.0
	for j := range q {
		column := mat.Col(nil, j, &basis)
		intercept, slope := stat.LinearRegression(x[:seen], column[:seen], nil, false)
		for i := range column {
			column[i] -= intercept + slope*x[i]
		}
		for _, v := range column[:seen] {
			squares += v * v / float64(seen)
		}
		basis.SetCol(j, column)
	}
	basis.Scale(1/math.Sqrt(squares), &basis)
	return &basis, nil
}

// cube is x³/6 for positive x, else 0.
func cube(x float64) float64 {
	if x <= 0 {
		return 0
	}
	return x * x * x / 6
}

func identity(n int) *mat.Dense {
	one := mat.NewDense(n, n, nil)
	for i := range n {
		one.Set(i, i, 1)
	}
	return one
}
