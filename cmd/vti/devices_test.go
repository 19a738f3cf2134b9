package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
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

func TestDeviceWithoutPlugin(t *testing.T) {
	t.Setenv("PJRT_PLUGIN_LIBRARY_PATH", t.TempDir())
	got := vtiCommand(t, "varsel", testdata(t, "hald.csv"), "--target", "y", "--device", "cuda")
	require.Equal(t, statusUsage, got.status)
	require.Contains(t, got.stderr, "device cuda")
	got = vtiCommand(t, "varsel", testdata(t, "hald.csv"), "--target", "y", "--device", "xla-cpu", "--pjrt-plugin", "absent.so")
	require.Equal(t, statusUsage, got.status)
	require.Contains(t, got.stderr, "absent.so")
}
