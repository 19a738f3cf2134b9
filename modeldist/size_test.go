package modeldist_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/modeldist"
)

// TestSizesThatCannotBe checks that impossible sizes are refused before memory is allocated. The
// error states the required sizes.
func TestSizesThatCannotBe(t *testing.T) {
	_, err := modeldist.NewList(1000, 5, modeldist.ListConfig{Hidden: 1 << 30})
	require.ErrorContains(t, err, "a network of 1073741824 hidden units that embeds 1000 items in 16 coordinates needs at least")
	bits := slices.Repeat([]int{2}, 25)
	_, err = modeldist.NewAutoregressive(bits, modeldist.AutoregressiveConfig{Hidden: 1 << 30})
	require.ErrorContains(t, err, "1073741824 hidden units needs at least")
}
