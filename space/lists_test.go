package space_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/transdim/vti/space"
)

func someLists(t testing.TB) *space.Lists {
	t.Helper()
	l, err := space.NewLists([]int{1, 2, 1, 3, 1}, 3, 2)
	require.NoError(t, err)
	return l
}

func TestListsByHand(t *testing.T) {
	l := someLists(t)
	require.Equal(t, []int{6, 6, 6}, l.Cards())
	require.Equal(t, 2+3*3, l.Dim())
	code := l.Code([]int32{3, 1}, nil)
	require.Equal(t, []int32{1, 3, 5}, code)
	require.Equal(t, []bool{true, true, true, true, false, true, true, true, false, false, false}, l.MaskRow(code, nil))
	require.Equal(t, []int32{1, 3}, l.Set(code))
	for _, invalid := range [][]int32{{1, 1, 5}, {3, 1, 5}, {5, 1, 2}, {1, 5, 2}, {2, 2, 2}} {
		require.False(t, l.Valid(invalid), invalid)
	}
	require.True(t, l.Valid([]int32{5, 5, 5}))
}

func TestListsCountsItsModels(t *testing.T) {
	l := someLists(t)
	valid := 0
	for _, code := range allCodes(l.Cards()) {
		if l.Valid(code) {
			valid++
			require.Equal(t, code, l.Code(l.Set(code), nil))
		}
	}
	n, ok := l.CountModels()
	require.True(t, ok)
	require.Equal(t, valid, n)
	require.Equal(t, 1+5+10+10, n)
	var listed [][]int32
	for code := range l.Models() {
		require.True(t, l.Valid(code))
		listed = append(listed, slices.Clone(code))
	}
	require.Equal(t, n, len(listed))
	require.True(t, slices.IsSortedFunc(listed, func(a, b []int32) int { return slices.Compare(a, b) }))
	for range l.Models() {
		break // ends the enumeration early
	}
	count, ok := space.CountModels(l)
	require.True(t, ok)
	require.Equal(t, n, count)

	large, err := space.NewLists(slices.Repeat([]int{1}, 10000), 20, 0)
	require.NoError(t, err)
	_, ok = large.CountModels()
	require.False(t, ok)
}

func TestListsErrors(t *testing.T) {
	for _, c := range []struct {
		widths       []int
		slots, fixed int
		want         string
	}{
		{nil, 1, 0, "no items"}, {[]int{1, 1}, 0, 0, "0 places for 2 items"}, {[]int{1}, 2, 0, "2 places for 1 items"},
		{[]int{1, 0}, 1, 0, "item 1 uses 0 coordinates"}, {[]int{1}, 1, -1, "-1 fixed"},
	} {
		_, err := space.NewLists(c.widths, c.slots, c.fixed)
		require.ErrorContains(t, err, c.want)
	}
	_, err := someLists(t).WithWeights([]float64{1, 2, 0, 4, 5})
	require.ErrorContains(t, err, "weight of item 2 is 0")
	_, err = someLists(t).WithWeights([]float64{1, 1e-10, 1, 1, 1})
	require.ErrorContains(t, err, "at least 1e-09 of the sum")
	_, err = someLists(t).WithWeights(slices.Repeat([]float64{math.MaxFloat64}, 5))
	require.ErrorContains(t, err, "+Inf")
	_, err = someLists(t).WithWeights([]float64{1})
	require.ErrorContains(t, err, "1 weights for 5 items")
}

// described is a space of lists with its own description of models as inputs of networks.
type described struct{ *space.Lists }

func (d described) FeatureDim() int { return 1 }

func (d described) Features(codes *graph.Node, dtype dtypes.DType) *graph.Node {
	return graph.ReduceAndKeep(graph.ConvertDType(codes, dtype), graph.ReduceSum, 1)
}

func TestFeaturerIsAsked(t *testing.T) {
	l := someLists(t)
	require.Equal(t, 18, space.FeatureDimOf(l))
	require.Equal(t, 1, space.FeatureDimOf(described{l}))
	got := run(t, func(in []*graph.Node) *graph.Node { return space.Features(described{l}, in[0], dtypes.Float32) }, [][]int32{{0, 2, 5}})
	require.Equal(t, [][]float32{{7}}, got)
}

