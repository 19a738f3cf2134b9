package models

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/space"
)

// TestGuesses checks guesses of inclusion probabilities. An item that is in no set, or only in some
// sets, gets its probability from the odds in the other sets. An item in all sets keeps its weight.
func TestGuesses(t *testing.T) {
	lists, err := space.NewLists(slices.Repeat([]int{1}, 4), 3, 0)
	require.NoError(t, err)
	asItems, ok := itemsOf(lists)
	require.True(t, ok)
	weights := []float64{0.9, 0.1, 0.1, 0.1}
	x := (&Engine{Space: lists}).Visit()
	guess, draws, err := x.guesses(t.Context(), asItems, nil, weights, nil)
	require.NoError(t, err)
	require.Equal(t, weights, guess)
	require.Equal(t, 0.5, draws(100))
	x.Known.Enters = func(_ context.Context, codes [][]int32) (logOdds [][]float64, err error) {
		require.Len(t, codes, 2, "each model once")
		for _, code := range codes {
			odds := []float64{1, -1, -2, -3}
			for _, item := range lists.Set(code) {
				odds[item] = math.NaN()
			}
			logOdds = append(logOdds, odds)
		}
		return logOdds, nil
	}
	guess, draws, err = x.guesses(t.Context(), asItems, [][]int32{{0}, {0, 2}, {0}}, weights, stream.Rand(1, "guesses"))
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{0.9, 1 / (1 + math.Exp(1)), 1 / (1 + math.Exp(2)), 1 / (1 + math.Exp(3))}, guess, 1e-12)
	require.Equal(t, 400.0, draws(100))
}
