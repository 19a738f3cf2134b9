// Package testkit holds the helpers that tests of several packages share.
package testkit

import (
	"testing"

	"github.com/gomlx/gomlx/backends"
	_ "github.com/gomlx/gomlx/backends/simplego" // registers the reference backend "go"
	"github.com/stretchr/testify/require"
)

// Backend returns the reference backend: GoMLX's own interpreter in Go. It runs sequentially,
// because its parallel mode deadlocks on two cores.
func Backend(t testing.TB) backends.Backend {
	t.Helper()
	backend, err := backends.NewWithConfig("go:ops_sequential")
	require.NoError(t, err)
	return backend
}
