package cosmic

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/transdim/vti/lab/testkit"
)

// TestPacking compares the permutations with a loop. The values of the test are such that any
// arithmetic other than copying would change them.
func TestPacking(t *testing.T) {
	backend := testkit.Backend(t)
	exec, err := graph.NewExec(backend, func(mask, x *graph.Node) []*graph.Node {
		p := newPacking(mask)
		apply := func(s stage, x *graph.Node) *graph.Node {
			y, logSlope := s.toParams(x)
			if logSlope != nil {
				panic("a permutation changes no volume")
			}
			return y
		}
		packed := apply(p.pack, x)
		return []*graph.Node{packed, p.active, apply(p.reverse, packed), apply(p.unpack, packed), apply(p.reverse, apply(p.reverse, x))}
	})
	require.NoError(t, err)
	exec.SetMaxCache(-1)
	values := []float64{math.Copysign(0, -1), math.NaN(), math.Inf(1), 1, -2.5, 5e-324}
	rapid.Check(t, func(t *rapid.T) {
		dim := rapid.IntRange(1, 6).Draw(t, "dim")
		masks := rapid.SliceOfN(rapid.SliceOfN(rapid.Bool(), dim, dim), 1, 3).Draw(t, "masks")
		x := make([][]float64, len(masks))
		for n := range x {
			x[n] = rapid.SliceOfN(rapid.SampledFrom(values), dim, dim).Draw(t, "x")
		}
		out := exec.MustExec(masks, x)
		for n, mask := range masks {
			var used, rest []float64
			for i, on := range mask {
				if on {
					used = append(used, x[n][i])
				} else {
					rest = append(rest, x[n][i])
				}
			}
			equal := func(want []float64, k int) {
				t.Helper()
				require.Equal(t, bitsOf(want), bitsOf(out[k].Value().([][]float64)[n]))
			}
			equal(slices.Concat(used, rest), 0)
			for s, active := range out[1].Value().([][]bool)[n] {
				require.Equal(t, s < len(used), active)
			}
			slices.Reverse(used)
			equal(slices.Concat(used, rest), 2)
			equal(x[n], 3)
			equal(x[n], 4)
		}
	})
}

func bitsOf(x []float64) []uint64 {
	bits := make([]uint64, len(x))
	for i, v := range x {
		bits[i] = math.Float64bits(v)
	}
	return bits
}
