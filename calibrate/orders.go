package calibrate

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/order"
	"github.com/transdim/vti/table"
)

// Orders draws polynomials and splines from the priors of vti order, and runs the command on them.
// The level and the noise have improper priors. They are fixed at 0 and 1, because answers are
// equivariant under changes of them. Zellner's prior for an autoregression depends on the series
// itself, so that no series can be drawn from it.
type Orders struct {
	Options order.Options
	Rows    int
}

// Name identifies the study.
func (s Orders) Name() string { return studyName("order", s.Rows, s.Options) }

// Defaults of vti order, written again here so that an error in the tested program is found.
const (
	orderMost, orderKnots, orderMeanKnots = 8, 6, 3.0
	orderDegree, orderCandidates          = 3, 40
)

// Replicate draws a curve and a table with a seed, runs the command on the table, and compares the
// answer with the truth.
func (s Orders) Replicate(ctx context.Context, seed uint64, dir string) (*Replicate, error) {
	o, n := s.Options, s.Rows
	o.Value, o.Time = "y", "t"
	random := stream.Rand(seed, "truth")
	t := apply.UpTo(n, func(i int) float64 { return float64(i) })
	powers, number := 0, 0
	var places []float64
	switch o.Kind {
	case order.Polynomial:
		o.MaxOrder = cmp.Or(o.MaxOrder, orderMost)
		number = random.IntN(o.MaxOrder + 1)
		powers = number
	case order.Spline:
		o.MaxOrder, o.Degree = cmp.Or(o.MaxOrder, orderKnots), cmp.Or(o.Degree, orderDegree)
		o.Candidates, o.MeanKnots = cmp.Or(o.Candidates, orderCandidates), cmp.Or(o.MeanKnots, orderMeanKnots)
		number, powers = poissonNumber(o.MeanKnots, o.MaxOrder, random), o.Degree
		inner := t[o.Degree : n-1]
		count := min(o.Candidates, len(inner))
		places = apply.To(random.Perm(count)[:number], func(c int) float64 { return inner[(2*c+1)*len(inner)/(2*count)] })
	default:
		return nil, fmt.Errorf("autoregressions are not drawn: Zellner's prior refers to the series itself; want a polynomial or a spline")
	}
	// centred columns whose linear combinations are the possible curves
	columns := mat.NewDense(n, max(1, powers+len(places)), nil)
	for i := range n {
		u := 2*t[i]/float64(n-1) - 1
		for d := range powers {
			columns.Set(i, d, math.Pow(u, float64(d+1)))
		}
		for k, place := range places {
			if beyond := u - (2*place/float64(n-1) - 1); beyond > 0 {
				columns.Set(i, powers+k, math.Pow(beyond, float64(o.Degree)))
			}
		}
	}
	y := drawZellner(columns, powers+len(places), random)
	c := &classic{about: fmt.Sprintf("%s of order %d, %d rows", o.Kind, number, n), columns: []*table.Column{table.Numbers("t", t), table.Numbers("y", y)}, number: number}
	c.functions = []functional{
		{"level", 0, func(d *draws.Draws, i int) float64 { return d.Values(i)[0] }},
		{"sigma", 1, func(d *draws.Draws, i int) float64 { return d.Values(i)[coordinate(d, "sigma")] }},
	}
	return answerClassic(ctx, c, dir, seed, random, order.NewProblem, o, func(problem *order.Problem, dir string) (*stated, error) {
		r, err := order.Run(ctx, problem, order.RunConfig{Seed: seed, Dir: dir})
		if err != nil {
			return nil, err
		}
		return newStated(r.Head, r.Certificate.Verdict, r.Certificate.Reasons, r.Orders, func(o order.Order) order.Number { return o.Probability }), nil
	})
}

// drawZellner draws values with noise of standard deviation 1 about a curve in the space of the
// first p columns. The coordinates of the curve in an orthonormal basis are N(0, n) for n rows.
func drawZellner(columns *mat.Dense, p int, random *rand.Rand) []float64 {
	n, _ := columns.Dims()
	y := make([]float64, n)
	if p > 0 {
		for j := range p {
			column := mat.Col(nil, j, columns)
			floats.AddConst(-stat.Mean(column, nil), column)
			columns.SetCol(j, column)
		}
		var qr mat.QR
		qr.Factorize(columns)
		var q mat.Dense
		qr.QTo(&q)
		for j := range p {
			z := math.Sqrt(float64(n)) * random.NormFloat64()
			for i := range n {
				y[i] += z * q.At(i, j)
			}
		}
	}
	for i := range y {
		y[i] += random.NormFloat64()
	}
	return y
}
