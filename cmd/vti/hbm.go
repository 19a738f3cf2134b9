package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm"
	"github.com/transdim/vti/internal/rundir"
)

func (a *app) hbmCommand() *cobra.Command {
	f := &hbmFlags{}
	cmd := &cobra.Command{
		Use:   "hbm TABLE --formula FORMULA",
		Short: "Fit a hierarchical regression: effects of the population, and how they vary by group",
		Long: `Fits a regression with effects that vary by group to a table (CSV or Parquet, with a header row).

The formula is as in lme4 and brms. y ~ a + b has an intercept and two population effects; a:b is an
interaction and a*b stands for a + b + a:b; 0 leaves the intercept out. (1 + a | g) lets intercept and
effect of a vary by the column g, correlated; || makes them independent; (1 | g) + (1 | h) is crossed, (1 | g/h)
nested. Columns of text are factors; log, log1p, exp, sqrt, factor and offset may stand around a column.

Effects of the grouping that has most are integrated out, in closed form or by quadrature; one flow
learns everything else (--family marginal). The other families learn the effects of all groupings, each
a plate of a hierarchical model: pavi-f with flows that all groups share and numbers of each group,
pavi-e and adavi (nested groupings only) with networks that read a group's rows, and normal
distributions: joint, branch, amortized-branch, meanfield. Importance weights correct and judge
the answer:

  trusted    the numbers hold to within their standard errors
  doubtful   they may hold, but the weights do not prove it
  failed     do not use them (exit status 3)

With --select every term of the formula becomes a question, whether it is absent, shared by all
groups (pooled) or varies by group, and every answer gets a probability.

Everything is kept in a run directory: the settings (run.json), the answer (result.json and CSV
tables), posterior draws (draws.parquet, draws.csv), plots of the effects by group (caterpillar-*.svg
and .png), and the state of training (posterior.vti), from which a run that was stopped or killed goes
on with --resume.`,
		Example: `  vti hbm testdata/radon.csv --formula "log_radon ~ floor + log_uppm + (1 + floor | county)" --select
  vti hbm testdata/sleepstudy.csv --formula "Reaction ~ Days + (Days | Subject)"
  vti hbm testdata/epil.csv --formula "y ~ lbase*trt + lage + V4 + (1 | subject)" --likelihood poisson
  vti hbm testdata/sleepstudy.csv --formula "Reaction ~ Days + (Days | Subject)" --family pavi-e --amortize --out model
  vti hbm --resume runs/hbm-20260131-120000`,
		Args:              tableArgument,
		ValidArgsFunction: completeTable,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.hbm(cmd, args, f)
		},
	}
	f.register(cmd)
	cmd.AddCommand(a.hbmInferCommand())
	return cmd
}

// hbmJob is one regression from its record to its answer.
type hbmJob struct {
	*app
	output     outputFlags
	record     *hbm.RegressionRecord
	regression *hbm.Regression
	device     *gpu.Device
	dir        string
}

