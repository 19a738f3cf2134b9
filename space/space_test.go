package space_test

import (
	"slices"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/space"
)

// run evaluates fn on the given inputs with the reference backend.
func run(t testing.TB, fn func(inputs []*graph.Node) *graph.Node, inputs ...any) any {
	t.Helper()
	out, err := graph.ExecOnce(testkit.Backend(t), fn, inputs...)
	require.NoError(t, err)
	return out.Value()
}

// allCodes lists every code of a space.
func allCodes(cards []int) [][]int32 {
	var codes [][]int32
	for _, code := range space.All(cards) {
		codes = append(codes, slices.Clone(code))
	}
	return codes
}

func someSubsets(t testing.TB) *space.Subsets {
	t.Helper()
	s, err := space.NewSubsets(6, []int{4}, [][]int{{5, 0}, {2}, {1, 3}})
	require.NoError(t, err)
	return s
}

func someTable(t testing.TB) *space.Table {
	t.Helper()
	table, err := space.NewTable([][]bool{{true, false}, {true, true}, {false, true}, {false, false}, {true, true}})
	require.NoError(t, err)
	return table
}

// TestMaskTwins checks that Mask (in a computation graph) and MaskRow (plain Go) agree.
func TestMaskTwins(t *testing.T) {
	single, err := space.NewSubsets(3, nil, [][]int{{0}, {1}, {2}})
	require.NoError(t, err)
	oneModel, err := space.NewTable([][]bool{{true, true}})
	require.NoError(t, err)
	nested, err := space.NewNested([]int{2, 0, 3, 1})
	require.NoError(t, err)
	for name, s := range map[string]space.RowMasker{
		"nested": nested, "subsets": someSubsets(t), "singletons": single, "table": someTable(t), "one model": oneModel, "lists": someLists(t),
	} {
		t.Run(name, func(t *testing.T) {
			codes := allCodes(s.Cards())
			var want [][]bool
			for _, code := range codes {
				want = append(want, s.MaskRow(code, nil))
			}
			got := run(t, func(in []*graph.Node) *graph.Node { return s.Mask(in[0]) }, codes)
			require.Equal(t, want, got)

			dst := slices.Repeat([]bool{true}, s.Dim()) // earlier contents must be overwritten
			require.Equal(t, want[0], s.MaskRow(codes[0], dst))
			require.Panics(t, func() { s.MaskRow(codes[0], make([]bool, s.Dim()+1)) })
			require.Panics(t, func() { s.MaskRow(append(codes[0], 0), nil) })
		})
	}
}

func TestSubsetsMaskByHand(t *testing.T) {
	s := someSubsets(t)
	require.Equal(t, []int{2, 2, 2}, s.Cards())
	require.Equal(t, 6, s.Dim())
	require.Equal(t, []bool{false, false, false, false, true, false}, s.MaskRow([]int32{0, 0, 0}, nil))
	require.Equal(t, []bool{true, false, false, false, true, true}, s.MaskRow([]int32{1, 0, 0}, nil))
	require.Equal(t, []bool{false, true, true, true, true, false}, s.MaskRow([]int32{0, 1, 1}, nil))
}

