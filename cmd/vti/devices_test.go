package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/cmd/vti/internal/devicecheck"
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

// The command ends with the device's own error: without a plugin it names the file that is missing,
// and in a build without cgo it says that there is no XLA in it (both tested in package gpu).
func TestDeviceWithoutPlugin(t *testing.T) {
	t.Setenv("PJRT_PLUGIN_LIBRARY_PATH", t.TempDir())
	for _, options := range []gpu.Options{{Kind: gpu.CUDA}, {Kind: gpu.XLACPU, Plugin: "absent.so"}} {
		_, err := gpu.OpenWith(options)
		require.Error(t, err)
		got := vtiCommand(t, "varsel", testdata(t, "hald.csv"), "--target", "y",
			"--device", options.Kind.String(), "--pjrt-plugin", options.Plugin)
		require.Equal(t, statusUsage, got.status)
		require.Contains(t, got.stderr, err.Error())
	}
}

func TestDevicesCheck(t *testing.T) {
	if testing.Short() {
		t.Skip("computes everything three times")
	}
	t.Setenv("PJRT_PLUGIN_LIBRARY_PATH", t.TempDir())
	got := vtiCommand(t, "devices", "--check", "--quiet")
	require.Equal(t, statusOK, got.status, got.stdout)
	require.Contains(t, got.stdout, "target robust")
	require.Regexp(t, `cpu +float32 +50 steps: student, spline, categorical +[0-9e.-]+`, got.stdout)
	require.Regexp(t, `\n  cpu +agrees\n`, got.stdout, "the last column goes on below: the table is wide")
	require.Contains(t, got.stdout, "68 of 68 agree")
	require.NotContains(t, got.stdout, "DISAGREES")
	got = vtiCommand(t, "devices", "--check", "--device", "cuda", "--quiet")
	require.Equal(t, statusUsage, got.status)
	require.Contains(t, got.stderr, "device cuda")
}

func TestCheckTable(t *testing.T) {
	compared := func(subject string, class devicecheck.Class, difference float64) devicecheck.Comparison {
		return devicecheck.Comparison{Subject: subject, DType: dtypes.Float32, Class: class, Difference: difference, Tolerance: 1e-4}
	}
	var lines []checkLine
	for _, c := range []devicecheck.Comparison{
		compared("a", devicecheck.Values, 1e-5), compared("a", devicecheck.Draws, 0), compared("b", devicecheck.Values, 1e-3),
		{Subject: "c", DType: dtypes.Float32, Err: errors.New("no such operation")},
	} {
		lines = addComparison(lines, gpu.CUDA, c)
	}
	require.Len(t, lines, 3)
	var out bytes.Buffer
	printCheck(&out, lines)
	require.Regexp(t, `cuda +float32 +a +1e-05 +0 +agrees\n`, out.String())
	require.Regexp(t, `cuda +float32 +b +! 0.001 +DISAGREES\n`, out.String())
	require.Regexp(t, `cuda +float32 +c +fails\n`, out.String())
	require.Contains(t, out.String(), "cuda, float32, c: no such operation\n1 of 3 agree")
}

func TestDevicesBenchmark(t *testing.T) {
	if testing.Short() {
		t.Skip("times the processor")
	}
	t.Setenv("PJRT_PLUGIN_LIBRARY_PATH", t.TempDir())
	small := []string{"devices", "--benchmark", "--device", "cpu", "--flows", "affine", "--predictors", "3", "--nodes", "3", "--batches", "16", "--quiet"}
	require.Regexp(t, `\n  affine +3 predictors +16 .*%`, mustRun(t, small...).stdout)
	var answer devicesAnswer
	require.NoError(t, json.Unmarshal([]byte(mustRun(t, append(small, "--json", "--dtype", "float64")...).stdout), &answer))
	require.Equal(t, "float64", answer.Benchmark[0].DType)
	require.Positive(t, answer.Benchmark[0].Timings[0].Step)
	for flag, value := range map[string]string{"--flows": "cubic", "--predictors": "0", "--nodes": "13", "--batches": "1"} {
		got := vtiCommand(t, "devices", "--benchmark", flag, value)
		require.Equal(t, statusUsage, got.status)
		require.Contains(t, got.stderr, flag)
	}
}
