package published

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/varsel/design"
)

// residuals returns y minus the intercept and minus the effects times the factor multiple, in the
// given rows.
func residuals(d *design.SimulatedData, multiple, intercept float64, rows []int) (r []float64) {
	y := d.Columns[len(d.Columns)-1]
	for _, i := range rows {
		rest := y[i] - intercept
		for _, effect := range d.Effects {
			rest -= multiple * effect.Size * d.Columns[slices.Index(d.Names, effect.Name)][i]
		}
		r = append(r, rest)
	}
	return r
}

func rowsFrom(first, last int) (rows []int) {
	for i := first; i < last; i++ {
		rows = append(rows, i)
	}
	return rows
}

// TestSimulate checks that moments of a large data set agree with the constants of the simulation,
// within four standard errors.
func TestSimulate(t *testing.T) {
	const rows = 40000
	for _, c := range []struct {
		kind          Misspecification
		bulk, outlier float64
		effects       [2]float64 // in the first and the second half of the rows
	}{
		{NoMisspecification, 1, 10, [2]float64{0.5, 0.5}}, {MediumMisspecification, 2, 5, [2]float64{0.5, 1.5}}, {HighMisspecification, 4, 4, [2]float64{0.5, 1.5}},
	} {
		t.Run(c.kind.String(), func(t *testing.T) {
			data := Design{Rows: rows, Predictors: 20, Misspecification: c.kind, Seed: 1}.Simulate()
			require.Equal(t, data, Design{Rows: rows, Predictors: 20, Misspecification: c.kind, Seed: 1}.Simulate())
			require.Equal(t, []string{"x0", "x1"}, data.Names[:2])
			in := len(data.Effects)
			require.InDelta(t, 0.4*20, in, 4*math.Sqrt(20*0.4*0.6)) // four standard deviations
			// variance is the variance of the mixture of most rows and outliers. The standard error
			// of an estimate follows from the fourth moment.
			variance := 0.9*c.bulk*c.bulk + 0.1*c.outlier*c.outlier
			fourth := 3 * (0.9*math.Pow(c.bulk, 4) + 0.1*math.Pow(c.outlier, 4))
			for half, effect := range c.effects {
				noise := residuals(data, effect/0.5, effect, rowsFrom(half*rows/2, (half+1)*rows/2))
				assert.InDelta(t, variance, stat.Variance(noise, nil), 4*math.Sqrt((fourth-variance*variance)*2/rows))
			}
			mixed := 0
			for j := range 20 {
				if stat.StdDev(data.Columns[1+j], nil) < 0.95 {
					mixed++
				}
			}
			if c.kind == HighMisspecification {
				assert.InDelta(t, 0.4*float64(20-in), mixed, 4*math.Sqrt(20*0.4*0.6))
				assert.Positive(t, mixed)
			} else {
				assert.Zero(t, mixed)
			}
		})
	}
}

func TestLevels(t *testing.T) {
	require.ErrorContains(t, new(Misspecification).UnmarshalText([]byte("some")), "want none, medium or high")
}
