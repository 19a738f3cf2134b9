package models

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/stream"
)

// numbered returns a sample of n rows whose only coordinate is the row's number.
func numbered(n int, weight func(i int) float64) WeightedSample {
	sample := WeightedSample{Theta: mat.NewDense(n, 1, nil)}
	for i := range n {
		sample.Theta.Set(i, 0, float64(i))
		sample.Codes = append(sample.Codes, []int32{int32(i % 2)})
		sample.LogP, sample.LogQ = append(sample.LogP, float64(2*i)), append(sample.LogQ, float64(3*i))
		sample.Weight = append(sample.Weight, weight(i))
	}
	floats.Scale(1/floats.Sum(sample.Weight), sample.Weight)
	return sample
}

// The number of times that a row is taken is its expected number rounded down or up, and all fields
// of the row are taken.
func TestResample(t *testing.T) {
	const resampled = 10_000
	random := stream.Rand(1, "weights")
	source := numbered(3000, func(i int) float64 { return math.Exp(2*random.NormFloat64()) * float64(i%5) })
	sample := source.Resample(resampled, 7)
	require.Len(t, sample.Codes, resampled)
	counts := make([]float64, 3000)
	var early float64 // mean row number in the first half of the resampled draws, which shows whether their order is random
	for k := range sample.Codes {
		i := int(sample.Theta.At(k, 0))
		counts[i]++
		require.Equal(t, source.Codes[i], sample.Codes[k])
		require.InDelta(t, 2*float64(i), sample.LogP[k], 0)
		require.InDelta(t, 3*float64(i), sample.LogQ[k], 0)
		if k < resampled/2 {
			early += float64(i) / (resampled / 2)
		}
	}
	var mean, variance float64
	for i, weight := range source.Weight {
		require.Less(t, math.Abs(counts[i]-resampled*weight), 1+1e-6, "row %d", i)
		mean += weight * float64(i)
	}
	for i, weight := range source.Weight {
		variance += weight * (float64(i) - mean) * (float64(i) - mean)
	}
	// Draws are in random order, so that the first half has the mean of all draws, to within four
	// standard errors: one false alarm in 16,000 runs.
	require.InDelta(t, mean, early, 4*math.Sqrt(variance/resampled))
	require.Equal(t, sample, source.Resample(resampled, 7))
	require.NotEqual(t, sample, source.Resample(resampled, 8))
}

func TestResampleEdges(t *testing.T) {
	const resampled = 100
	one := numbered(5, func(i int) float64 { return float64(i / 4) }).Resample(resampled, 1)
	require.Len(t, one.Codes, resampled)
	require.InDelta(t, 4, one.Theta.At(resampled-1, 0), 0)
	// Weights that sum to a little less than one.
	short := numbered(10, func(int) float64 { return 1 })
	for i := range short.Weight {
		short.Weight[i] *= 1 - 1e-9
	}
	require.Len(t, short.Resample(resampled, 1).Codes, resampled)
	// 0/0: weights that are not numbers
	none := numbered(5, func(int) float64 { return 0 }).Resample(resampled, 1)
	require.Empty(t, none.Codes)
	require.Empty(t, WeightedSample{Theta: mat.NewDense(1, 1, nil)}.Resample(resampled, 1).Codes)
}
