package modelcheck

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The test draws a table from the model with which it is checked. About 95% of the responses should
// lie in their 95% predictive intervals. In a histogram of the responses, most numbers of rows in
// the 24 bins should lie in the 95% intervals of the numbers in replicated tables.
func TestFitted(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const n = 2000
	y, mean := make([]float64, n), make([]float64, n)
	for i := range y {
		mean[i] = float64(i%10) - 5
		y[i] = mean[i] + random.NormFloat64()
	}
	report, err := Regression(context.Background(), RegressionInput{Response: Column{Name: "y", Values: y}, Draw: func(_ int, m, sd, replicate []float64) {
		for i := range m {
			m[i], sd[i] = mean[i], 1
			replicate[i] = mean[i] + random.NormFloat64()
		}
	}})
	require.NoError(t, err)
	require.Len(t, report.Fitted, mostFitted)
	inside := 0
	for _, r := range report.Fitted {
		require.Equal(t, y[r.Row-1], r.Observed)
		require.InDelta(t, mean[r.Row-1], r.Mean, 1e-9)
		if r.Observed >= r.Q025 && r.Observed <= r.Q975 {
			inside++
		}
	}
	// The tolerance is four standard errors of a share of 0.95 of 1000 rows.
	require.InDelta(t, 0.95, float64(inside)/mostFitted, 4*0.0069)
	require.Len(t, report.Predictive, mostBins)
	rows, outside := 0.0, 0
	for _, b := range report.Predictive {
		rows += b.Observed
		require.LessOrEqual(t, b.Q025, b.Median)
		require.LessOrEqual(t, b.Median, b.Q975)
		if b.Observed < b.Q025 || b.Observed > b.Q975 {
			outside++
		}
	}
	require.InDelta(t, n, rows, 1)
	// The numbers of rows in 1.2 of the 24 bins are expected to be outside their intervals. If bins
	// were independent, seven or more would be outside in one of 8000 tables.
	require.Less(t, outside, 7)

	dir := t.TempDir()
	require.NoError(t, report.WriteFitted(dir))
	read, err := ReadFitted(filepath.Join(dir, FittedFile))
	require.NoError(t, err)
	require.Len(t, read, mostFitted)
	require.InDelta(t, report.Fitted[7].Q975, read[7].Q975, 1e-6)
	require.Equal(t, report.Fitted[7].Row, read[7].Row)
}

func TestBinEdges(t *testing.T) {
	require.Nil(t, binEdges(Binary, []float64{0, 1}))
	require.Nil(t, binEdges(Continuous, []float64{2, 2}))
	require.Equal(t, []float64{-0.5, 0.5, 1.5, 2.5, 3.5, 4.5}, binEdges(Count, []float64{0, 2, 1})[:6])
	require.Len(t, binEdges(Continuous, []float64{1, 2, 3, 4}), 6)
}
