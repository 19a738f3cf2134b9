package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/lab/devices"
	"github.com/transdim/vti/lab/testkit"
)

func TestDevicesCheck(t *testing.T) {
	testkit.Slow(t)
	t.Setenv("PJRT_PLUGIN_LIBRARY_PATH", t.TempDir())
	got := vtilab(t, "devices", "--check", "--quiet")
	require.Equal(t, shell.StatusOK, got.status, got.stdout)
	require.Contains(t, got.stdout, "target robust")
	require.Regexp(t, `cpu +float32 +50 steps: student, spline, categorical +[0-9e.-]+`, got.stdout)
	require.Contains(t, got.stdout, "68 of 68 agree")
	require.NotContains(t, got.stdout, "DISAGREES")
	got = vtilab(t, "devices", "--check", "--device", "cuda", "--quiet")
	require.Equal(t, shell.StatusUsage, got.status)
	require.Contains(t, got.stderr, "device cuda")
}

func TestCheckTable(t *testing.T) {
	compared := func(subject string, class devices.Class, difference float64) devices.Comparison {
		return devices.Comparison{Subject: subject, DType: dtypes.Float32, Class: class, Difference: difference, Tolerance: 1e-4}
	}
	var lines []checkLine
	for _, c := range []devices.Comparison{
		compared("a", devices.Values, 1e-5), compared("a", devices.Draws, 0), compared("b", devices.Values, 1e-3),
		{Subject: "c", DType: dtypes.Float32, Err: errors.New("no such operation")},
	} {
		lines = addComparison(lines, gpu.CUDA, c)
	}
	require.Len(t, lines, 3)
	var out bytes.Buffer
	printCheck(&out, lines)
	require.Regexp(t, `cuda +float32 +a +1e-05 +0\n`, out.String())
	require.Regexp(t, `cuda +float32 +b +! 0.001\n`, out.String())
	require.Regexp(t, `cuda +float32 +c\n`, out.String())
	require.Contains(t, out.String(), "cuda, float32, c: no such operation\n1 of 3 agree")
}

func TestDevicesBenchmark(t *testing.T) {
	testkit.Long(t)
	t.Setenv("PJRT_PLUGIN_LIBRARY_PATH", t.TempDir())
	small := []string{"devices", "--benchmark", "--device", "cpu", "--flows", "affine", "--predictors", "3", "--nodes", "3", "--batches", "16", "--quiet"}
	require.Regexp(t, `\n  affine +3 predictors +16 .*%`, vtilab(t, small...).stdout)
	var answer tested
	require.NoError(t, json.Unmarshal([]byte(vtilab(t, append(small, "--json", "--dtype", "float64")...).stdout), &answer))
	require.Equal(t, "float64", answer.Benchmark[0].DType)
	require.Positive(t, answer.Benchmark[0].Timings[0].Step)
	for flag, value := range map[string]string{"--flows": "cubic", "--predictors": "0", "--nodes": "13", "--batches": "1"} {
		got := vtilab(t, "devices", "--benchmark", flag, value)
		require.Equal(t, shell.StatusUsage, got.status)
		require.Contains(t, got.stderr, flag)
	}
}
