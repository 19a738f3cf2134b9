package score

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	dgraph "github.com/transdim/vti/dag/graph"
)

// Draws of coefficients of a logistic regression have the moments of a sum over a grid, whether or
// not the predictor separates the levels. Means agree within 5 standard errors, which allow for
// repeated draws.
func TestLogisticDrawsByQuadrature(t *testing.T) {
	const draws = 4000
	for _, split := range []int{1, 12, 20} { // number of rows with the first level
		var text strings.Builder
		text.WriteString("x,k\n")
		for row := range 40 {
			fmt.Fprintf(&text, "%d.5,%c\n", row, 'a'+min(row/split, 1))
		}
		p := mixedTable(t, text.String(), ModelOptions{})
		family := dgraph.Family{Node: 1, Parents: dgraph.SetOf(0)}
		draw, random := p.Forms()[1].Posterior(family.Parents), randomOf(7)
		var at5, slopes []float64
		for range draws {
			mechanism := p.MixedTable().Mechanism(family, draw(random))
			probabilities := make([]float64, 2)
			eta := func(x float64) float64 { // log odds of the second level
				mechanism.Probabilities([]float64{x, 0}, probabilities)
				return math.Log(probabilities[1] / probabilities[0])
			}
			at5, slopes = append(at5, eta(0.5)), append(slopes, eta(1)-eta(0))
		}
		var weights, heights, bends []float64
		const step = 0.2
		for a := -24.0; a < 24; a += step { // difference of intercepts
			for b := -16.0; b < 16; b += step {
				value := -a*a/32 - b*b/8
				for row := range p.Data.Rows() {
					sign := 1 - 2*p.Data.X.At(row, 1)
					value -= softplus(sign * (a + b*p.Data.X.At(row, 0)))
				}
				weights, heights, bends = append(weights, math.Exp(value)), append(heights, a+b*0.5), append(bends, b)
			}
		}
		for _, one := range []struct{ got, want []float64 }{{at5, heights}, {slopes, bends}} {
			mean, variance := stat.PopMeanVariance(one.want, weights)
			require.InDelta(t, mean, stat.Mean(one.got, nil), 5*math.Sqrt(2*variance/draws), split)
			require.InEpsilon(t, math.Sqrt(variance), stat.StdDev(one.got, nil), 0.08, split)
		}
	}
}

// Draws of the parameters of a number given a category and a number agree with the posterior of the
// regression, solved with one effect for every level.
func TestGroupsDrawsByRegression(t *testing.T) {
	random := randomOf(2)
	text := "x,k,y\n"
	for row := range 30 {
		text += fmt.Sprintf("%.3f,%c,%.3f\n", random.NormFloat64(), 'a'+row%3, random.NormFloat64()+float64(row%3))
	}
	p := mixedTable(t, text, ModelOptions{})
	family := dgraph.Family{Node: 2, Parents: dgraph.SetOf(0, 1)}
	// posterior precision of intercept, slope and three level effects, in units of 1/σ²
	precision, right := mat.NewSymDense(5, nil), mat.NewVecDense(5, nil)
	regressors := func(x float64, level int) []float64 {
		row := []float64{1, x, -1.0 / 3, -1.0 / 3, -1.0 / 3}
		row[2+level]++
		return row
	}
	for k, prior := range []float64{1, 0.5, 0.5, 0.5, 0.5} {
		precision.SetSym(k, k, prior)
	}
	squares := 0.5 // t, where the prior of σ² is IG(S/2, t/2) with S = 4
	for row := range p.Data.Rows() {
		x, y := mat.NewVecDense(5, regressors(p.Data.X.At(row, 0), int(p.Data.X.At(row, 1)))), p.Data.X.At(row, 2)
		precision.SymRankOne(precision, 1, x)
		right.AddScaledVec(right, y, x)
		squares += y * y
	}
	var factor mat.Cholesky
	require.True(t, factor.Factorize(precision))
	var mean mat.VecDense
	require.NoError(t, factor.SolveVecTo(&mean, right))
	squares -= mat.Dot(&mean, right)
	degrees := float64(p.Data.Rows()) + 4
	const draws = 20_000
	draw := p.Forms()[2].Posterior(family.Parents)
	values, noise := make([][]float64, 3), 0.0
	table := p.MixedTable()
	for range draws {
		mechanism := table.Mechanism(family, draw(random))
		noise += dgraph.Square(mechanism.Noise()) / draws
		for level := range values {
			row := make([]float64, 4)
			table.Set(row, 0, 0.7)
			table.Set(row, 1, float64(level))
			values[level] = append(values[level], mechanism.Predictor(0, row))
		}
	}
	require.InEpsilon(t, squares/(degrees-2), noise, 0.02)
	for level, list := range values {
		x := mat.NewVecDense(5, regressors(0.7, level))
		var solved mat.VecDense
		require.NoError(t, factor.SolveVecTo(&solved, x))
		variance := mat.Dot(x, &solved) * squares / (degrees - 2)
		require.InDelta(t, mat.Dot(&mean, x), stat.Mean(list, nil), 5*math.Sqrt(variance/draws))
		require.InEpsilon(t, math.Sqrt(variance), stat.StdDev(list, nil), 0.03)
	}
}
