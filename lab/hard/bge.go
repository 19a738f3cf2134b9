package hard

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/calibrate"
)

// bgePosterior returns the exact posterior of a node y of a graph given its parents, under the BGe
// prior (Bayesian Gaussian equivalent). It is a regression with conjugate priors, in which the
// weights of edges have a Student t posterior. The moments are the moments of these weights.
func bgePosterior(y []float64, parents [][]float64) (modelMoments, error) {
	return bgeRegression(y, parents, len(parents))
}

// bgeRegression is bgePosterior for columns that together stand for a number of parents, the
// argument counted, which may differ from the number of columns.
func bgeRegression(y []float64, parents [][]float64, counted int) (modelMoments, error) {
	n, k := len(y), len(parents)
	// Solve the least squares problem of the rows, with one more row for each prior, by a QR
	// factorisation.
	stacked, right := mat.NewDense(n+k+1, k+1, nil), mat.NewDense(n+k+1, 1, nil)
	for i := range n {
		stacked.Set(i, 0, 1)
		for c, parent := range parents {
			stacked.Set(i, 1+c, parent[i])
		}
		right.Set(i, 0, y[i])
	}
	stacked.Set(n, 0, math.Sqrt(calibrate.BGeMean))
	logPrior := math.Log(calibrate.BGeMean)
	for c := range parents {
		stacked.Set(n+1+c, 1+c, math.Sqrt(calibrate.BGeScale))
		logPrior += math.Log(calibrate.BGeScale)
	}
	var qr mat.QR
	qr.Factorize(stacked)
	var root, solution, inverse mat.Dense
	qr.RTo(&root)
	if err := qr.SolveTo(&solution, false, right); err != nil {
		return modelMoments{}, err
	}
	var fitted mat.Dense
	fitted.Mul(stacked, &solution)
	fitted.Sub(right, &fitted)
	squares := mat.Norm(&fitted, 2)
	upper := root.Slice(0, k+1, 0, k+1)
	if err := inverse.Inverse(upper); err != nil {
		return modelMoments{}, errors.New("the columns of the parents are linearly dependent")
	}
	logPosterior := 0.0
	for c := range k + 1 {
		logPosterior += 2 * math.Log(math.Abs(root.At(c, c)))
	}
	shape, scale := (calibrate.BGeDegrees+float64(counted)+1)/2, calibrate.BGeScale/2
	after, left := shape+float64(n)/2, scale+squares*squares/2
	lgBefore, _ := math.Lgamma(shape)
	lgAfter, _ := math.Lgamma(after)
	m := modelMoments{logEvidence: -float64(n)*halfLog2Pi + (logPrior-logPosterior)/2 + shape*math.Log(scale) - after*math.Log(left) + lgAfter - lgBefore}
	for c := range k {
		row := inverse.RawRowView(1 + c)
		m.mean = append(m.mean, solution.At(1+c, 0))
		m.variance = append(m.variance, left/(after-1)*floats.Dot(row, row))
	}
	return m, nil
}
