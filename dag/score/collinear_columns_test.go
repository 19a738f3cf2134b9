package score

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
)

// A column that other columns determine without noise is refused, and the error names these
// columns. It is accepted with a noise of a millionth or a known noise scale. With few rows,
// independent columns are accepted, although they can reproduce each other, but a copy is refused.
func TestColumnsWithoutNoise(t *testing.T) {
	random := randomOf(3)
	problem := func(rows int, options ModelOptions, make func() []float64) error {
		values := [][]float64{}
		for range rows {
			values = append(values, make())
		}
		d, err := tables.NewData(tableOf(t, []string{"a", "b", "c", "d", "e", "f"}[:len(values[0])], values), tables.DataOptions{})
		require.NoError(t, err)
		_, err = NewProblem(d, options, tables.Constraints{})
		return err
	}
	copied := func() []float64 {
		a, b := random.NormFloat64(), random.NormFloat64()
		return []float64{a, b, 32 - 1.8*a}
	}
	sum := func() []float64 {
		a, b, c := random.NormFloat64(), random.NormFloat64(), random.NormFloat64()
		return []float64{a, b, c, a + 3*c}
	}
	require.ErrorContains(t, problem(50, ModelOptions{}, copied), `column "c" is a linear function of ["a"] without any noise`)
	require.ErrorContains(t, problem(50, ModelOptions{Mechanism: sem.MLP}, sum), `column "d" is a linear function of ["a" "c"] without any noise`)
	require.NoError(t, problem(50, ModelOptions{Sigma: 1}, copied))
	require.NoError(t, problem(50, ModelOptions{}, func() []float64 {
		row := sum()
		row[3] = math.Round(1e6*row[3]) / 1e6
		return row
	}))
	for rows := 3; rows < 8; rows++ {
		require.NoError(t, problem(rows, ModelOptions{}, func() (row []float64) {
			for range 6 {
				row = append(row, random.NormFloat64())
			}
			return row
		}), "%d rows", rows)
		require.Error(t, problem(rows, ModelOptions{}, copied), "%d rows", rows)
	}
}
