package score

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/tables"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// Draws of a coefficient with known noise have the mean and variance of the conjugate posterior,
// within 5 standard errors of 4,000 draws. The test fails by chance with probability 1e-6.
func TestExactParameters(t *testing.T) {
	p, err := NewProblem(chainData(t, 30, tables.DataOptions{Scaling: tables.Center}), ModelOptions{Sigma: 0.9, PriorSD: 1.2}, tables.Constraints{})
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	source := p.ExactParameters(p.Families)(random)
	for f, family := range p.Families {
		if family != (dgraph.Family{Node: 1, Parents: dgraph.SetOf(0)}) {
			continue
		}
		values := make([]float64, 4000)
		for i := range values {
			theta, _ := source(f)
			values[i] = theta[0]
		}
		x, y := mat.Col(nil, 0, p.Data.X), mat.Col(nil, 1, p.Data.X)
		precision := floats.Dot(x, x)/(0.9*0.9) + 1/(1.2*1.2)
		mean, sd := floats.Dot(x, y)/(0.9*0.9)/precision, 1/math.Sqrt(precision)
		require.InDelta(t, mean, stat.Mean(values, nil), 5*sd/math.Sqrt(4000))
		require.InEpsilon(t, sd, stat.StdDev(values, nil), 5/math.Sqrt(2*4000))
	}
}

// With unknown noise and few rows, where the posterior is far from normal, draws of the coefficient
// and of log σ have the mean and variance of a sum over a grid of the two parameters, within 5
// standard errors of 40,000 draws. The test fails by chance with probability 2e-6.
func TestExactParametersOfUnknownNoise(t *testing.T) {
	d := chainData(t, 4, tables.DataOptions{})
	p, err := NewProblem(d, ModelOptions{PriorSD: 1.2}, tables.Constraints{})
	require.NoError(t, err)
	f := dgraph.Family{Node: 1, Parents: dgraph.SetOf(0)}
	l, form := p.Layout(), p.LinearForm(1)
	var total float64
	var want, squares, fourths [2]float64
	overGrid := func(visit func(values [2]float64, share float64)) {
		theta := make([]float64, l.Dim())
		for weight := -6.0; weight < 6; weight += 0.02 {
			for logSigma := -8.0; logSigma < 8; logSigma += 0.04 {
				theta[0], theta[l.Weights()] = weight, logSigma
				visit([2]float64{weight, logSigma}, math.Exp(form.LogJoint(f.Parents, theta)))
			}
		}
	}
	overGrid(func(values [2]float64, share float64) {
		total += share
		for k, x := range values {
			want[k] += x * share
		}
	})
	overGrid(func(values [2]float64, share float64) {
		for k, x := range values {
			squares[k] += dgraph.Square(x-want[k]/total) * share / total
			fourths[k] += dgraph.Square(dgraph.Square(x-want[k]/total)) * share / total
		}
	})
	const draws = 40_000
	source := p.ExactParameters([]dgraph.Family{f})(randomOf(8))
	values := [2][]float64{}
	for range draws {
		theta, _ := source(0)
		values[0], values[1] = append(values[0], theta[0]), append(values[1], theta[l.Weights()])
	}
	for k := range values {
		require.InDelta(t, want[k]/total, stat.Mean(values[k], nil), 5*math.Sqrt(squares[k]/draws))
		require.InDelta(t, squares[k], stat.Variance(values[k], nil), 5*math.Sqrt((fourths[k]-dgraph.Square(squares[k]))/draws))
	}
}
