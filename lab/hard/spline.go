package hard

import (
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/spline"
)

// curveKnots is the largest number of knots of a curve, as stated in docs/method.md.
const curveKnots = 10

// splineOf returns the log evidence of a node y that is a sum of curves of its parents and, with
// prior probability one half, also of products of two parents. The argument values holds the values
// of the parents in the rows of y.
func splineOf(data *dag.Data, parents []int, y []float64, values [][]float64) (moments modelMoments, err error) {
	var columns, products [][]float64
	var factors [][][]float64 // for each parent, its values and the first function of its curve
	for k, i := range parents {
		functions := append([][]float64{values[k]}, curvesOf(mat.Col(nil, i, data.X), values[k])...)
		columns, factors = append(columns, functions...), append(factors, functions[:min(2, len(functions))])
		for _, others := range factors[:k] {
			for _, a := range others {
				for _, b := range factors[k] {
					products = append(products, floats.MulTo(make([]float64, len(a)), a, b))
				}
			}
		}
	}
	sums, err := bgeRegression(y, columns, len(parents))
	moments.logEvidence = sums.logEvidence
	if err != nil || len(products) == 0 {
		return moments, err
	}
	all, err := bgeRegression(y, slices.Concat(columns, products), len(parents))
	moments.logEvidence = logsum.Of([]float64{sums.logEvidence, all.logEvidence}) - logsum.Of([]float64{0, 0})
	return moments, err
}

// curvesOf returns the values at x of the functions that span the curves of a column, as
// [functions][rows].
func curvesOf(column, x []float64) (functions [][]float64) {
	curves := spline.NewNatural(column, curveKnots)
	if curves == nil {
		return nil
	}
	curves.Turn(column)
	functions = make([][]float64, curves.Functions())
	values := make([]float64, curves.Functions())
	for _, v := range x {
		curves.At(v, values)
		for f, value := range values {
			functions[f] = append(functions[f], value)
		}
	}
	return functions
}
