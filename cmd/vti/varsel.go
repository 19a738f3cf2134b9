package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/transdim/vti"
	"github.com/transdim/vti/varsel"
)

// varselFlags are all flags of the main command.
type varselFlags struct {
	data   dataFlags
	fit    fitFlags
	output outputFlags
	resume string
	// certifyDraws is vti.CertifyConfig.Draws.
	certifyDraws int
}

func (a *app) varselCommand() *cobra.Command {
	f := &varselFlags{}
	cmd := &cobra.Command{
		Use:   "varsel TABLE --target COLUMN",
		Short: "Select variables: train, certify, and say which predictors matter",
		Long: `Selects the predictors of a table (CSV or Parquet, with a header row) by variational inference.

Every column but the target is a predictor that a model may use or not; columns of text become
groups of indicators that enter together. One network learns the coefficients of all models at
once, together with the probability of each model. The answer is then corrected and judged by
importance weighting, and comes with a verdict:

  trusted    the corrected probabilities hold to within their standard errors
  doubtful   they may hold, but the weights do not prove it
  failed     do not use them (exit status 3)

Everything is kept in a run directory: the settings (run.json), the answer (result.json and CSV
tables), posterior draws (draws.parquet, draws.csv), and the state of training (posterior.vti), from which a run that
was stopped or killed goes on with --resume.`,
		Example: `  vti varsel testdata/diabetes.csv --target y
  vti varsel testdata/pima.csv --target type --exclude train --likelihood logistic
  vti varsel testdata/robust_vs/mid_1000.csv --target y --likelihood robust --no-intercept --no-standardize --always x0
  vti varsel --resume runs/varsel-20260131-120000`,
		Args:              tableArgument,
		ValidArgsFunction: completeTable,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.varsel(cmd, args, f)
		},
	}
	f.data.register(cmd)
	f.fit.register(cmd)
	cmd.Flags().Var(count{&f.certifyDraws, 1}, "certify-draws",
		"draws of certification, beyond a first look at every model; with --resume a run that is trained is certified again (default 262144)")
	f.output.register(cmd, true)
	cmd.Flags().StringVar(&f.resume, "resume", "", "continue the run in `directory`; needs no TABLE and no other flag")
	return cmd
}

// varsel runs or resumes a selection.
func (a *app) varsel(cmd *cobra.Command, args []string, f *varselFlags) error {
	asked, err := f.record(cmd, args)
	if err != nil {
		return err
	}
	var j *varselJob
	var config vti.Config
	if f.resume == "" {
		j, config, err = a.newSelection(asked, givenPriorOf(cmd.Flags()), f.output)
	} else {
		j, config, err = a.resumedSelection(cmd, args, asked, f)
	}
	if err != nil {
		return err
	}
	defer j.device.Close()
	config.StepsPerLaunch = f.fit.launch
	j.printProblem()
	return j.train(cmd.Context(), config)
}

// record turns the command line into the record of a new run.
func (f *varselFlags) record(cmd *cobra.Command, args []string) (*varsel.Record, error) {
	var err error
	if f.data.design, f.data.model, err = f.data.options(cmd.Flags()); err != nil && f.resume == "" {
		return nil, err
	}
	path := ""
	if len(args) > 0 {
		path = args[0]
	}
	record := newVarselRecord("varsel", path, &f.data)
	if record.Flow, err = f.fit.config(cmd.Flags(), ""); err != nil && f.resume == "" {
		return nil, err
	}
	if record.Surrogate, err = f.fit.surrogateOptions(cmd.Flags()); err != nil && f.resume == "" {
		return nil, err
	}
	record.Sampler, record.Steps, record.Batch, record.DType, record.Seed = f.fit.sampler, f.fit.steps, f.fit.batch, f.fit.dtype, f.output.seed
	record.Draws = f.certifyDraws
	return record, nil
}

// newSelection checks everything about a new run, then makes its directory.
func (a *app) newSelection(record *varsel.Record, given givenPrior, output outputFlags) (*varselJob, vti.Config, error) {
	j, err := a.newVarselJob(record, given, output)
	if err != nil {
		return nil, vti.Config{}, err
	}
	record.Flow = record.Flow.WithDefaults() // what they are may change
	config, err := record.FitConfig(j.problem)
	if err != nil {
		return nil, config, fmt.Errorf("--sampler %s: %w", record.Sampler, err)
	}
	if err := config.Validate(); err != nil {
		return nil, config, err
	}
	if err := j.open(output.device); err != nil {
		return nil, config, err
	}
	return j, config, j.start("varsel")
}

// train runs the selection and prints the answer.
func (j *varselJob) train(ctx context.Context, config vti.Config) error {
	shown := j.progress()
	config.LogEvery = reportEvery(config.Steps)
	config.Progress = func(info vti.Info) {
		shown.line(trainingLine(info, false), info.Step == info.Steps)
	}
	certify := vti.CertifyConfig{Draws: j.record.Draws, Progress: func(done, total int) {
		shown.line(fmt.Sprintf("certifying  %d of at most %d draws", done, total), false)
	}}
	result, err := varsel.Run(ctx, j.device, j.problem, varsel.RunConfig{Fit: config, Certify: certify, Dir: j.dir})
	shown.end()
	if err != nil {
		return j.stopped(err, true)
	}
	return j.finish(result)
}

// tableArgument accepts one table, or none with --resume.
func tableArgument(cmd *cobra.Command, args []string) error {
	resume := cmd.Flags().Lookup("resume")
	switch {
	case len(args) > 1 && cmd.Flags().Changed("interactions") && strings.Contains(args[1], ":"):
		return fmt.Errorf("expected one table, found %q; pairs follow an equals sign, as --interactions=%s", args, args[1])
	case len(args) > 1:
		return fmt.Errorf("expected one table, found %q (see %s --help)", args, cmd.CommandPath())
	case len(args) == 0 && (resume == nil || !resume.Changed):
		return errors.New("no table was given: expected a CSV or Parquet file (see " + cmd.CommandPath() + " --help)")
	}
	return nil
}

// completeTable makes the shell suggest tables.
func completeTable(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"csv", "tsv", "txt", "parquet"}, cobra.ShellCompDirectiveFilterFileExt
}
