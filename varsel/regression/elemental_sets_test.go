package regression

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/likelihood"
)

// For known noise, modes by normal equations agree with modes by singular values, unless the normal
// equations report that they lose too many digits.
func TestElementalSetsGivenTheScale(t *testing.T) {
	random := stream.Rand(4, "elemental sets")
	column := func() []float64 {
		x := make([]float64, 30)
		for i := range x {
			x[i] = random.NormFloat64()
		}
		return x
	}
	a := Active{Scale: -1}
	for j := range 4 {
		a.Add(j, column(), 0.3*float64(j), 1.5)
	}
	y := column()
	for _, c := range []struct {
		sigma  float64
		solved bool
	}{{1, true}, {0.05, true}, {1e-6, false}} {
		r := &Regression{Kind: likelihood.RobustKind, Responses: Responses{Y: y}, Dim: 4, Scale: -1, LogScale: math.Log(c.sigma)}
		for _, rows := range [][]int{{0, 3, 7, 9}, {1, 2, 3, 4}, {20, 11, 29, 5}} {
			got, want := make([]float64, 4), make([]float64, 4)
			require.Equal(t, c.solved, r.fitGiven(a, rows, got, newRidge(len(rows), len(a.Columns))))
			if c.solved {
				require.True(t, r.fit(a, rows, want))
				require.InDeltaSlice(t, want, got, 1e-7)
			}
		}
	}
}
