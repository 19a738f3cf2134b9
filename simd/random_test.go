package simd

import (
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/stretchr/testify/require"
)

// TestPhilox checks the answers of Philox 4x32-10 published with Random123 (kat_vectors).
func TestPhilox(t *testing.T) {
	for _, c := range []struct {
		key, low, high uint64
		want           [4]uint32
	}{
		{0, 0, 0, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{^uint64(0), ^uint64(0), ^uint64(0), [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e, [4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		x0, x1, x2, x3 := philox(c.key, c.low, c.high)
		require.Equal(t, c.want, [4]uint32{x0, x1, x2, x3})
	}
}

// TestRandomStream checks that a draw continues the stream where the draw before it stopped: two
// draws are the two halves of one larger draw.
func TestRandomStream(t *testing.T) {
	exec, err := NewExec(newBackend(t, "threads=3"), func(g *Graph) []*Node {
		state := RNGStateFromSeedForGraph(g, 42)
		_, all := RandomUniform(state, shapes.Make(dtypes.Float32, 40_000))
		next, first := RandomUniform(state, shapes.Make(dtypes.Float32, 20_000))
		_, second := RandomUniform(next, shapes.Make(dtypes.Float32, 20_000))
		return []*Node{all, Concatenate([]*Node{first, second}, 0)}
	})
	require.NoError(t, err)
	out := exec.MustExec()
	require.True(t, out[0].Equal(out[1]))
	// Check that the mean and the mean square of 40,000 uniform numbers are within 5 standard
	// errors of their expectations. A random seed would fail once in 10⁶ runs; this seed is fixed.
	sum, squares := 0.0, 0.0
	data := tensors.MustCopyFlatData[float32](out[0])
	for _, x := range data {
		require.True(t, x >= 0 && x < 1)
		sum += float64(x)
		squares += float64(x) * float64(x)
	}
	n := float64(len(data))
	require.InDelta(t, 0.5, sum/n, 5*0.2887/200)
	require.InDelta(t, 1.0/3, squares/n, 5*0.2981/200)
}
