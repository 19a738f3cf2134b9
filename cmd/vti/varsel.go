package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/console"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/varsel"
)

// varselFlags are all flags of the main command.
type varselFlags struct {
	data   dataFlags
	fit    fitFlags
	output cli.Output
	resume string
	// from is the file of a network to begin with, fromOnly says not to train it further.
	from     string
	fromOnly bool
	// certifyDraws is vti.CertifyConfig.Draws.
	certifyDraws int
}

func (f *varselFlags) Register(cmd *cobra.Command) {
	f.data.register(cmd)
	f.fit.register(cmd)
	f.registerFrom(cmd)
	cli.RegisterCertifyDraws(cmd, &f.certifyDraws, "beyond a pilot run over every model (default 262144)")
	f.output.Register(cmd, true)
	cli.RegisterResume(cmd, &f.resume)
	cli.Renamed(cmd, cli.FlowSizes, cli.PriorSD("slab-scale"))
}

// registerFrom registers the flags of a run that begins with a network.
func (f *varselFlags) registerFrom(cmd *cobra.Command) {
	cli.Group(cmd, "Amortized start", func() {
		cmd.Flags().StringVar(&f.from, "from", "", "start from the network in `file`, trained by vti amortize varsel for tables of this kind")
		cmd.Flags().BoolVar(&f.fromOnly, "from-only", false, "certify the network's answer without further training, even if it is doubtful")
	})
}

// Describe turns the command line into the record of a new run.
func (f *varselFlags) Describe(flags *pflag.FlagSet, path string) (any, error) {
	var err error
	if f.data.design, f.data.model, err = f.data.options(flags); err != nil {
		return nil, err
	}
	record := newVarselRecord("varsel", path, &f.data)
	if record.Flow, err = f.fit.config(flags); err != nil {
		return nil, err
	}
	if record.Surrogate, err = f.fit.surrogateOptions(flags); err != nil {
		return nil, err
	}
	record.Sampler, record.Steps, record.Batch, record.DType, record.Seed = f.fit.sampler, f.fit.steps, f.fit.batch, f.fit.dtype, f.output.Seed
	record.Draws, record.From, record.FromOnly = f.certifyDraws, f.from, f.fromOnly
	if f.fromOnly && f.from == "" {
		return nil, errors.New("--from-only says how to use a network, and --from is not given")
	}
	record.Budget, err = f.fit.effort.Budget(flags)
	return record, err
}

func varselCommand(a *shell.App) *cobra.Command {
	f := &varselFlags{}
	cmd := &cobra.Command{
		Use:   "varsel TABLE --target COLUMN",
		Short: "Select variables: train, certify, and say which predictors matter",
		Long: `Selects the predictors of a table (CSV or Parquet, with a header row).

Every column but the target is a predictor that a model may include or not; text columns become
groups of indicators that enter together. If the evidence of each model has a closed form or can be
estimated separately, these are summed; otherwise one network learns the coefficients of all models
together with the probability of each. Importance weights then correct and judge the answer, which
comes with a verdict:

  trusted    the corrected probabilities hold to within their standard errors
  doubtful   they may hold, but the computation does not show it
  failed     do not use them (exit status 3)

Everything is kept in a run directory: the settings (run.json), the answer (result.json and CSV
tables), posterior draws (draws.parquet, draws.csv), and the state of training (posterior.vti), from
which --resume continues a run that was stopped or killed.`,
		Example: `  vti varsel testdata/diabetes.csv --target y
  vti varsel testdata/prostate.csv --formula "lpsa ~ poly(lcavol, 2) + lweight*svi"
  vti varsel testdata/pima.csv --target type --exclude train --likelihood logistic
  vti varsel testdata/robust_vs/mid_1000.csv --target y --likelihood robust \
      --no-intercept --no-standardize --always x0
  vti varsel table.csv --target y --likelihood robust --from robust.vti
  vti varsel --resume runs/varsel-20260131-120000`,
		Args:              cli.TableArgument,
		ValidArgsFunction: cli.CompleteTable,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runVarsel(a, cmd, args, f)
		},
	}
	f.Register(cmd)
	return cmd
}

