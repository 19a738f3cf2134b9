package shell

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/console"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/checkpoint"
	"github.com/transdim/vti/internal/memory"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/report"
	runs "github.com/transdim/vti/run"
	"github.com/transdim/vti/shard"
)

// Job is one run of a command: its record, and where it is kept. Everything that can be wrong with
// the input has been checked before there is one.
type Job struct {
	Output cli.Output
	// Stored is the record of the application, which becomes run.json.
	Stored cli.Record
	// Paths are the files that the record names beside its table. They become absolute, so that the
	// run can be resumed from anywhere.
	Paths []*string
	// Resume is the directory of the run to resume; empty for a new one.
	Resume string
	// Groups of tempered chains in a certificate; 0 is the default.
	Groups int
}

// Header is the beginning of the record of the run.
func (j *Job) Header() *runs.Header { return j.Stored.Head() }

// Task is the work of one command in its run.
type Task struct {
	// Name begins the name of the directory of a new run.
	Name string
	// Files are the patterns of the files that the run writes in addition to the files of every
	// run.
	Files []string
	// Computes reports whether it needs a device; resumable, whether it can be resumed.
	Computes, Resumable bool
	// Check, if not nil, fails where the state of a resumed run cannot be continued; an error that
	// wraps fs.ErrNotExist means that there is none yet, and the run starts again.
	Check func(ctx context.Context, s *Session) error
	// Intro, if not nil, prints the summary of the input.
	Intro func()
	// Compute finds the answer.
	Compute func(ctx context.Context, s *Session) (Judged, error)
}

// Session is the surroundings of the compute function of a task.
type Session struct {
	Device *gpu.Device // nil unless the task computes on one
	Dir    string
	Resume bool
	// Again asks for a certificate of the trained run in the directory, made by shard.
	Again bool
	Shard *shard.Shard // nil: by this process alone
	Shown *console.Progress
}

// Status shows the present step of a run.
func (s *Session) Status(text string) { s.Shown.Line(text, false) }

// Said shows a finished step of a run, and keeps it.
func (s *Session) Said(text string) { s.Shown.Line(text, true) }

// Counting shows how many of a number of things are done.
func (s *Session) Counting(thing string) func(done, total int) {
	pace := console.NewPace()
	return func(done, total int) {
		s.Shown.Line(fmt.Sprintf("%s %d/%d  %s", thing, done, total, pace.Text(done, total)), done == total)
	}
}

// Training is the configuration of training in the session, which shows how far it is. With
// evidence the loss is shown as a bound of the log evidence.
func (s *Session) Training(config vti.Config, stepsPerLaunch int, evidence bool) vti.Config {
	config.Resume, config.StepsPerLaunch, config.LogEvery = s.Resume, stepsPerLaunch, console.ReportEvery(config.Steps)
	config.Progress = func(info vti.Info) {
		s.Shown.Line(console.TrainingLine(info, evidence), info.Step == info.Steps)
	}
	return config
}

// Certifying is the configuration of a certificate in the session, which shows how far it is.
func (s *Session) Certifying(j *Job, draws int) vti.CertifyConfig {
	return vti.CertifyConfig{Draws: draws, Shard: s.Shard, ChainGroups: j.Groups, Progress: func(done, total int) {
		s.Shown.Line(fmt.Sprintf("certifying  %d of at most %d draws", done, total), false)
	}}
}

// Judged is a result with a verdict, as --json prints it.
type Judged interface {
	ExitStatus() int
	Took() runs.Seconds
}

// Execute runs a task from the device to the answer. Nothing has been written before.
func (a *App) Execute(ctx context.Context, j *Job, t Task) error {
	s := &Session{Resume: j.Resume != "", Shown: j.Progress(a)}
	if t.Computes {
		device, err := j.Open(s.Resume)
		if err != nil {
			return err
		}
		defer device.Close()
		s.Device = device
	}
	release, err := a.openDirectory(ctx, j, t, s)
	if err != nil {
		return err
	}
	defer func() {
		release()
		if a.empty != "" {
			_ = os.Remove(a.empty) // fails, as it should, where the folder holds anything
		}
	}()
	if t.Intro != nil && j.Output.Json {
		t.Intro() // its output goes to standard error
	}
	found, err := t.Compute(ctx, s)
	s.Shown.End()
	tooLarge, unanswerable := new(memory.TooLarge), new(runs.Unanswerable)
	if errors.As(err, &tooLarge) || errors.As(err, &unanswerable) {
		a.undo(s)
		return err
	}
	if err != nil {
		return j.Stopped(err, s.Dir, t.Resumable)
	}
	return a.finish(ctx, j, t, s, found)
}

