package run

import (
	"errors"
	"io/fs"
	"math"
	"path/filepath"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/checkpoint"
	"github.com/transdim/vti/internal/rundir"
)

// Training holds the files of the training of a run: a checkpoint for resuming, and a trace of
// reports.
type Training struct {
	// Checkpoint is the name of the checkpoint file; "" for a run without a directory.
	Checkpoint string
	// Resume reports whether Checkpoint holds a state to continue from.
	Resume bool

	rows   *trace
	failed error // the errors of rows of the trace that could not be written
}

// StartTraining opens the trace in the directory of a run, which must exist, and removes partial
// files of a killed process. With resume the trace continues from the step of the checkpoint, if
// there is one. A run without a directory ("") keeps neither checkpoint nor trace.
func StartTraining(dir string, resume bool) (*Training, error) {
	if dir == "" {
		return &Training{rows: &trace{loss: math.NaN()}}, nil
	}
	t := &Training{Checkpoint: filepath.Join(dir, rundir.PosteriorFile)}
	step := 0
	if resume {
		info, err := checkpoint.ReadInfo(t.Checkpoint)
		switch {
		case err == nil:
			t.Resume, step = true, info.Step
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	if err := atomicfile.Sweep(dir); err != nil {
		return nil, err
	}
	var err error
	t.rows, err = openTrace(filepath.Join(dir, rundir.TraceFile), step)
	return t, err
}

// Loss returns the loss in the last row of the trace; NaN if there are no rows.
func (t *Training) Loss() float64 { return t.rows.loss }

// Configure returns fit with the checkpoint of the run, and with reports that go to the trace and
// then to fit.Progress. It subtracts logJacobian from the loss of each report: the log density of
// the response in original units less its log density on the scale of the fit. The trace is
// therefore in original units.
func (t *Training) Configure(fit vti.Config, logJacobian float64) vti.Config {
	fit.Checkpoint, fit.Resume, fit.Progress = t.Checkpoint, t.Resume, t.Reports(fit.Progress, logJacobian)
	return fit
}

// Reports returns a function that writes a report of training to the trace and then calls shown,
// unless shown is nil. It converts the loss as Configure does.
func (t *Training) Reports(shown func(vti.Info), logJacobian float64) func(vti.Info) {
	return func(info vti.Info) {
		info.Loss -= logJacobian
		t.failed = errors.Join(t.failed, t.rows.add(info))
		if shown != nil {
			shown(info)
		}
	}
}

// End closes the trace. It returns err, which is the error of training or nil, joined with the
// errors of writing the trace.
func (t *Training) End(err error) error { return errors.Join(err, t.failed, t.rows.close()) }
