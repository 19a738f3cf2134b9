package report

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNumber(t *testing.T) {
	encoded, err := json.Marshal([]Number{0.5, Number(math.NaN()), Number(math.Inf(1))})
	require.NoError(t, err)
	require.Equal(t, "[0.5,null,null]", string(encoded))
	var back []Number
	require.NoError(t, json.Unmarshal(encoded, &back))
	require.Equal(t, Number(0.5), back[0])
	require.True(t, math.IsNaN(float64(back[1])))
	require.Error(t, json.Unmarshal([]byte(`"x"`), new(Number)))
	require.Equal(t, "0.5", Number(0.5).Text())
	require.Empty(t, Number(math.Inf(-1)).Text())
}
