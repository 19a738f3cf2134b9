package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/gpu"
	runs "github.com/transdim/vti/run"
)

// After a device failure, the message says which files remain and how to resume.
func TestFailedDeviceSaysHowToGoOn(t *testing.T) {
	emptyDir(t, "data.csv", collider(40))
	lost := fmt.Errorf("training step 7: %w", &gpu.Failure{Device: "xla:cuda", Err: errors.New("the card has gone")})
	job := shell.Job{Stored: &runs.Header{Command: "varsel"}}
	require.NotContains(t, job.Stopped(lost, "run", true).Error(), "to continue", "nothing was stored")
	mustRun(t, tiny("varsel", "data.csv", "--target", "c", "--out", "run")...)
	err := job.Stopped(lost, "run", true)
	require.ErrorContains(t, err, "device xla:cuda: the card has gone\nthe checkpoint after step 60 is whole; to continue: vti varsel --resume run")
	require.NotContains(t, job.Stopped(lost, "run", false).Error(), "to continue")
	full := &gpu.Failure{Device: "xla:cuda", OutOfMemory: true}
	require.Equal(t, full.Error(), job.Stopped(full, "run", true).Error(), "it would end the same way")
}
