// Package spline computes bases of natural cubic splines whose coefficients have independent
// priors.
package spline

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// Natural is a basis of k − 2 functions of x. A natural cubic spline f with k knots is a line plus
// Σ b_j basis_j, and ∫ f″² is proportional to Σ b_j², so that f is a penalised spline if b_j ~ N(0,
// s²). Over the values that placed the knots, every function is orthogonal to lines, and the mean
// of Σ basis_j² is 1, so that s is the standard deviation of the curve around its line.
//
// Let t be the knots, h_i = t_{i+1} − t_i, and γ the second derivatives at the inner knots. Then ∫
// f″² = γᵀ R γ with R_ii = (h_{i−1} + h_i)/3, R_{i,i+1} = h_i/6 (Green and Silverman 1994, section
// 2.1). With R = C Cᵀ and γ = C⁻ᵀ b this is Σ b_j².
type Natural struct {
	low, width float64     // smallest knot, and range of the knots
	knots      []float64   // scaled to [0, 1]
	second     [][]float64 // C⁻ᵀ
	intercepts []float64   // of the lines that are subtracted from functions
	slopes     []float64
}

// NewNatural places knots at quantiles of the distinct values of x, as R's quantile function does.
// If there are fewer distinct values than knots, there are fewer knots. It returns nil if there are
// fewer than three knots, or if two knots are so close that rounding hides their distance.
func NewNatural(x []float64, knots int) *Natural {
	distinct := Distinct(x)
	knots = min(knots, len(distinct))
	q := knots - 2
	if q < 1 {
		return nil
	}
	s := &Natural{low: distinct[0], width: distinct[len(distinct)-1] - distinct[0], knots: make([]float64, knots)}
	for i := range s.knots {
		position := float64(i) * float64(len(distinct)-1) / float64(knots-1)
		below := min(int(position), len(distinct)-2)
		value := distinct[below] + (position-float64(below))*(distinct[below+1]-distinct[below])
		s.knots[i] = (value - s.low) / s.width
	}
	penalty := mat.NewSymDense(q, nil)
	for i := range q {
		penalty.SetSym(i, i, (s.gap(i)+s.gap(i+1))/3)
		if i+1 < q {
			penalty.SetSym(i, i+1, s.gap(i+1)/6)
		}
	}
	var cholesky mat.Cholesky
	var upper, toSecond mat.TriDense
	if !cholesky.Factorize(penalty) {
		return nil
	}
	cholesky.UTo(&upper) // Cᵀ
	if err := toSecond.InverseTri(&upper); err != nil {
		return nil
	}
	for i := range q {
		row := make([]float64, q)
		for j := i; j < q; j++ {
			row[j] = toSecond.At(i, j)
		}
		s.second = append(s.second, row)
	}
	s.intercepts, s.slopes = make([]float64, q), make([]float64, q)
	s.straighten(x)
	return s
}

func (s *Natural) place(x float64) float64 { return (x - s.low) / s.width }

func (s *Natural) gap(i int) float64 { return s.knots[i+1] - s.knots[i] }

// straighten subtracts lines from the functions, so that they are orthogonal to lines over x, and
// scales them.
func (s *Natural) straighten(x []float64) {
	values, places, squares := s.over(x), make([]float64, len(x)), 0.0
	for row, v := range x {
		places[row] = s.place(v)
	}
	for j := range s.second {
		column := mat.Col(nil, j, values)
		s.intercepts[j], s.slopes[j] = stat.LinearRegression(places, column, nil, false)
		for i, v := range column {
			v -= s.intercepts[j] + s.slopes[j]*places[i]
			squares += v * v / float64(len(x))
		}
	}
	for _, list := range append(s.second, s.intercepts, s.slopes) {
		floats.Scale(1/math.Sqrt(squares), list)
	}
}

// over returns the values of the functions at all x [n][k − 2].
func (s *Natural) over(x []float64) *mat.Dense {
	values := mat.NewDense(len(x), s.Functions(), nil)
	for row, v := range x {
		s.At(v, values.RawRowView(row))
	}
	return values
}

// Turn rotates the functions so that they are orthogonal to each other over the values x that
// placed the knots. The largest and smoothest function comes first. Σ b² does not change.
func (s *Natural) Turn(x []float64) {
	var components mat.SVD
	if !components.Factorize(s.over(x), mat.SVDThin) {
		return
	}
	var turn mat.Dense
	components.VTo(&turn)
	for _, row := range append(s.second, s.intercepts, s.slopes) {
		mat.NewVecDense(len(row), row).MulVec(turn.T(), mat.NewVecDense(len(row), slices.Clone(row)))
	}
}

// Distinct returns the distinct values of x, sorted.
func Distinct(x []float64) []float64 {
	return slices.Compact(slices.Sorted(slices.Values(x)))
}

// Functions returns the number of functions, k − 2.
func (s *Natural) Functions() int { return len(s.second) }

// At writes the values of the functions at x to dst [k − 2].
func (s *Natural) At(x float64, dst []float64) {
	z := s.place(x)
	for j := range dst {
		dst[j] = -s.intercepts[j] - s.slopes[j]*z
	}
	for i, row := range s.second {
		// bend is a function whose second derivative is 1 at inner knot i and 0 at other knots.
		bend := cube(z-s.knots[i])/s.gap(i) - cube(z-s.knots[i+1])*(1/s.gap(i)+1/s.gap(i+1)) + cube(z-s.knots[i+2])/s.gap(i+1)
		if bend != 0 {
			floats.AddScaled(dst, bend, row)
		}
	}
}

// cube returns x³/6 for positive x, and 0 otherwise.
func cube(x float64) float64 {
	if x <= 0 {
		return 0
	}
	return x * x * x / 6
}
