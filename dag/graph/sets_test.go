package graph

import (
	"bytes"
	"cmp"
	"encoding/gob"
	"maps"
	"math/bits"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// setAndMap draws a set of nodes, some below and some above the nodes that a Set holds as bits,
// with a map of its members.
func setAndMap(t *rapid.T, name string) (Set, map[int]bool) {
	nodes := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 7), rapid.IntRange(60, 66), rapid.IntRange(125, 132), rapid.IntRange(250, 260), rapid.IntRange(0, MaxNodes-1)), 0, 12).Draw(t, name)
	members := map[int]bool{}
	for _, i := range nodes {
		members[i] = true
	}
	return SetOf(nodes...), members
}

// Operations on sets agree with the same operations on maps.
func TestSetsAreMaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, inS := setAndMap(t, "s")
		u, inU := setAndMap(t, "u")
		list := func(keep func(i int) bool) []int {
			all := maps.Clone(inS)
			maps.Copy(all, inU)
			return slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(i int) bool { return !keep(i) })
		}
		same := func(want []int, got Set) {
			require.Equal(t, SetOf(want...), got)
			require.Equal(t, len(want), got.Len())
			require.Equal(t, len(want) == 0, got.Empty())
			require.True(t, slices.Equal(want, got.List()))
		}
		same(list(func(i int) bool { return inS[i] }), s)
		same(list(func(i int) bool { return inS[i] || inU[i] }), s.Or(u))
		same(list(func(i int) bool { return inS[i] && inU[i] }), s.And(u))
		same(list(func(i int) bool { return inS[i] && !inU[i] }), s.Minus(u))
		require.Equal(t, len(list(func(i int) bool { return inS[i] && !inU[i] })) == 0, s.Within(u))
		i := rapid.IntRange(0, MaxNodes-1).Draw(t, "i")
		require.Equal(t, inS[i], s.Has(i))
		require.Equal(t, s.Or(SetOf(i)), s.With(i))
		require.Equal(t, s.Minus(SetOf(i)), s.Without(i))
		require.NotEqual(t, s.Has(i), s.Toggle(i).Has(i))
		require.Equal(t, s, s.Toggle(i).Toggle(i))
		var content bytes.Buffer
		require.NoError(t, gob.NewEncoder(&content).Encode(s))
		var decoded Set
		require.NoError(t, gob.NewDecoder(&content).Decode(&decoded))
		require.Equal(t, s, decoded)
	})
	require.Error(t, new(Set).UnmarshalBinary(make([]byte, 3)))
	require.Panics(t, func() { SetOf(MaxNodes) })
}

// Sets are ordered by size, and sets of one size by their members as a number, in which a node
// counts more than all lower nodes together.
func TestOrderOfSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Uint64Range(0, 31).Draw(t, "a"), rapid.Uint64Range(0, 31).Draw(t, "b")
		want := cmp.Or(cmp.Compare(bits.OnesCount64(a), bits.OnesCount64(b)), cmp.Compare(a, b))
		for _, shift := range []int{0, 61, 125, 126, 500} {
			shifted := func(set uint64) (s Set) {
				for i := range Members(set) {
					s = s.With(i + shift)
				}
				return s
			}
			require.Equal(t, want, cmp.Compare(shifted(a).Compare(shifted(b)), 0))
		}
	})
}

func TestBelow(t *testing.T) {
	for _, n := range []int{0, 1, 63, 64, 65, 127, 128, 129, 300} {
		s := Below(n)
		require.Equal(t, n, s.Len())
		for i := range n {
			require.True(t, s.Has(i))
		}
	}
}

// Paths are found in the same way among nodes that are bits of a set and among higher nodes.
func TestReachOfHighNodes(t *testing.T) {
	const shift = 200
	rapid.Check(t, func(t *rapid.T) {
		links, shifted := make([]Set, 8), make([]Set, 8+shift)
		for i := range links {
			for j := range Members(rapid.Uint64Range(0, 255).Draw(t, "links") & rapid.Uint64Range(0, 255).Draw(t, "mask")) {
				links[i], shifted[i+shift] = links[i].With(j), shifted[i+shift].With(j+shift)
			}
		}
		from := rapid.IntRange(0, 7).Draw(t, "from")
		var want []int
		for i := range Reach(SetOf(from), links).Nodes() {
			want = append(want, i+shift)
		}
		require.Equal(t, SetOf(want...), Reach(SetOf(from+shift), shifted))
	})
}

// Marks agree with sets, for nodes that a set holds as bits and for higher nodes.
func TestMarks(t *testing.T) {
	links := make([]Set, 300)
	links[3], links[127], links[128] = SetOf(127, 200), SetOf(128), SetOf(299)
	m := NewMarks(len(links))
	m.Reach(SetOf(3, 250), links)
	m.Remove(200)
	m.Add(64)
	want := SetOf(3, 64, 127, 128, 250, 299)
	require.Equal(t, want, m.set())
	for i := range links {
		require.Equal(t, want.Has(i), m.Has(i), "%d", i)
		require.Equal(t, want.Has(i), m.HasAny(SetOf(i)), "%d", i)
	}
	require.Equal(t, 250, want.At(4))
	require.Equal(t, -1, want.At(6))
	m.Reach(Set{}, links)
	require.Equal(t, Set{}, m.set())
}
