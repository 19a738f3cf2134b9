package varsel

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/weighted"
)

// A result without draws writes an empty file of draws, and the means of its coefficients are NaN.
func TestNoDraws(t *testing.T) {
	problem := haldProblem(t, ModelOptions{Sigma: 2.5})
	dim := problem.Target.space.Dim()
	empty := problem.toOriginal(nil, mat.NewDense(1, dim, nil))
	dir := t.TempDir()
	require.NoError(t, problem.writeDraws(dir, draws.Header{Kind: draws.IID}, empty))
	read, err := draws.Read(dir + "/" + draws.ParquetFile)
	require.NoError(t, err)
	require.Empty(t, read.Codes)
	for _, c := range problem.summarizeDraws(empty, nil, nil, nil, nil) {
		assert.True(t, math.IsNaN(float64(c.Mean)))
	}
}

// summarize puts each number into the right field of a coefficient. The numbers themselves are
// tested in package weighted.
func TestSummarize(t *testing.T) {
	var draws []weighted.Value // enough draws for moments to be resolved
	for range 200 {
		draws = append(draws, weighted.Value{Value: 2, Weight: 2}, weighted.Value{Value: -1, Weight: 1}, weighted.Value{Value: 3, Weight: 3})
	}
	c := (&coefficientDraws{values: draws}).summarize("x", 2000, 0)
	require.Equal(t, "x", c.Name)
	require.InDelta(t, 1.2, float64(c.Mean), 1e-12)
	require.InDelta(t, 2, float64(c.MeanGivenIn), 1e-12)
	require.InDelta(t, 0.05, float64(c.MeanGivenInSE), 1e-12) // √(Σ w² (x − 2)²) / Σ w = √3600 / 1200, for weights w and values x
	require.Positive(t, float64(c.SDGivenInSE))
	require.Greater(t, c.SD, c.SDGivenIn)
	require.Equal(t, []Number{-1, 3, -1, 3}, []Number{c.Q025, c.Q975, c.Q025GivenIn, c.Q975GivenIn})

	c = (&coefficientDraws{}).summarize("x", 2, 0)
	require.EqualValues(t, 0, c.Q975)
	encoded, err := json.Marshal(c)
	require.NoError(t, err)
	require.Contains(t, string(encoded), `"mean_given_in":null`)

	// A coefficient whose tail is so heavy that it has no variance has no sd.
	random := stream.Rand(1, "summarize")
	draws = nil
	for range 2000 {
		draws = append(draws, weighted.Value{Value: math.Pow(random.Float64(), -1/1.6), Weight: 1})
	}
	chain := make([]int, len(draws))
	for i := range chain {
		chain[i] = i % 20
	}
	c = (&coefficientDraws{values: draws, chain: chain}).summarize("x", 2000, 20)
	require.True(t, math.IsNaN(float64(c.SD)) && math.IsNaN(float64(c.SDGivenIn)))
	require.Positive(t, float64(c.MeanGivenInSE))
	require.InDelta(t, 1.6/0.6, float64(c.MeanGivenIn), 1)

	// A coefficient that is in the models of only one of 20 chains has no moments.
	c = (&coefficientDraws{values: draws[:100], chain: make([]int, 100)}).summarize("x", 2000, 20)
	require.True(t, math.IsNaN(float64(c.MeanGivenIn)) && math.IsNaN(float64(c.SDGivenIn)))
}
