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

// Job is one run of a command: its record, and the directory where it is stored. A Job is created
// only after the whole input has been checked.
type Job struct {
	Output cli.Output
	// Stored is the record of the run, which is written to run.json.
	Stored cli.Record
	// Paths points to the paths in the record, except the path of the table. They are made
	// absolute, so that the run can be resumed from any directory.
	Paths []*string
	// Resume is the directory of the run to resume; "" for a new run.
	Resume string
	// Groups is the number of groups of tempered chains in a certificate; 0 stands for the default.
	Groups int
}

// Header returns the header of the record of the run.
func (j *Job) Header() *runs.Header { return j.Stored.Head() }

// Task is the work of a command in a run, from the checked input to the answer.
type Task struct {
	// Name is the beginning of the name of the directory of a new run.
	Name string
	// Files are the patterns of the names of files that the run writes, in addition to the files
	// that every run writes.
	Files []string
	// Computes reports whether the task needs a device, and Resumable whether a run of it can be
	// resumed.
	Computes, Resumable bool
	// Check, if not nil, returns an error if a resumed run cannot continue from its stored state.
	// An error that wraps fs.ErrNotExist means that no state is stored; the run then starts from
	// the beginning.
	Check func(ctx context.Context, s *Session) error
	// Intro, if not nil, prints a summary of the input.
	Intro func()
	// Compute finds the answer.
	Compute func(ctx context.Context, s *Session) (Judged, error)
}

// Session holds the device, the directory and the settings for the function Compute of a task.
type Session struct {
	Device *gpu.Device // nil unless the task computes on one
	Dir    string
	Resume bool
	// Again requests a new certificate of the trained run in the directory, without training. Shard
	// is the part of the work that this process does.
	Again bool
	Shard *shard.Shard // nil if this process works alone
	Shown *console.Progress
}

// Status shows a line on the present step of a run.
func (s *Session) Status(text string) { s.Shown.Line(text, false) }

// Said shows a line on a finished step of a run. The line remains visible.
func (s *Session) Said(text string) { s.Shown.Line(text, true) }

// Counting returns a function that shows the number of things done, and their total number.
func (s *Session) Counting(thing string) func(done, total int) {
	pace := console.NewPace()
	return func(done, total int) {
		s.Shown.Line(fmt.Sprintf("%s %d/%d  %s", thing, done, total, pace.Text(done, total)), done == total)
	}
}

// Training returns config with the settings of the session, and with a display of the progress. If
// evidence is true the loss is shown as a bound of the log evidence.
func (s *Session) Training(config vti.Config, stepsPerLaunch int, evidence bool) vti.Config {
	config.Resume, config.StepsPerLaunch, config.LogEvery = s.Resume, stepsPerLaunch, console.ReportEvery(config.Steps)
	config.Progress = func(info vti.Info) {
		s.Shown.Line(console.TrainingLine(info, evidence), info.Step == info.Steps)
	}
	return config
}

// Certifying returns the configuration of a certificate, with a display of the progress.
func (s *Session) Certifying(j *Job, draws int) vti.CertifyConfig {
	return vti.CertifyConfig{Draws: draws, Shard: s.Shard, ChainGroups: j.Groups, Progress: func(done, total int) {
		s.Shown.Line(fmt.Sprintf("certifying  %d of at most %d draws", done, total), false)
	}}
}

// Judged is a result with a verdict. The flag --json prints it.
type Judged interface {
	ExitStatus() int
	Took() runs.Seconds
}

// Execute runs a task: it opens the device, makes the run directory, computes, and prints the
// answer. No files are written before it is called.
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
			_ = os.Remove(a.empty) // fails if the folder is not empty
		}
	}()
	if t.Intro != nil && j.Output.Json {
		t.Intro() // the summary goes to standard error
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

// Open opens the device in the record of a resumed run, or the device that the user has named. Only
// an error in the name of the device counts as a mistake of the user.
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
// directory and stores the record; for a resumed run it checks the state.
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

// undo removes the files of a new run whose sizes or table turn out to be impossible. It does not
// remove files of a resumed run, or of a run that could be resumed.
func (a *App) undo(s *Session) {
	if s.Resume || rundir.Continues(s.Dir) {
		return
	}
	for _, name := range []string{rundir.RecordFile, rundir.TraceFile} {
		_ = os.Remove(filepath.Join(s.Dir, name)) // an error leaves a file, which does no harm
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

// finish completes the record with the time and the result, writes the page, sets the exit status,
// and prints the answer.
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
	return Failed(a.PrintAnswer(s.Dir, page, t.Intro))
}

// Progress returns the display of the progress of the job.
func (j *Job) Progress(a *App) *console.Progress {
	return console.NewProgress(a.Stderr, j.Output.Quiet)
}

// Stopped adds to err how the run can be continued, after Ctrl-C or a failure of a device or disk.
func (j *Job) Stopped(err error, dir string, resumable bool) error {
	resume := fmt.Sprintf("to continue: vti %s --resume %s", j.Header().Command, rundir.Quoted(dir))
	if errors.Is(err, context.Canceled) {
		if resumable {
			return fmt.Errorf("%w\n%s", err, resume)
		}
		return fmt.Errorf("%w\nthis run cannot be resumed; %s holds only its record", err, dir)
	}
	var trouble *gpu.Failure
	var disk *fs.PathError // for example, the disk is full
	if resumable && (errors.As(err, &trouble) && !trouble.OutOfMemory || errors.As(err, &disk)) {
		if info, none := checkpoint.ReadInfo(filepath.Join(dir, rundir.PosteriorFile)); none == nil {
			err = fmt.Errorf("%w\nthe checkpoint after step %d is whole; %s", err, info.Step, resume)
		} else if rundir.Continues(dir) {
			err = fmt.Errorf("%w\nfinished parts of the run are kept; %s", err, resume)
		}
	}
	return Failed(err)
}
