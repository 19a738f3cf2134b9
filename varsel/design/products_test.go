package design

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
)

// Inner products agree with sums over rows. The few rows by which Model replaces the rows of a
// table have the same inner products as all rows. Model refuses columns that depend on each other,
// and a response that is nearly a sum of columns, because it would lose digits.
func TestProducts(t *testing.T) {
	const rows, count = 150, 12
	random := rand.New(rand.NewPCG(1, 2))
	columns := make([][]float64, count)
	for j := range columns {
		columns[j] = make([]float64, rows)
		for i := range columns[j] {
			columns[j][i] = random.NormFloat64()
			if j > 0 {
				columns[j][i] += columns[j-1][i]
			}
		}
	}
	y := make([]float64, rows)
	for i := range y {
		y[i] = columns[3][i] + random.NormFloat64()
	}
	p := NewProducts(columns, y, 7)
	some := &Products{} // as for many columns
	some.storeRows(columns)
	for j := range count {
		require.InDelta(t, floats.Dot(columns[j], y), p.Linear[j], 1e-10)
		for k := range count {
			want := floats.Dot(columns[j], columns[k])
			for _, got := range []float64{p.Inner(j, k), p.Row(j)[k], some.Inner(j, k)} {
				require.InDelta(t, want, got, 1e-9)
			}
			if k == j/2 {
				require.InDelta(t, want, some.Row(j)[k], 1e-9)
			}
		}
	}
	model := []int{7, 3, 0}
	r, short, left, ok := p.Model(model)
	require.True(t, ok)
	for a, j := range model {
		require.InDelta(t, p.Linear[j], floats.Dot(r[a], short), 1e-9)
		for b, k := range model {
			require.InDelta(t, p.Inner(j, k), floats.Dot(r[a], r[b]), 1e-9)
		}
	}
	require.InDelta(t, floats.Dot(y, y)-floats.Dot(short, short), left, 1e-9)

	// one column has a large mean, and the response is nearly a column
	far, near := make([]float64, rows), make([]float64, rows)
	for i := range far {
		far[i], near[i] = columns[2][i]+1e3, columns[2][i]+0.05*y[i]
	}
	ones := slices.Repeat([]float64{1}, rows)
	_, _, _, ok = NewProducts([][]float64{ones, far}, y, 0).Model([]int{0, 1})
	require.False(t, ok)
	_, _, _, ok = NewProducts([][]float64{ones, columns[2]}, near, 0).Model([]int{0, 1})
	require.False(t, ok)
	columns[1] = columns[0]
	_, _, _, ok = NewProducts(columns, y, 0).Model([]int{0, 1})
	require.False(t, ok)
	_, _, _, ok = NewProducts(columns, columns[5], 0).Model([]int{5})
	require.False(t, ok)
}
