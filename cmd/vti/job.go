package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/internal/table"
	"github.com/transdim/vti/varsel"
)

// job is one run from its record to its answer.
type job struct {
	*app
	output  outputFlags
	record  *varsel.Record
	problem *varsel.Problem
	device  *gpu.Device
	dir     string
}

// newJob reads the table and builds the problem that the record describes. Nothing is written: its errors are of the input.
func (a *app) newJob(record *varsel.Record, given givenPrior, output outputFlags) (*job, error) {
	data, err := table.ReadFile(record.Data)
	if err != nil {
		return nil, err
	}
	design, err := varsel.NewDesign(data, record.Design)
	switch {
	case errors.Is(err, varsel.ErrMissingValues):
		return nil, fmt.Errorf("%w\n--na drop leaves these rows out", err)
	case errors.Is(err, varsel.ErrDegenerate):
		return nil, fmt.Errorf("%w\n--drop-degenerate leaves them out", err)
	case err != nil:
		return nil, err
	}
	record.Model = record.Model.ForMany(len(design.Predictors), given.models, given.size)
	problem, err := varsel.NewProblem(design, record.Model)
	if err != nil {
		return nil, err
	}
	record.Fingerprint = data.Fingerprint
	record.Model = problem.Model // with its defaults: what they are may change
	return &job{app: a, output: output, record: record, problem: problem}, nil
}

// newRecord describes a run of a command on a table. The paths in it are absolute, so that the run can be resumed from anywhere.
func newRecord(command, path string, data *dataFlags) *varsel.Record {
	return &varsel.Record{Command: command, Version: vti.Version, Data: path, Design: data.design, Model: data.model}
}

// open opens the device. Only a device that the user names wrongly is the user's mistake.
func (j *job) open(kind gpu.Kind) error {
	var err error
	if j.device, err = gpu.OpenWith(gpu.Options{Kind: kind, Plugin: j.output.plugin}); err != nil {
		return err
	}
	j.record.Device, j.record.Backend = j.device.Kind().String(), j.device.String()
	return nil
}

// start makes the run directory and writes the record to it. Everything that can be wrong with the input has been checked by now.
func (j *job) start(name string) error {
	now := time.Now()
	var err error
	if j.dir, err = varsel.RunDir(j.output.out, name, now); err != nil {
		return err
	}
	if j.record.Data, err = filepath.Abs(j.record.Data); err != nil {
		return failure{err}
	}
	j.record.Started = now.Round(time.Second)
	if err := j.record.Write(j.dir); err != nil {
		return failure{err}
	}
	return nil
}

// finish completes the record, prints the answer and sets the exit status.
func (j *job) finish(result *varsel.Result) error {
	now := time.Now().Round(time.Second)
	j.record.Finished, j.record.Seconds = &now, &result.Seconds
	if err := j.record.Write(j.dir); err != nil {
		return failure{err}
	}
	if result.ExitStatus() != 0 {
		j.status = statusUntrusted
	}
	if j.output.json {
		return j.printJSON(result)
	}
	printResult(j.stdout, j.problem, result)
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

// stopped puts an error of a run into words.
func (j *job) stopped(err error, resumable bool) error {
	return stoppedRun(err, "varsel", j.dir, resumable)
}

// stoppedRun says how a run of a command goes on after Ctrl-C, or after a device has failed.
func stoppedRun(err error, command, dir string, resumable bool) error {
	resume := fmt.Sprintf("to continue: vti %s --resume %s", command, quoted(dir))
	if errors.Is(err, context.Canceled) {
		if resumable {
			return fmt.Errorf("%w\n%s", err, resume)
		}
		return fmt.Errorf("%w\nthis command cannot be resumed; %s holds only its record", err, dir)
	}
	var trouble *gpu.Failure
	if resumable && errors.As(err, &trouble) && !trouble.OutOfMemory {
		if info, none := vti.ReadCheckpointInfo(filepath.Join(dir, rundir.PosteriorFile)); none == nil {
			err = fmt.Errorf("%w\nthe checkpoint after step %d is whole; %s", err, info.Step, resume)
		}
	}
	return failure{err}
}
