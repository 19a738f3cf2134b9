package varsel

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/weighted"
)

// Each number of a coefficient is in its place; package weighted tests the numbers.
func TestSummarize(t *testing.T) {
	c := summarize("x", []weighted.Value{{Value: 2, Weight: 2}, {Value: -1, Weight: 1}, {Value: 3, Weight: 3}}, 10)
	require.Equal(t, "x", c.Name)
	require.InDelta(t, 1.2, float64(c.Mean), 1e-12)
	require.InDelta(t, 2, float64(c.MeanGivenIn), 1e-12)
	require.Greater(t, c.SD, c.SDGivenIn)
	require.Equal(t, []Number{-1, 3, -1, 3}, []Number{c.Q025, c.Q975, c.Q025GivenIn, c.Q975GivenIn})

	c = summarize("x", nil, 2)
	require.EqualValues(t, 0, c.Q975)
	encoded, err := json.Marshal(c)
	require.NoError(t, err)
	require.Contains(t, string(encoded), `"mean_given_in":null`)
}
