package regression

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/gpu"
)

// open opens a device for the length of a test.
func open(t testing.TB, kind gpu.Kind) *gpu.Device {
	t.Helper()
	device, err := gpu.Open(kind)
	require.NoError(t, err)
	t.Cleanup(device.Close)
	return device
}
