//go:build !cgo || !linux

package gpu

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWithoutXLATheBuildIsNamed checks that a build without XLA gives one error for every plugin.
func TestWithoutXLATheBuildIsNamed(t *testing.T) {
	for _, options := range []Options{{Kind: CUDA}, {Kind: XLACPU, Plugin: "absent.so"}} {
		_, err := OpenWith(options)
		require.ErrorIs(t, err, errNoXLA)
		require.ErrorContains(t, err, "device "+options.Kind.String())
	}
}