// hbm runs or resumes a regression.
func (a *app) hbm(cmd *cobra.Command, args []string, f *hbmFlags) error {
	if f.resume != "" {
		j, err := a.resumedRegression(cmd, args, f)
		if err != nil {
			return err
		}
		defer j.device.Close()
		return j.train(cmd.Context(), true, f.fit.launch)
	}
	record, err := f.record(cmd.Flags(), args[0], vti.Version)
	if err != nil {
		return err
	}
	j, err := a.newHbmJob(record, f.output)
	if err != nil {
		return err
	}
	if err := f.flow(cmd.Flags(), record, j.regression); err != nil {
		return err
	}
	if err := j.check(); err != nil {
		return err
	}
	if err := j.open(f.output.device); err != nil {
		return err
	}
	defer j.device.Close()
	if err := j.start(); err != nil {
		return err
	}
	return j.train(cmd.Context(), false, f.fit.launch)
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

// newHbmJob reads the table and builds the posterior that the record describes. Nothing is written: its errors are of the input.
func (a *app) newHbmJob(record *hbm.RegressionRecord, output outputFlags) (*hbmJob, error) {
	regression, err := record.Regression()
	if errors.Is(err, hbm.ErrMissingCells) {
		return nil, fmt.Errorf("%w\n--na drop leaves these rows out", err)
	}
	if err != nil {
		return nil, err
	}
	return &hbmJob{app: a, output: output, record: record, regression: regression}, nil
}

// resumedRegression reads a run directory and checks that it can go on; nothing is written.
func (a *app) resumedRegression(cmd *cobra.Command, args []string, f *hbmFlags) (*hbmJob, error) {
	other := append([]string(nil), args...)
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		switch flag.Name {
		case "resume", "json", "quiet", "pjrt-plugin", "steps-per-launch":
		default:
			other = append(other, "--"+flag.Name)
		}
	})
	if len(other) > 0 {
		return nil, fmt.Errorf("--resume takes everything from %s: leave out %s", filepath.Join(f.resume, rundir.RecordFile), strings.Join(other, ", "))
	}
	record, err := hbm.ReadRegressionRecord(f.resume)
	if err != nil {
		return nil, err
	}
	if record.Command != "hbm" {
		return nil, fmt.Errorf("%s is a run of vti %s, which cannot be resumed by vti hbm", f.resume, record.Command)
	}
	kind, err := gpu.ParseKind(record.Device)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(f.resume, rundir.RecordFile), err)
	}
	j, err := a.newHbmJob(record, f.output)
	if err != nil {
		return nil, err
	}
	j.dir = f.resume
	if err := j.open(kind); err != nil {
		return nil, err
	}
	// A run killed before its first checkpoint starts again; any other checkpoint must be readable and of this run.
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

// open opens the device.
func (j *hbmJob) open(kind gpu.Kind) error {
	var err error
	if j.device, err = gpu.OpenWith(gpu.Options{Kind: kind, Plugin: j.output.plugin}); err != nil {
		return err
	}
	j.record.Device, j.record.Backend = j.device.Kind().String(), j.device.String()
	return nil
}

// start makes the run directory and writes the record to it. Everything that can be wrong with the input has been checked by now.
func (j *hbmJob) start() error {
	now := time.Now()
	var err error
	if j.dir, err = rundir.Make(j.output.out, "hbm", now); err != nil {
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

// train runs the regression and prints the answer.
func (j *hbmJob) train(ctx context.Context, resume bool, stepsPerLaunch int) error {
	j.printProblem()
	shown := &progress{}
	if !j.output.quiet {
		shown = newProgress(j.stderr)
	}
	family, ok, err := j.record.PlateFamily()
	if err != nil {
		return err
	}
	var result *hbm.RegressionResult
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
			shown.line(trainingLine(info), info.Step == info.Steps)
		}
		certify := vti.CertifyConfig{Draws: j.record.CertifyDraws, Progress: func(done, total int) {
			shown.line(fmt.Sprintf("certifying  %d of at most %d draws", done, total), false)
		}}
		result, err = j.regression.Run(ctx, j.device, hbm.RegressionRun{Fit: config, Certify: certify, Dir: j.dir})
	}
	shown.end()
	if err != nil {
		return stoppedRun(err, "hbm", j.dir, true)
	}
	return j.finish(result)
}

// finish completes the record, prints the answer and sets the exit status.
func (j *hbmJob) finish(result *hbm.RegressionResult) error {
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
	printHbm(j.stdout, result)
	return nil
}

// reportEvery is the number of steps between reports. A report costs a synchronisation: rare enough not to be felt, often enough for short runs.
func reportEvery(steps int) int { return min(max(steps/50, 1), 100) }

// printProblem says what was read, and the priors in words. With --json only warnings are printed, to standard error.
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