// Open opens the device: the device in the record of a resumed run, else the one that the user
// names. Only a device that is named wrongly is the user's mistake.
func (j *Job) Open(resumed bool) (*gpu.Device, error) {
	kind := j.Output.Device
	if resumed {
		var err error
		if kind, err = gpu.ParseKind(j.Header().Device); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(j.Resume, rundir.RecordFile), err)
		}
	}
	device, err := gpu.OpenWith(gpu.Options{Kind: kind, Plugin: j.Output.Plugin})
	if err == nil {
		header := j.Header()
		header.Device, header.Backend = device.Kind().String(), device.String()
	}
	return device, err
}

// openDirectory locks the directory of the run until release is called. For a new run it makes the
// directory and stores the record; for a resumed one it checks the state.
func (a *App) openDirectory(ctx context.Context, j *Job, t Task, s *Session) (release func(), err error) {
	if s.Resume {
		s.Dir = j.Resume
		a.Dir = s.Dir
		if release, err = rundir.Lock(s.Dir); err != nil {
			return nil, err
		}
		if t.Check == nil {
			return release, nil
		}
		if err := t.Check(ctx, s); err != nil && !errors.Is(err, fs.ErrNotExist) {
			release()
			return nil, err
		}
		return release, nil
	}
	now := time.Now()
	files := append([]string{rundir.ResultFile, rundir.TraceFile, rundir.RoundsFile, report.File, report.FiguresDir}, t.Files...)
	if s.Dir, release, err = rundir.Claim(j.Output.Out, t.Name, now, files); err != nil {
		return nil, err
	}
	a.Dir = s.Dir
	j.Header().Started = now.Round(time.Second)
	if err := j.store(s.Dir); err != nil {
		release()
		return nil, Failed(err)
	}
	return release, nil
}

// undo removes the files of a new run when its sizes or its table turn out to be impossible; with
// --resume, and where there is more, it removes nothing.
func (a *App) undo(s *Session) {
	if s.Resume || rundir.Continues(s.Dir) {
		return
	}
	for _, name := range []string{rundir.RecordFile, rundir.TraceFile} {
		_ = os.Remove(filepath.Join(s.Dir, name)) // a leftover does no harm
	}
	a.empty = s.Dir
}

// store writes the record, with absolute paths.
func (j *Job) store(dir string) (err error) {
	for _, path := range append(j.Paths, &j.Header().Data) {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	return runs.WriteRecord(dir, j.Stored)
}

// finish completes the record, makes the page, sets the exit status, and prints the answer.
func (a *App) finish(ctx context.Context, j *Job, t Task, s *Session, found Judged) error {
	now := time.Now().Round(time.Second)
	header, seconds := j.Header(), found.Took()
	header.Finished, header.Seconds = &now, &seconds
	if err := j.store(s.Dir); err != nil {
		return Failed(err)
	}
	page := a.Pages(header.Command)
	if !j.Output.Bare {
		if err := page.Finish(ctx, s.Dir); err != nil {
			return Failed(fmt.Errorf("the run has ended, but its report could not be written (vti report %s): %w", rundir.Quoted(s.Dir), err))
		}
	}
	if found.ExitStatus() != 0 {
		a.Status = StatusUntrusted
	}
	if j.Output.Json {
		return a.PrintJSON(found)
	}
	if err := a.PrintAnswer(s.Dir, page, t.Intro); err != nil {
		return Failed(err)
	}
	return nil
}

// Progress receives the progress of the job.
func (j *Job) Progress(a *App) *console.Progress {
	return console.NewProgress(a.Stderr, j.Output.Quiet)
}

// Stopped explains how a run continues after Ctrl-C, or after a device or a disk has failed.
func (j *Job) Stopped(err error, dir string, resumable bool) error {
	resume := fmt.Sprintf("to continue: vti %s --resume %s", j.Header().Command, rundir.Quoted(dir))
	if errors.Is(err, context.Canceled) {
		if resumable {
			return fmt.Errorf("%w\n%s", err, resume)
		}
		return fmt.Errorf("%w\nthis run cannot be resumed; %s holds only its record", err, dir)
	}
	var trouble *gpu.Failure
	var disk *fs.PathError // full, say
	if resumable && (errors.As(err, &trouble) && !trouble.OutOfMemory || errors.As(err, &disk)) {
		if info, none := checkpoint.ReadInfo(filepath.Join(dir, rundir.PosteriorFile)); none == nil {
			err = fmt.Errorf("%w\nthe checkpoint after step %d is whole; %s", err, info.Step, resume)
		} else if rundir.Continues(dir) {
			err = fmt.Errorf("%w\nfinished parts of the run are kept; %s", err, resume)
		}
	}
	return Failed(err)
}
