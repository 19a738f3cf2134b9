package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/rjmcmc"
)

// job is one run from its record to its answer: what the commands have in common.
type job struct {
	*app
	output outputFlags
	header *rundir.Header         // of the record
	write  func(dir string) error // of the record
	device *gpu.Device
	dir    string
}

// judged is the result of a run.
type judged interface{ ExitStatus() int }

// open opens the device. Only a device that the user names wrongly is the user's mistake.
func (j *job) open(kind gpu.Kind) error {
	var err error
	if j.device, err = gpu.OpenWith(gpu.Options{Kind: kind, Plugin: j.output.plugin}); err != nil {
		return err
	}
	j.header.Device, j.header.Backend = j.device.Kind().String(), j.device.String()
	return nil
}

// start makes the run directory and writes the record to it, with all paths absolute, so that the
// run can be resumed from anywhere. Everything that can be wrong with the input has been checked by
// now.
func (j *job) start(name string, paths ...*string) error {
	now := time.Now()
	var err error
	if j.dir, err = rundir.Make(j.output.out, name, now); err != nil {
		return err
	}
	for _, path := range append(paths, &j.header.Data) {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return failure{err}
		}
	}
	j.header.Started = now.Round(time.Second)
	if err := j.write(j.dir); err != nil {
		return failure{err}
	}
	return nil
}

// finish completes the record, sets the exit status, and prints the answer.
func (j *job) finish(result judged, print func()) error {
	now := time.Now().Round(time.Second)
	j.header.Finished = &now
	if err := j.write(j.dir); err != nil {
		return failure{err}
	}
	if result.ExitStatus() != 0 {
		j.status = statusUntrusted
	}
	if j.output.json {
		return j.printJSON(result)
	}
	print()
	return nil
}

func (a *app) printJSON(value any) error { return printJSON(a.stdout, value) }

func printJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return failure{err}
	}
	return nil
}

// progress is where the job reports what it is doing.
func (j *job) progress() *progress {
	if j.output.quiet {
		return &progress{}
	}
	return newProgress(j.stderr)
}

// chainProgress reports on chains, whose density is that of the working scale: logJacobian takes it
// to that of the table.
func chainProgress(shown *progress, logJacobian float64) func(rjmcmc.Progress) {
	pace := newPace()
	return func(p rjmcmc.Progress) {
		phase := "sampling"
		if p.BurnIn {
			phase = "burn-in"
		}
		shown.line(fmt.Sprintf("%s  iteration %d/%d  mean log density %.2f  %s", phase, p.Iteration, p.Total,
			p.LogDensity+logJacobian, pace.text(p.Iteration, p.Total)), p.Iteration == p.Total)
	}
}

// stopped says how a run goes on after Ctrl-C, or after a device has failed.
func (j *job) stopped(err error, resumable bool) error {
	resume := fmt.Sprintf("to continue: vti %s --resume %s", j.header.Command, quoted(j.dir))
	if errors.Is(err, context.Canceled) {
		if resumable {
			return fmt.Errorf("%w\n%s", err, resume)
		}
		return fmt.Errorf("%w\nthis command cannot be resumed; %s holds only its record", err, j.dir)
	}
	var trouble *gpu.Failure
	if resumable && errors.As(err, &trouble) && !trouble.OutOfMemory {
		if info, none := vti.ReadCheckpointInfo(filepath.Join(j.dir, rundir.PosteriorFile)); none == nil {
			err = fmt.Errorf("%w\nthe checkpoint after step %d is whole; %s", err, info.Step, resume)
		}
	}
	return failure{err}
}

// onlyResume fails if a command line has more than --resume dir and flags that say nothing of what
// is computed.
func onlyResume(cmd *cobra.Command, args []string, dir string) error {
	other := append([]string(nil), args...)
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		switch flag.Name {
		case "resume", "json", "quiet", "pjrt-plugin", "steps-per-launch":
		default:
			other = append(other, "--"+flag.Name)
		}
	})
	if len(other) > 0 {
		return fmt.Errorf("--resume takes everything from %s: leave out %s", filepath.Join(dir, rundir.RecordFile), strings.Join(other, ", "))
	}
	return nil
}

// resumedKind is the device of the run in dir, whose header has been read, on which command goes
// on.
func resumedKind(header *rundir.Header, command, dir string) (gpu.Kind, error) {
	if header.Command != command {
		return 0, fmt.Errorf("%s is a run of vti %s, which cannot be resumed by vti %s", dir, header.Command, command)
	}
	kind, err := gpu.ParseKind(header.Device)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", filepath.Join(dir, rundir.RecordFile), err)
	}
	return kind, nil
}
