package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/memory"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/report"
	runs "github.com/transdim/vti/run"
	"github.com/transdim/vti/shard"
)

// job is one run of a command: its record, and where it is kept. Everything that can be wrong with
// the input has been checked before there is one.
type job struct {
	output outputFlags
	// stored is the pointer to the record of the application that becomes run.json, header the part
	// that all records begin with.
	stored any
	header *runs.Header
	// paths are the files that the record names beside its table. They become absolute, so that the
	// run can be resumed from anywhere.
	paths []*string
	// resume is the directory of the run to resume; empty for a new one.
	resume string
	// groups of tempered chains in a certificate; 0 is the default.
	groups int
}

// task is what one command does in its run.
type task struct {
	// name begins the name of the directory of a new run.
	name string
	// files are the patterns of the files that the run writes in addition to those of every run.
	files []string
	// computes reports whether it needs a device; resumable, whether it can be resumed.
	computes, resumable bool
	// check, if not nil, fails where the state of a resumed run cannot be continued; an error that
	// wraps fs.ErrNotExist means that there is none yet, and the run starts again.
	check func(ctx context.Context, s *session) error
	// intro, if not nil, prints what was read and asked.
	intro func()
	// compute finds the answer.
	compute func(ctx context.Context, s *session) (*conclusion, error)
}

// session is what the compute function of a task works with.
type session struct {
	device *gpu.Device // nil unless the task computes on one
	dir    string
	resume bool
	// again asks for a certificate of what the run in the directory has trained, made by shard.
	again bool
	shard *shard.Shard // nil: by this process alone
	shown *progress
}

// status shows what a run is doing.
func (s *session) status(text string) { s.shown.line(text, false) }

// conclusion is what a run ends with.
type conclusion struct {
	// result is what --json prints.
	result judged
	// seconds are its times.
	seconds runs.Seconds
	// print shows it to a reader.
	print func(w io.Writer)
}

// judged is a result with a verdict.
type judged interface{ ExitStatus() int }

// execute runs a task from the device to the answer. Everything that can be wrong with the input
// has been checked before; nothing has been written.
func (a *app) execute(ctx context.Context, j *job, t task) error {
	s := &session{resume: j.resume != "", shown: j.progress(a)}
	if t.computes {
		device, err := j.open(s.resume)
		if err != nil {
			return err
		}
		defer device.Close()
		s.device = device
	}
	release, err := a.begin(ctx, j, t, s)
	if err != nil {
		return err
	}
	defer func() {
		release()
		if a.empty != "" {
			_ = os.Remove(a.empty) // fails, as it should, where the folder holds anything
		}
	}()
	if t.intro != nil && j.output.json {
		t.intro() // what it has to say goes to standard error
	}
	found, err := t.compute(ctx, s)
	s.shown.end()
	tooLarge, unanswerable := new(memory.TooLarge), new(runs.Unanswerable)
	if errors.As(err, &tooLarge) || errors.As(err, &unanswerable) {
		a.undo(s)
		return err
	}
	if err != nil {
		return j.stopped(err, s.dir, t.resumable)
	}
	return a.finish(ctx, j, t, s, found)
}

// open opens the device: that of the record of a resumed run, else the one that the user names.
// Only a device that is named wrongly is the user's mistake.
func (j *job) open(resumed bool) (*gpu.Device, error) {
	kind := j.output.device
	if resumed {
		var err error
		if kind, err = gpu.ParseKind(j.header.Device); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(j.resume, runs.RecordFile), err)
		}
	}
	device, err := gpu.OpenWith(gpu.Options{Kind: kind, Plugin: j.output.plugin})
	if err == nil {
		j.header.Device, j.header.Backend = device.Kind().String(), device.String()
	}
	return device, err
}