func TestListsMoveCarriesCoordinates(t *testing.T) {
	l := someLists(t)
	rapid.Check(t, func(t *rapid.T) {
		random := newRandom(rapid.Uint64().Draw(t, "seed"))
		code := l.Code(rapid.SliceOfNDistinct(rapid.Int32Range(0, 4), 0, 3, rapid.ID).Draw(t, "set"), nil)
		z := make([]float64, l.Dim())
		for j := range z {
			z[j] = float64(j)
		}
		before, beforeZ := slices.Clone(code), slices.Clone(z)
		ratio := space.Move(l, random, code, z)
		if math.IsInf(ratio, -1) {
			require.Equal(t, before, code)
			require.Equal(t, beforeZ, z)
			return
		}
		require.True(t, l.Valid(code))
		require.NotEqual(t, before, code)
		require.Equal(t, beforeZ[:2], z[:2])
		for at, item := range l.Set(code) {
			if old := slices.Index(l.Set(before), item); old >= 0 {
				require.Equal(t, beforeZ[2+3*old:5+3*old], z[2+3*at:5+3*at], "item %d", item)
			}
		}
		slices.Sort(z)
		require.Equal(t, beforeZ, z, "a permutation")
	})
}

// proposal returns, from the definition of the moves, the probability that Lists.Move changes the
// set from into the set to.
func proposal(weights []float64, slots int, from, to []int32) float64 {
	var added, removed []int32
	outside := 0.0
	for item, weight := range weights {
		before, after := slices.Contains(from, int32(item)), slices.Contains(to, int32(item))
		switch {
		case after && !before:
			added = append(added, int32(item))
		case before && !after:
			removed = append(removed, int32(item))
		}
		if !before {
			outside += weight
		}
	}
	probability := 1.0 / 3
	if len(added) == 1 {
		probability *= weights[added[0]] / outside
	}
	if len(removed) == 1 {
		probability /= float64(len(from))
	}
	if len(added) > 1 || len(removed) > 1 || len(to) > slots {
		return 0
	}
	return probability
}

// TestListsMoveIsReversible checks the log ratio of proposals against its definition, and that some
// move from the new model restores code and coordinates.
func TestListsMoveIsReversible(t *testing.T) {
	weights := []float64{5, 0.3, 1, 2, 0.1}
	l, err := someLists(t).WithWeights(weights)
	require.NoError(t, err)
	random := newRandom(11)
	code, z := l.Code(nil, nil), make([]float64, l.Dim())
	for j := range z {
		z[j] = float64(j)
	}
	reached := map[string]bool{}
	for range 2000 {
		next, moved := slices.Clone(code), slices.Clone(z)
		ratio := l.Move(random, next, moved)
		if math.IsInf(ratio, -1) {
			continue
		}
		reached[fmt.Sprint(next)] = true
		want := math.Log(proposal(weights, 3, l.Set(next), l.Set(code)) / proposal(weights, 3, l.Set(code), l.Set(next)))
		require.InDelta(t, want, ratio, 1e-12, "from %v to %v", code, next)
		require.True(t, leadsBack(l, random, next, moved, code, z), "from %v to %v", code, next)
		code, z = next, moved
	}
	require.Len(t, reached, 26, "every model")
}

// leadsBack tries moves from code until one leads to the earlier model before, and reports whether
// the coordinates are then beforeZ. The least probable way back, an exchange, has probability
// 0.1/8.4/9 = 0.0013, so that 20,000 tries all fail once in 10^11 runs.
func leadsBack(l *space.Lists, random *rand.Rand, code []int32, z []float64, before []int32, beforeZ []float64) bool {
	for range 20_000 {
		back, moved := slices.Clone(code), slices.Clone(z)
		if ratio := l.Move(random, back, moved); !math.IsInf(ratio, -1) && slices.Equal(back, before) {
			return slices.Equal(moved, beforeZ)
		}
	}
	return false
}
