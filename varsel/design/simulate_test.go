package design

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/table"
)

// residuals returns y less the effects.
func (d *SimulatedData) residuals() []float64 {
	r := slices.Clone(d.Columns[len(d.Columns)-1])
	for _, effect := range d.Effects {
		floats.AddScaled(r, -effect.Size, d.Columns[slices.Index(d.Names, effect.Name)])
	}
	return r
}

// Moments of a large data set agree with its description to four standard errors (of about 1/√n).
// Each comparison gives a false alarm in one of 1e4 seeds; the seed is fixed.
func TestSimulate(t *testing.T) {
	const rows = 20000
	s := Simulation{Rows: rows, Predictors: 12, Effects: 4, Correlation: 0.6, Noise: 0.5, Seed: 3}
	data, err := Simulate(s)
	require.NoError(t, err)
	require.Len(t, data.Columns, 13)
	require.Len(t, data.Effects, 4)
	tolerance := 4 / math.Sqrt(rows)
	for j := range 12 {
		assert.InDelta(t, 0, stat.Mean(data.Columns[j], nil), tolerance)
		assert.InDelta(t, 1, stat.StdDev(data.Columns[j], nil), tolerance)
		for lag := 1; j+lag < 12 && lag < 4; lag++ {
			assert.InDelta(t, math.Pow(0.6, float64(lag)), stat.Correlation(data.Columns[j], data.Columns[j+lag], nil), tolerance)
		}
	}
	noise := data.residuals()
	assert.InDelta(t, 0.5, stat.StdDev(noise, nil), 0.5*tolerance)
	var sizes []float64
	for _, effect := range data.Effects {
		sizes = append(sizes, math.Abs(effect.Size))
	}
	slices.Sort(sizes)
	assert.InDeltaSlice(t, []float64{0.3, 0.533, 0.767, 1}, sizes, 1e-12)

	again, err := Simulate(s)
	require.NoError(t, err)
	assert.Equal(t, data, again)
	s.Seed++
	other, err := Simulate(s)
	require.NoError(t, err)
	assert.NotEqual(t, data.Columns[0], other.Columns[0])
}

// Responses are valid for their likelihood after rounding too: a share of 1 − 10⁻⁷ is not 1.
func TestSimulatedResponses(t *testing.T) {
	for _, kind := range likelihood.Kinds() {
		if kind.HasCategories() && kind != likelihood.CategoricalKind {
			continue // they are not simulated
		}
		data, err := Simulate(Simulation{Rows: 1000, Predictors: 24, Effects: 4, Likelihood: kind, Seed: 6})
		require.NoError(t, err)
		for _, y := range data.Columns[24] {
			require.Empty(t, kind.Expected(y), kind)
		}
	}
}

// A file gives the simulated numbers back.
func TestSimulatedCSV(t *testing.T) {
	data, err := Simulate(Simulation{Rows: 5, Predictors: 3, Effects: 1})
	require.NoError(t, err)
	var file bytes.Buffer
	require.NoError(t, data.WriteCSV(&file))
	read, err := table.Parse("simulated.csv", file.Bytes())
	require.NoError(t, err)
	require.Equal(t, data.Names, read.Names())
	for j, name := range data.Names {
		column, err := read.Lookup(name)
		require.NoError(t, err)
		require.Equal(t, data.Columns[j], column.Values)
	}
}

func TestSimulationRefuses(t *testing.T) {
	for message, s := range map[string]Simulation{
		"got 1 row, want at least 2":            {Rows: 1},
		"want at least one":                     {Predictors: -1},
		"got 4 effects, want 0 to 3":            {Predictors: 3, Effects: 4},
		"want one from 0 to below 1":            {Correlation: 1},
		"got noise NaN, want a positive number": {Noise: math.NaN()},
	} {
		_, err := Simulate(s)
		require.ErrorContains(t, err, message)
	}
}

func ExampleSimulate() {
	data, err := Simulate(Simulation{Rows: 100, Predictors: 20, Effects: 3, Correlation: 0.5, Seed: 1})
	if err != nil {
		panic(err)
	}
	fmt.Println(len(data.Columns), "columns")
	for _, effect := range data.Effects {
		fmt.Println(effect.Name, effect.Size)
	}
	// Output:
	// 21 columns
	// x12 -0.65
	// x16 0.3
	// x19 1
}
