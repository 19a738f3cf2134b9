package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/transdim/vti"
	"github.com/transdim/vti/hbm"
	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/rundir"
)

// hbmJob is one regression from its record to its answer.
type hbmJob struct {
	job
	record     *regression.Record
	regression *regression.Regression
}

// check reports what is wrong with the settings. Those that were left open are known afterwards.
func (j *hbmJob) check() error {
	family, ok, err := j.record.PlateFamily()
	if err != nil {
		return err
	}
	if !ok {
		return j.record.FitConfig(j.regression).Validate()
	}
	if err := j.regression.CheckFamily(family, j.record.Members); err != nil {
		return fmt.Errorf("--family %s: %w", family, err)
	}
	if j.record.Amortize > 0 {
		j.record.Shape = j.regression.Shape()
	}
	return j.record.FamilyRun(family).Fit.Validate()
}

// newHbmJob reads the table and builds the posterior that the record describes. Nothing is written:
// its errors are of the input.
func (a *app) newHbmJob(record *regression.Record, output outputFlags) (*hbmJob, error) {
	r, err := record.Regression()
	if errors.Is(err, regression.ErrMissingCells) {
		return nil, fmt.Errorf("%w\n--na drop leaves these rows out", err)
	}
	if err != nil {
		return nil, err
	}
	return &hbmJob{job{app: a, output: output, header: &record.Header, write: record.Write}, record, r}, nil
}

// resumedRegression reads a run directory and checks that it can go on; nothing is written.
func (a *app) resumedRegression(cmd *cobra.Command, args []string, f *hbmFlags) (*hbmJob, error) {
	if err := onlyResume(cmd, args, f.resume); err != nil {
		return nil, err
	}
	record, err := regression.ReadRecord(f.resume)
	if err != nil {
		return nil, err
	}
	kind, err := resumedKind(&record.Header, "hbm", f.resume)
	if err != nil {
		return nil, err
	}
	j, err := a.newHbmJob(record, f.output)
	if err != nil {
		return nil, err
	}
	j.dir = f.resume
	if err := j.open(kind); err != nil {
		return nil, err
	}
	// A run killed before its first checkpoint starts again; any other checkpoint must be readable
	// and of this run.
	if err := j.checkCheckpoint(cmd.Context()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		j.device.Close()
		return nil, err
	}
	return j, nil
}

// checkCheckpoint reports what keeps training from going on from the checkpoint.
func (j *hbmJob) checkCheckpoint(ctx context.Context) error {
	family, ok, err := j.record.PlateFamily()
	if err != nil {
		return err
	}
	if ok {
		run := j.record.FamilyRun(family)
		run.Dir = j.dir
		return j.regression.CheckFamilyCheckpoint(ctx, j.device, run)
	}
	config := j.record.FitConfig(j.regression)
	config.Checkpoint = filepath.Join(j.dir, rundir.PosteriorFile)
	return j.regression.CheckCheckpoint(ctx, j.device, config)
}

// train runs the regression and prints the answer.
func (j *hbmJob) train(ctx context.Context, resume bool, stepsPerLaunch int) error {
	j.printProblem()
	shown := j.progress()
	family, ok, err := j.record.PlateFamily()
	if err != nil {
		return err
	}
	var result *regression.Result
	if ok {
		run := j.record.FamilyRun(family)
		run.Dir, run.Fit.Resume, run.Fit.LogEvery = j.dir, resume, reportEvery(run.Fit.Steps)
		run.Fit.Progress = func(info hbm.Info) {
			shown.line(trainingPace(fmt.Sprintf("step %d/%d  ELBO %.3f", info.Step, info.Steps, info.ELBO), info.Step, info.Steps, info.NonFinite, info.StepsPerSecond), info.Step == info.Steps)
		}
		result, err = j.regression.RunFamily(ctx, j.device, run)
	} else {
		config := j.record.FitConfig(j.regression)
		config.Resume, config.StepsPerLaunch, config.LogEvery = resume, stepsPerLaunch, reportEvery(config.Steps)
		config.Progress = func(info vti.Info) {
			shown.line(trainingLine(info, !j.regression.Options.Select), info.Step == info.Steps)
		}
		certify := vti.CertifyConfig{Draws: j.record.CertifyDraws, Progress: func(done, total int) {
			shown.line(fmt.Sprintf("certifying  %d of at most %d draws", done, total), false)
		}}
		result, err = j.regression.Run(ctx, j.device, regression.Run{Fit: config, Certify: certify, Dir: j.dir})
	}
	shown.end()
	if err != nil {
		return j.stopped(err, true)
	}
	return j.finish(result)
}

// finish completes the record, prints the answer and sets the exit status.
func (j *hbmJob) finish(result *regression.Result) error {
	j.record.Seconds = &result.Seconds
	return j.job.finish(result, func() { printHbm(j.stdout, result) })
}

// printProblem says what was read, and the priors in words. With --json only warnings are printed,
// to standard error.
func (j *hbmJob) printProblem() {
	frame := j.regression.Frame
	if j.output.json {
		for _, line := range frame.Warnings {
			fmt.Fprintf(j.stderr, "vti: %s\n", line)
		}
		return
	}
	fmt.Fprintf(j.stdout, "%s: %d rows\n  %s\n", frame.Path, frame.Rows(), frame.Formula)
	for _, g := range frame.Groupings {
		fmt.Fprintf(j.stdout, "  %d groups of %s\n", len(g.Levels), g.Name)
	}
	if frame.DroppedRows > 0 {
		fmt.Fprintf(j.stdout, "  %d rows with missing values dropped\n", frame.DroppedRows)
	}
	if frame.Labels != nil {
		fmt.Fprintf(j.stdout, "  response: %s is 0, %s is 1\n", frame.Labels[0], frame.Labels[1])
	}
	for _, line := range j.regression.Priors() {
		fmt.Fprintln(j.stdout, "  "+line)
	}
	for _, line := range frame.Warnings {
		fmt.Fprintln(j.stdout, "  note: "+line)
	}
	fmt.Fprintln(j.stdout)
}
