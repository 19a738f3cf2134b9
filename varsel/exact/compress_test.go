package exact

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/stream"
)

func TestCompressedSumOfSquaresIsTheSame(t *testing.T) {
	random := stream.Rand(5, "compress")
	x, y := mat.NewDense(40, 3, nil), make([]float64, 40)
	for i := range 40 {
		for j := range 3 {
			x.Set(i, j, random.NormFloat64())
		}
		y[i] = 3 * random.NormFloat64()
	}
	short, rest, more, residual := Compress(x, y)
	rows, _ := short.Dims()
	require.Equal(t, 3, rows)
	require.Equal(t, 40, len(rest)+more)
	sumOfSquares := func(x *mat.Dense, y, theta []float64) (total float64) {
		for i, value := range y {
			for j, coefficient := range theta {
				value -= x.At(i, j) * coefficient
			}
			total += value * value
		}
		return total
	}
	for range 5 {
		theta := []float64{random.NormFloat64(), random.NormFloat64(), random.NormFloat64()}
		require.InDelta(t, sumOfSquares(x, y, theta), sumOfSquares(short, rest, theta)+residual, 1e-10)
	}
}
