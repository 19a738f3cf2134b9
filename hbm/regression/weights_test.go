package regression

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/table"
)

// Weights 1/s² and σ = 1 are known standard errors s: the same density of the table's response, the
// same scale of predictions.
func TestWeightsArePrecisions(t *testing.T) {
	known, err := New(frameOf(t, grouped18, FrameOptions{Formula: "y ~ x + (1 | g)", SE: "s"}), Options{})
	require.NoError(t, err)
	weighted, err := New(frameOf(t, grouped18, FrameOptions{Formula: "y | weights(I(1/s^2)) ~ x + (1 | g)"}), Options{})
	require.NoError(t, err)
	theta := make([]float64, weighted.Dim())
	for j, c := range weighted.coordinates {
		theta[j] = 0.3
		if c.kind == noiseCoordinate {
			theta[j] = -math.Log(weighted.ySD)
		}
	}
	mask := make([]bool, weighted.Dim())
	for j := range mask {
		mask[j] = true
	}
	want, ok := newJointEffects(known).given(mask[:known.Dim()], theta[:known.Dim()])
	require.True(t, ok)
	got, ok := newJointEffects(weighted).given(mask, theta)
	require.True(t, ok)
	assert.InDelta(t, want.logDensity+known.logJacobian, got.logDensity+weighted.logJacobian, 1e-9)
	for i := range weighted.y {
		assert.InDelta(t, known.unscaled(i, 1.5), weighted.unscaled(i, 1.5/weighted.ySD), 1e-9, "what was drawn, in the units of the table")
	}
	assert.Contains(t, strings.Join(weighted.Priors(), "\n"), "variance σ² / I(1 / s^2)")
}

// Whole weights of labels and counts are rows that are there so many times.
func TestWeightsCountRows(t *testing.T) {
	const header = "y,x,w\n"
	weighted := frameOf(t, header+"1,1,2\n0,3,1\n1,2,0\n0,5,3\n", FrameOptions{Formula: "y | weights(w) ~ x", Response: LogisticResponse})
	repeated := frameOf(t, header+"1,1,1\n1,1,1\n0,3,1\n0,5,1\n0,5,1\n0,5,1\n", FrameOptions{Formula: "y ~ x", Response: LogisticResponse})
	assert.Equal(t, repeated.Y, weighted.Y)
	assert.True(t, mat.Equal(repeated.X, weighted.X))
	for text, options := range map[string]FrameOptions{
		"line 2: weight w: got 0.5, want a whole number from 0":     {Formula: "n | weights(w) ~ x", Response: PoissonResponse},
		"line 3: weight w: got 0, want a positive number":           {Formula: "n | weights(w) ~ x"},
		"weights(w) are for gaussian, lognormal, counts and labels": {Formula: "n | weights(w) ~ x", Response: StudentResponse},
		"known standard errors leave nothing for weights(w) to say": {Formula: "n | weights(w) ~ x", SE: "x"},
		`column "f": got text ("a" in line 2), want numbers`:        {Formula: "n | weights(f) ~ x"},
		"formula, character 13: \"n\" is the response":              {Formula: "n | weights(n) ~ x"},
		"leave out factor()": {Formula: "n | weights(factor(w)) ~ x"},
		"formula, character 13: data.csv: no column \"ww\"":          {Formula: "n | weights(ww) ~ x"},
		"missing values in 1 of 3 used columns (of 3 rows): \"v\" 1": {Formula: "n | weights(v) ~ x"},
	} {
		_, err := NewFrame(tableOf(t, "n,x,w,f,v\n1,1,0.5,a,1\n2,3,0,b,NA\n3,4,1,a,1\n"), options)
		assert.ErrorContains(t, err, text)
	}
}

// Rows of a new table have the polynomials and the scale of the table that the run was fitted to:
// predicted again they have the predictors that they had there.
func TestNewRowsHaveTheBasesOfTheFit(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	stored := finished(t, "sleepstudy.csv", FrameOptions{Formula: "Reaction | weights(I(1 + Days)) ~ poly(Days, 2) + scale(Days):C(Subject, sum)"})
	own := mustRows(t, stored)
	data, err := stored.Record.Table()
	require.NoError(t, err)
	keep := make([]int, data.Rows())
	for i := range keep {
		if i%7 == 0 {
			keep[i] = 1
		}
	}
	fresh, err := stored.Rows(data.Repeat(keep))
	require.NoError(t, err)
	a, b := make([]float64, own.Draws()), make([]float64, own.Draws())
	for k := range len(fresh.Places) {
		own.Predictor(7*k, a)
		fresh.Predictor(k, b)
		require.InDeltaSlice(t, a, b, 1e-9)
		require.InDelta(t, own.NoiseScale(7*k, 3), fresh.NoiseScale(k, 3), 1e-12)
	}
	require.Greater(t, math.Abs(own.NoiseScale(0, 3)/own.NoiseScale(9, 3)), 3.0, "a tenth of the variance")
	_, err = stored.Rows(rowWithout(t))
	require.Error(t, err)
}

func rowWithout(t *testing.T) *table.Table {
	t.Helper()
	return tableOf(t, "Days\n3\n")
}
