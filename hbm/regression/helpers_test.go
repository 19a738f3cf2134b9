package regression

import (
	"context"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/transdim/vti/hbm/frame"

	"github.com/stretchr/testify/require"
	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/table"
)

func frameOf(t *testing.T, content string, opt frame.Options) *frame.Frame {
	t.Helper()
	f, err := frame.New(tableOf(t, content), opt)
	require.NoError(t, err)
	return f
}

func tableOf(t *testing.T, content string) *table.Table {
	t.Helper()
	parsed, err := table.Parse("data.csv", []byte(content))
	require.NoError(t, err)
	return parsed
}

func frameOfFile(t testing.TB, name string, opt frame.Options) *frame.Frame {
	t.Helper()
	parsed, err := table.ReadFile(filepath.Join("..", "..", "testdata", name))
	require.NoError(t, err)
	f, err := frame.New(parsed, opt)
	require.NoError(t, err)
	return f
}

// open opens a device until the end of a test.
func open(t testing.TB, kind gpu.Kind) *gpu.Device {
	t.Helper()
	device, err := gpu.Open(kind)
	require.NoError(t, err)
	t.Cleanup(device.Close)
	return device
}

func newRegression(t testing.TB, f *frame.Frame, opt Options) *Regression {
	t.Helper()
	r, err := New(f, opt)
	require.NoError(t, err)
	return r
}

// runRegression runs a regression with settings that train quickly.
func runRegression(t testing.TB, f *frame.Frame, opt Options, fit vti.Config) (*Result, string) {
	t.Helper()
	device, err := gpu.Open(gpu.Auto)
	require.NoError(t, err)
	t.Cleanup(device.Close)
	r := newRegression(t, f, opt)
	fit.Flow.Kind = r.DefaultFlow()
	dir := t.TempDir()
	result, err := r.Run(context.Background(), device, Run{Fit: fit, Certify: vti.CertifyConfig{Draws: 1 << 15}, Dir: dir})
	require.NoError(t, err)
	return result, dir
}

// processorSeconds returns the processor time of this process, over all cores, in seconds.
func processorSeconds(t testing.TB) float64 {
	var usage syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

// codes lists the codes of all models.
func (r *Regression) codes() (codes [][]int32) {
	for _, code := range space.All(r.space.cards) {
		codes = append(codes, slices.Clone(code))
	}
	return codes
}
