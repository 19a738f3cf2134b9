package made

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestDegrees checks that degrees are sorted, in range, evenly spread, and include both ends.
func TestDegrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.IntRange(1, 40).Draw(t, "d")
		h := rapid.IntRange(min(d, 2), 90).Draw(t, "h")
		m := degrees(d, h)
		require.Len(t, m, h)
		require.True(t, slices.IsSorted(m))
		require.Equal(t, 0, m[0])
		require.Equal(t, d-1, m[h-1])
		if h >= d {
			count := make([]int, d)
			for _, degree := range m {
				count[degree]++
			}
			require.GreaterOrEqual(t, slices.Min(count), h/d)
			require.LessOrEqual(t, slices.Max(count), h/d+1)
		}
	})
}

// paths reports which inputs reach which outputs through a network with the given masks.
func paths(in, hidden, head mask, depth int) [][]bool {
	reach := make([][]bool, in.rows)
	for j := range reach {
		units := in.allowed[j*in.cols : (j+1)*in.cols]
		for range depth {
			units = through(units, hidden)
		}
		reach[j] = through(units, head)
	}
	return reach
}

// through returns the columns of m that some row in from reaches.
func through(from []bool, m mask) []bool {
	to := make([]bool, m.cols)
	for r, on := range from {
		for c := range to {
			to[c] = to[c] || on && m.allowed[r*m.cols+c]
		}
	}
	return to
}

// TestPaths follows the connections from inputs to outputs. Only inputs before input i may reach
// output i. All of them must reach it if there are at least D units for D inputs, and all must
// reach the last output in any case.
func TestPaths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.IntRange(1, 12).Draw(t, "d")
		h := rapid.IntRange(2, 30).Draw(t, "h")
		n, err := New(Config{Inputs: d, Hidden: h, Heads: [][]int{slices.Repeat([]int{1}, d)}})
		require.NoError(t, err)
		reach := paths(n.inputMask(), n.hiddenMask(), n.headMask(slices.Repeat([]int{1}, d)), 4)
		for j := range d {
			for i := range d {
				switch {
				case j >= i:
					require.False(t, reach[j][i], "input %d reaches output %d", j, i)
				case h >= d || i == d-1:
					require.True(t, reach[j][i], "input %d does not reach output %d", j, i)
				}
			}
		}
	})
}

// TestMasksByHand compares the masks of a small network with masks worked out by hand.
func TestMasksByHand(t *testing.T) {
	n, err := New(Config{Inputs: 3, Hidden: 4, Heads: [][]int{{2, 0, 1}}})
	require.NoError(t, err)
	const x, o = true, false
	require.Equal(t, []int{0, 0, 1, 2}, n.degrees)
	require.Equal(t, []bool{
		o, o, x, x,
		o, o, o, x,
		o, o, o, o,
	}, n.inputMask().allowed)
	require.Equal(t, []bool{
		x, x, x, x,
		x, x, x, x,
		o, o, x, x,
		o, o, o, x,
	}, n.hiddenMask().allowed)
	require.Equal(t, []bool{ // two outputs of input 0, none of input 1, one of input 2
		x, x, x,
		x, x, x,
		o, o, x,
		o, o, x,
	}, n.headMask([]int{2, 0, 1}).allowed)
}