// begin locks the directory of the run until release is called. For a new run it makes the
// directory and stores the record; for a resumed one it checks the state.
func (a *app) begin(ctx context.Context, j *job, t task, s *session) (release func(), err error) {
	if s.resume {
		s.dir = j.resume
		a.dir = s.dir
		if release, err = rundir.Lock(s.dir); err != nil {
			return nil, err
		}
		if t.check == nil {
			return release, nil
		}
		if err := t.check(ctx, s); err != nil && !isNotExist(err) {
			release()
			return nil, err
		}
		return release, nil
	}
	now := time.Now()
	files := append([]string{rundir.ResultFile, rundir.TraceFile, rundir.RoundsFile, report.File, report.FiguresDir}, t.files...)
	if s.dir, release, err = rundir.Claim(j.output.out, t.name, now, files); err != nil {
		return nil, err
	}
	a.dir = s.dir
	j.header.Started = now.Round(time.Second)
	if err := j.store(s.dir); err != nil {
		release()
		return nil, failure{err}
	}
	return release, nil
}

// undo removes what a new run has left of itself when its sizes or its table turn out to be
// impossible; with --resume, and where there is more, it removes nothing.
func (a *app) undo(s *session) {
	if s.resume || rundir.Exists(filepath.Join(s.dir, rundir.PosteriorFile)) || rundir.Exists(filepath.Join(s.dir, rundir.ChainsFile)) {
		return
	}
	for _, name := range []string{runs.RecordFile, rundir.TraceFile} {
		_ = os.Remove(filepath.Join(s.dir, name)) // a leftover does no harm
	}
	a.empty = s.dir
}

// store writes the record, with absolute paths.
func (j *job) store(dir string) (err error) {
	for _, path := range append(j.paths, &j.header.Data) {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	return runs.WriteRecord(dir, j.stored)
}

// finish completes the record, makes the page, sets the exit status, and prints the answer.
func (a *app) finish(ctx context.Context, j *job, t task, s *session, found *conclusion) error {
	now := time.Now().Round(time.Second)
	j.header.Finished, j.header.Seconds = &now, &found.seconds
	if err := j.store(s.dir); err != nil {
		return failure{err}
	}
	if !j.output.bare {
		if err := report.Finish(ctx, s.dir); err != nil {
			return failure{fmt.Errorf("the run has ended, but its report could not be written (vti report %s): %w", rundir.Quoted(s.dir), err)}
		}
	}
	if found.result.ExitStatus() != 0 {
		a.status = statusUntrusted
	}
	if j.output.json {
		return a.printJSON(found.result)
	}
	a.printAnswer(s.dir, found.print, t.intro)
	return nil
}

// progress is where the job reports what it is doing.
func (j *job) progress(a *app) *progress {
	if j.output.quiet {
		return &progress{}
	}
	return newProgress(a.stderr)
}

// stopped says how a run continues after Ctrl-C, or after a device or a disk has failed.
func (j *job) stopped(err error, dir string, resumable bool) error {
	resume := fmt.Sprintf("to continue: vti %s --resume %s", j.header.Command, rundir.Quoted(dir))
	if errors.Is(err, context.Canceled) {
		if resumable {
			return fmt.Errorf("%w\n%s", err, resume)
		}
		return fmt.Errorf("%w\nthis run cannot be resumed; %s holds only its record", err, dir)
	}
	var trouble *gpu.Failure
	var disk *fs.PathError // full, say
	if resumable && (errors.As(err, &trouble) && !trouble.OutOfMemory || errors.As(err, &disk)) {
		if info, none := vti.ReadCheckpointInfo(filepath.Join(dir, rundir.PosteriorFile)); none == nil {
			err = fmt.Errorf("%w\nthe checkpoint after step %d is whole; %s", err, info.Step, resume)
		} else if rundir.Exists(filepath.Join(dir, rundir.ChainsFile)) {
			err = fmt.Errorf("%w\nthere is a checkpoint of the chains; %s", err, resume)
		}
	}
	return failure{err}
}
