package regression

import (
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// NormalEquations returns X'WX + Λ and X'Wŷ + Λμ for the columns X of a model, whose coefficients
// have the prior N(μ, Λ⁻¹), the weights W and the response ŷ.
func (a Active) NormalEquations(weights, response []float64) (precision *mat.SymDense, linear *mat.VecDense) {
	k := max(len(a.Columns), 1)
	precision, linear = mat.NewSymDense(k, nil), mat.NewVecDense(k, nil)
	if len(a.Columns) == 0 {
		precision.SetSym(0, 0, 1) // a matrix without rows does not exist; one coordinate that is always zero replaces it
	}
	weighted := make([]float64, len(weights))
	for i, column := range a.Columns {
		floats.MulTo(weighted, column, weights)
		prior := 1 / (a.SD[i] * a.SD[i])
		linear.SetVec(i, floats.Dot(weighted, response)+prior*a.Mean[i])
		for j := range i + 1 {
			sum := floats.Dot(weighted, a.Columns[j])
			if i == j {
				sum += prior
			}
			precision.SetSym(i, j, sum)
		}
	}
	return precision, linear
}

// Solve solves normal equations. ok is false if rounding makes them indefinite.
func Solve(precision *mat.SymDense, linear *mat.VecDense) (theta []float64, ok bool) {
	var cholesky mat.Cholesky
	if !cholesky.Factorize(precision) {
		return nil, false
	}
	var to mat.VecDense
	_ = cholesky.SolveVecTo(&to, linear) // the error only warns of a bad condition; the prior keeps the result usable
	return to.RawVector().Data, true
}