func TestNewSubsetsErrors(t *testing.T) {
	for name, c := range map[string]struct {
		dim    int
		always []int
		groups [][]int
		want   string
	}{
		"no coordinate": {0, nil, [][]int{{0}}, "dim is 0"},
		"no group":      {1, []int{0}, nil, "NewTable"},
		"empty group":   {1, []int{0}, [][]int{{}}, "group 0 is empty"},
		"too large":     {2, []int{0}, [][]int{{2}}, "coordinate 2 in group 0 is outside 0 to 1"},
		"negative":      {2, []int{-1}, [][]int{{0}}, "coordinate -1 in always"},
		"in two groups": {2, nil, [][]int{{0, 1}, {1}}, "coordinate 1 is in group 0 and again in group 1"},
		"twice in one":  {2, nil, [][]int{{0}, {1, 1}}, "coordinate 1 is in group 1 and again in group 1"},
		"always and on": {2, []int{1}, [][]int{{0, 1}}, "coordinate 1 is in always and again in group 0"},
		"uncovered":     {4, []int{0}, [][]int{{1}, {3}}, "coordinate 2 is neither"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := space.NewSubsets(c.dim, c.always, c.groups)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestNewTable(t *testing.T) {
	for name, c := range map[string]struct {
		masks [][]bool
		want  string
	}{
		"no model":      {nil, "at least one model"},
		"no coordinate": {[][]bool{{}}, "at least one model and one coordinate"},
		"ragged":        {[][]bool{{true, true}, {true}}, "model 1 has 1 coordinates, model 0 has 2"},
		"unused":        {[][]bool{{true, false}, {true, false}}, "coordinate 1 is used by no model"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := space.NewTable(c.masks)
			require.ErrorContains(t, err, c.want)
		})
	}
	masks := [][]bool{{true}}
	table, err := space.NewTable(masks)
	require.NoError(t, err)
	masks[0][0] = false
	require.Equal(t, []bool{true}, table.MaskRow([]int32{0}, nil), "the rows are copied")
}

func TestCheckCards(t *testing.T) {
	require.NoError(t, space.CheckCards([]int{1, 2}))
	require.ErrorContains(t, space.CheckCards(nil), "at least one site")
	require.ErrorContains(t, space.CheckCards([]int{2, 0}), "site 1 has 0 outcomes")
	require.ErrorContains(t, space.CheckCards([]int{1 << 31}), "site 0")
}

func TestCount(t *testing.T) {
	n, ok := space.Count(someSubsets(t))
	require.True(t, ok)
	require.Equal(t, 8, n)
	n, ok = space.CountCodes(slices.Repeat([]int{2}, 62))
	require.True(t, ok)
	require.Equal(t, 1<<62, n)
	_, ok = space.CountCodes(slices.Repeat([]int{2}, 63))
	require.False(t, ok)
	_, ok = space.CountCodes(slices.Repeat([]int{3}, 1000))
	require.False(t, ok)
}

// Encode, Decode, All, Index and Codes use the same numbering, whatever the numbers of outcomes.
func TestNumbering(t *testing.T) {
	require.Equal(t, 1*12+2*4+3, space.Encode([]int{2, 3, 4}, []int32{1, 2, 3}), "site 0 is most significant")
	rapid.Check(t, func(t *rapid.T) {
		cards := rapid.SliceOfN(rapid.IntRange(1, 5), 1, 5).Draw(t, "cards")
		count, ok := space.CountCodes(cards)
		require.True(t, ok)
		next := 0
		dst := make([]int32, len(cards))
		for index, code := range space.All(cards) {
			require.Equal(t, next, index)
			require.Equal(t, index, space.Encode(cards, code))
			require.Equal(t, code, space.Decode(cards, index, dst))
			next++
		}
		require.Equal(t, count, next)
	})
	for _, cards := range [][]int{{7}, {1}, {2, 2, 2}, {4, 3, 2, 2}, {1, 5, 1, 3}} {
		codes := allCodes(cards)
		index := make([]int32, len(codes))
		for i := range index {
			index[i] = int32(i)
		}
		require.Equal(t, index, run(t, func(in []*graph.Node) *graph.Node { return space.Index(cards, in[0]) }, codes))
		require.Equal(t, codes, run(t, func(in []*graph.Node) *graph.Node { return space.Codes(cards, in[0]) }, index))
	}
}

func TestAllStopsEarly(t *testing.T) {
	seen := 0
	for range space.All([]int{2, 2}) {
		seen++
		if seen == 3 {
			break
		}
	}
	require.Equal(t, 3, seen)
}

func TestMisuse(t *testing.T) {
	require.Panics(t, func() { space.Encode([]int{2, 2}, []int32{0}) })
	require.Panics(t, func() { space.Encode([]int{2, 2}, []int32{0, 2}) })
	require.Panics(t, func() { space.Encode([]int{2, 2}, []int32{-1, 0}) })
	require.Panics(t, func() { space.Decode([]int{2, 2}, 4, nil) })
	require.Panics(t, func() { space.Decode([]int{2, 2}, -1, nil) })
	require.Panics(t, func() { space.Decode([]int{2, 2}, 0, make([]int32, 1)) })
	require.Panics(t, func() { space.Encode(slices.Repeat([]int{2}, 63), make([]int32, 63)) })

	// Functions that build computation graphs panic with errors, which the executor returns.
	backend := testkit.Backend(t)
	_, err := graph.ExecOnce(backend, someSubsets(t).Mask, [][]int32{{0, 1}})
	require.ErrorContains(t, err, "space.Subsets.Mask: want codes of shape [B, 3]")
	_, err = graph.ExecOnce(backend, someTable(t).Mask, [][]float32{{0}})
	require.ErrorContains(t, err, "space.Table.Mask: want codes of shape [B, 1] and dtype Int32")
	wide := slices.Repeat([]int{2}, 31)
	_, err = graph.ExecOnce(backend, func(codes *graph.Node) *graph.Node { return space.Index(wide, codes) },
		[][]int32{make([]int32, 31)})
	require.ErrorContains(t, err, "more than an int32 can number")
}

func TestFeatures(t *testing.T) {
	s := fakeSpace{cards: []int{2, 3, 1, 2}}
	require.Equal(t, 1+3+1+1, space.FeatureDim(s.cards))
	codes := [][]int32{{0, 0, 0, 1}, {1, 2, 0, 0}}
	want := [][]float64{{0, 1, 0, 0, 1, 1}, {1, 0, 0, 1, 1, 0}}
	require.Equal(t, want, run(t, func(in []*graph.Node) *graph.Node {
		return space.Features(s, in[0], dtypes.Float64)
	}, codes))

	bits := fakeSpace{cards: []int{2, 2}}
	require.Equal(t, [][]float32{{1, 0}, {0, 1}}, run(t, func(in []*graph.Node) *graph.Node {
		return space.Features(bits, in[0], dtypes.Float32)
	}, [][]int32{{1, 0}, {0, 1}}))
}

// fakeSpace is a space with numbers of outcomes but without coordinates.
type fakeSpace struct{ cards []int }

func (s fakeSpace) Cards() []int                       { return s.cards }
func (s fakeSpace) Dim() int                           { return 0 }
func (s fakeSpace) Mask(codes *graph.Node) *graph.Node { panic("not used") }
