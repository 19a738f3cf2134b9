package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/gpu"
)

func TestDevices(t *testing.T) {
	t.Setenv("PJRT_PLUGIN_LIBRARY_PATH", t.TempDir())
	text := mustRun(t, "devices").stdout
	require.Contains(t, text, "cpu      (auto) ")
	require.Contains(t, text, "cuda     not available: ")

	var answer devicesAnswer
	require.NoError(t, json.Unmarshal([]byte(mustRun(t, "devices", "--json").stdout), &answer))
	require.Equal(t, "cpu", answer.Auto)
	require.Len(t, answer.Devices, 4)
}

// If the device cannot be opened, the command ends with the error of package gpu. The tests of that
// package check its text.
func TestDeviceWithoutPlugin(t *testing.T) {
	t.Setenv("PJRT_PLUGIN_LIBRARY_PATH", t.TempDir())
	for _, options := range []gpu.Options{{Kind: gpu.CUDA}, {Kind: gpu.XLACPU, Plugin: "absent.so"}} {
		_, err := gpu.OpenWith(options)
		require.Error(t, err)
		got := vtiCommand(t, "varsel", testdata(t, "hald.csv"), "--target", "y",
			"--device", options.Kind.String(), "--pjrt-plugin", options.Plugin)
		require.Equal(t, shell.StatusUsage, got.status)
		require.Contains(t, got.stderr, err.Error())
	}
}
