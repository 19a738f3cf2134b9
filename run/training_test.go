package run

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/rjmcmc"
)

func TestTrainingReportsToTraceAndCaller(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, ".posterior.vti.123.vti-part")
	require.NoError(t, os.WriteFile(left, nil, 0o644))
	training, err := StartTraining(dir, true)
	require.NoError(t, err)
	require.False(t, training.Resume, "stopped before its first checkpoint: it starts again")
	require.NoFileExists(t, left)
	var heard []float64
	fit := training.Configure(vti.Config{Resume: true, Steps: 7, Progress: func(info vti.Info) { heard = append(heard, info.Loss) }}, 2.5)
	require.False(t, fit.Resume)
	require.Equal(t, 7, fit.Steps)
	require.Equal(t, filepath.Join(dir, rundir.PosteriorFile), fit.Checkpoint)
	fit.Progress(vti.Info{Step: 1, Loss: 10})
	fit.Progress(vti.Info{Step: 2, Loss: 9})
	require.Equal(t, []float64{7.5, 6.5}, heard)
	require.InDelta(t, 6.5, training.Loss(), 0)
	require.NoError(t, training.End(nil))
	content, err := os.ReadFile(filepath.Join(dir, rundir.TraceFile))
	require.NoError(t, err)
	require.Equal(t, traceHeader+"1,7.5,0,0,0,0,0\n2,6.5,0,0,0,0,0\n", string(content))
}

// End returns both errors: the error of training and the error of the trace.
func TestTrainingEndsWithErrors(t *testing.T) {
	training, err := StartTraining(t.TempDir(), false)
	require.NoError(t, err)
	require.NoError(t, training.rows.close())
	training.Configure(vti.Config{}, 0).Progress(vti.Info{Step: 1})
	failure := errors.New("own")
	err = training.End(failure)
	require.ErrorIs(t, err, failure)
	require.ErrorIs(t, err, os.ErrClosed)
}

func TestTrainingRefusesADamagedCheckpoint(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, rundir.PosteriorFile), []byte("GIF89a"), 0o644))
	_, err := StartTraining(dir, true)
	require.ErrorContains(t, err, "not a vti checkpoint")
	_, err = StartTraining(filepath.Join(dir, "absent"), false)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A run without a directory trains and calls Progress, and writes no files.
func TestTrainingWithoutDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	training, err := StartTraining("", true)
	require.NoError(t, err)
	require.True(t, math.IsNaN(training.Loss()))
	reports := 0
	fit := training.Configure(vti.Config{Progress: func(vti.Info) { reports++ }}, 1)
	require.Empty(t, fit.Checkpoint)
	require.False(t, fit.Resume)
	fit.Progress(vti.Info{Step: 1, Loss: 3})
	require.Equal(t, 1, reports)
	require.InDelta(t, 2, training.Loss(), 0)
	require.NoError(t, training.End(nil))
	chains, err := StartChains("", rjmcmc.Config{Resume: true})
	require.NoError(t, err)
	require.Empty(t, chains.Checkpoint)
	require.False(t, chains.Resume)
	left, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Empty(t, left)
}