// runVarsel runs or resumes a selection.
func runVarsel(a *shell.App, cmd *cobra.Command, args []string, f *varselFlags) error {
	s, err := beginSelection(a, cmd, args, f)
	if err != nil {
		return err
	}
	config, err := s.record.FitConfig(s.problem)
	if err != nil {
		return fmt.Errorf("--sampler %s: %w", s.record.Sampler, err)
	}
	if err := config.Validate(); err != nil {
		return err
	}
	config.StepsPerLaunch, config.LogEvery = f.fit.launch, console.ReportEvery(config.Steps)
	return a.Execute(cmd.Context(), &s.Job, s.training(config))
}

// beginSelection checks everything about a new run, or about one to resume.
func beginSelection(a *shell.App, cmd *cobra.Command, args []string, f *varselFlags) (*selection, error) {
	if f.resume == "" {
		record, err := f.Describe(cmd.Flags(), args[0])
		if err != nil {
			return nil, err
		}
		s, err := newSelection(a, record.(*varsel.Record), cmd.Flags(), f.output)
		if err != nil {
			return nil, err
		}
		s.record.Flow = s.record.Flow.WithDefaults() // what they are may change
		if s.record.From != "" {
			if err := s.problem.CheckFrom(s.record.From); err != nil {
				return nil, err
			}
			s.Paths = append(s.Paths, &s.record.From)
		}
		return s, nil
	}
	s, err := openSelection(a, f.resume, f.output)
	if err != nil {
		return nil, err
	}
	if err := cli.CheckResume(cmd, args, f.resume, s.record, s.Header, f.output, func() cli.Flags { return &varselFlags{} }); err != nil {
		return nil, err
	}
	if cmd.Flags().Changed("certify-draws") { // no part of training
		s.record.Draws = f.certifyDraws
	}
	if cmd.Flags().Changed("max-time") {
		s.record.MaxSeconds = f.fit.effort.MaxTime.Seconds()
	}
	s.problem, err = s.record.Problem()
	return s, err
}

// training is the task of a selection: train, certify, and print the answer.
func (s *selection) training(config vti.Config) shell.Task {
	return shell.Task{
		Name: "varsel", Files: varsel.Files(), Computes: true, Resumable: true, Intro: s.printProblem,
		Check: func(_ context.Context, at *shell.Session) (err error) {
			check := config
			if s.record.From != "" {
				if check.Begin, err = s.problem.BeginFrom(at.Device, s.record.From); err != nil {
					return err
				}
				check.Tempering = 0
			}
			check.Resume, check.Checkpoint = true, filepath.Join(at.Dir, varsel.PosteriorFile)
			_, err = vti.Load(at.Device, s.problem.Posterior(), check)
			return err
		},
		Compute: func(ctx context.Context, at *shell.Session) (*shell.Conclusion, error) {
			config.Resume = at.Resume
			config.Progress = func(info vti.Info) {
				at.Shown.Line(console.TrainingLine(info, false), info.Step == info.Steps)
			}
			certify := vti.CertifyConfig{Draws: s.record.Draws, Shard: at.Shard, ChainGroups: s.Groups, Progress: func(done, total int) {
				at.Shown.Line(fmt.Sprintf("certifying  %d of at most %d draws", done, total), false)
			}}
			result, err := varsel.Run(ctx, at.Device, s.problem, varsel.RunConfig{
				Fit: config, Certify: certify, Dir: at.Dir, Precision: s.record.Precision,
				From: s.record.From, FromOnly: s.record.FromOnly,
				MaxTime: s.record.MaxTime(), Again: at.Again,
				Status: func(text string) { at.Shown.Line(text, true) },
			})
			if err != nil {
				return nil, err
			}
			return s.conclude(result), nil
		},
	}
}
