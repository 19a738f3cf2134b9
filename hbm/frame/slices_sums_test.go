package frame

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// The matrix R after rotations of 50 rows has RᵀR equal to the sums of products of the columns of
// these rows, although one column is a linear combination of two others.
func TestRotate(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var upper [10]float64
	products := mat.NewDense(4, 4, nil)
	for i := range 50 {
		row := []float64{1, random.NormFloat64(), 0, float64(i % 3)}
		row[2] = 2*row[1] - 1
		for a := range row {
			for b := range row {
				products.Set(a, b, products.At(a, b)+row[a]*row[b])
			}
		}
		rotate(upper[:], row)
	}
	factor := mat.NewTriDense(4, mat.Upper, nil)
	for a, at := 0, 0; a < 4; a++ {
		for b := a; b < 4; b, at = b+1, at+1 {
			factor.SetTri(a, b, upper[at])
		}
	}
	var got mat.Dense
	got.Mul(factor.T(), factor)
	require.True(t, mat.EqualApprox(products, &got, 1e-10))
}
