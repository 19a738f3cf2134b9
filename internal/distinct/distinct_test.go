package distinct

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOf(t *testing.T) {
	values := []float64{2, 1, 2, math.Copysign(0, -1), 2, 1, 2, 1}
	d := Of(len(values), func(key []byte, row int) []byte { return Key(key, values[row]) })
	require.Equal(t, []int{0, 1, 3}, d.First)
	require.Equal(t, []float64{4, 3, 1}, d.Times)
	require.Equal(t, values, At(At(values, d.First), d.Of))
	require.Nil(t, Of(4, func(key []byte, row int) []byte { return Key(key, float64(row)) }), "none repeats")
	require.Nil(t, Of(0, nil).First)
}
