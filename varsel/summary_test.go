package varsel

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/stream"
)

func TestSummarizeByHand(t *testing.T) {
	// Out with weight 4, in with values −1, 2, 3 of weights 1, 2, 3.
	c := summarize("x", []weightedValue{{2, 2}, {-1, 1}, {3, 3}}, 10)
	require.InDelta(t, 12.0/10, float64(c.Mean), 1e-12)
	require.InDelta(t, 12.0/6, float64(c.MeanGivenIn), 1e-12)
	second := (1*1 + 2*4 + 3*9.0) / 10
	require.InDelta(t, math.Sqrt(second-1.44), float64(c.SD), 1e-12)
	require.InDelta(t, math.Sqrt((1*9+2*0+3*1)/6.0), float64(c.SDGivenIn), 1e-12)
	require.EqualValues(t, -1, c.Q025)
	require.EqualValues(t, 3, c.Q975)
}

func TestSummarizeUniformWithPointMass(t *testing.T) {
	// Half the mass at zero, half uniform on (−1, 3): quantiles of the mixture are known.
	random := stream.Rand(1, "summarize")
	n := 20000
	in := make([]weightedValue, n/2)
	for i := range in {
		in[i] = weightedValue{4*random.Float64() - 1, 1}
	}
	c := summarize("x", in, float64(n))
	// Standard error of these quantiles is about 0.008; tolerance 5 of them.
	require.InDelta(t, -0.8, float64(c.Q025), 0.04)
	require.InDelta(t, 2.8, float64(c.Q975), 0.04)
	require.InDelta(t, -0.9, float64(c.Q025GivenIn), 0.04)
	require.InDelta(t, 0.5, float64(c.Mean), 0.05)
}

func TestSummarizeNeverIn(t *testing.T) {
	c := summarize("x", nil, 2)
	require.EqualValues(t, 0, c.Mean)
	require.EqualValues(t, 0, c.SD)
	require.EqualValues(t, 0, c.Q025)
	require.True(t, math.IsNaN(float64(c.MeanGivenIn)))
	encoded, err := json.Marshal(c)
	require.NoError(t, err)
	require.Contains(t, string(encoded), `"mean_given_in":null`)
}
