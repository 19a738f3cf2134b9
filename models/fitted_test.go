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

// TestProbabilitiesByOdds checks probabilities of items from odds in sets without them. An item in
// all sets has none.
func TestProbabilitiesByOdds(t *testing.T) {
	lists, err := space.NewLists(slices.Repeat([]int{1}, 4), 3, 0)
	require.NoError(t, err)
	asItems, ok := itemsOf(lists)
	require.True(t, ok)
	x := (&Engine{Space: lists}).Visit()
	unknown, err := x.byOdds(t.Context(), asItems, nil, nil)
	require.NoError(t, err)
	require.Nil(t, unknown)
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
	probability, err := x.byOdds(t.Context(), asItems, [][]int32{{0}, {0, 2}, {0}}, stream.Rand(1, "odds"))
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{0, 1 / (1 + math.Exp(1)), 1 / (1 + math.Exp(2)), 1 / (1 + math.Exp(3))}, probability, 1e-12)
}

// TestSeenModels checks that models are drawn with their posterior probabilities among the seen
// models, whatever list they come from.
func TestSeenModels(t *testing.T) {
	list := func(codes [][]int32, logEvidences ...float64) *Visited {
		x := (&Engine{}).Visit()
		for k, code := range codes {
			x.codes, x.logPrior, x.evidence = append(x.codes, code), append(x.logPrior, -1), append(x.evidence, Closed(logEvidences[k]))
		}
		return x
	}
	one, two, three := []int32{1}, []int32{2}, []int32{3}
	seen := seenBy(list([][]int32{one, two}, 0, math.Log(3)), list([][]int32{two, three}, math.Log(3), math.Inf(-1)))
	require.Len(t, seen.codes, 3)
	require.InDelta(t, math.Log(0.25), seen.logProb(one), 1e-12)
	require.InDelta(t, math.Log(0.75), seen.logProb(two), 1e-12)
	require.True(t, math.IsInf(seen.logProb(three), -1))
	require.True(t, math.IsInf(seen.logProb([]int32{4}), -1))
	require.Equal(t, two, seen.codes[seen.table.Index(0.9)])
}
