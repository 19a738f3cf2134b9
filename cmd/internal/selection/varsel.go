package selection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/varsel"
)

// varselFlags holds the flags of vti varsel.
type varselFlags struct {
	dataFlags
	flow   cli.Flow
	effort cli.Effort
	launch int
	// summary holds the values of flags for summary statistics. It becomes part of the record if
	// the flag --ld is given.
	summary varsel.Summary
}

// Register adds the flags to the command.
func (f *varselFlags) Register(cmd *cobra.Command) {
	f.register(cmd)
	f.registerInclusion(cmd)
	f.registerSummary(cmd)
	f.registerTraining(cmd)
	f.registerFrom(cmd)
	cli.RegisterCertifyDraws(cmd, &f.record.Draws, "beyond a pilot run over every model (default 262144)")
	f.Output.Register(cmd, true)
	f.RegisterResume(cmd)
}

// registerSummary registers the flags for summary statistics that replace the rows of a table.
func (f *varselFlags) registerSummary(cmd *cobra.Command) {
	cli.Group(cmd, "Summary statistics in place of rows", func() {
		flags, s := cmd.Flags(), &f.summary
		flags.StringVar(&s.LD, "ld", "", "`file` of the correlations of the predictors, each with a row and a named column. TABLE then has a row for each predictor: its name first, and columns z, or beta and se")
		flags.Var(cli.Count(&s.Samples, 3), "samples", "with --ld: number of rows behind the statistics")
		flags.Var(cli.Count(&s.LDSamples, 0), "ld-samples", "with --ld: number of rows of the correlations; 0 if they are those behind the statistics")
		flags.Var(cli.Positive(&s.Shrink), "ld-shrink", "with --ld: shrink correlations R of another sample, or rounded ones, to (1-s) R + s I")
	})
}

// describeSummary adds the summary statistics to the record. It returns an error for flags that
// need rows.
func (f *varselFlags) describeSummary(flags *pflag.FlagSet, record *varsel.Record) error {
	if f.summary.LD == "" {
		return cli.Refuse(flags, " is for summary statistics, with --ld", "samples", "ld-samples", "ld-shrink")
	}
	if err := cli.Refuse(flags, " needs rows: summary statistics (--ld) have none",
		"formula", "always", "exclude", "factor", "group", "interactions", "heredity", "trials", "levels", "censored", "offset", "no-intercept",
		"no-standardize", "na", "from"); err != nil {
		return err
	}
	switch {
	case record.Model.Likelihood != likelihood.GaussianKind:
		return fmt.Errorf("summary statistics are sufficient for the gaussian likelihood; this one is %s", record.Model.Likelihood)
	case record.Model.Sigma != 0:
		return errors.New("--sigma is in units of the response, which statistics do not tell")
	case f.summary.Samples == 0:
		return errors.New("--ld needs --samples, the number of rows behind the statistics")
	case !flags.Changed("ld-samples"): // the statistics do not always show that correlations come from another sample
		return errors.New("--ld needs --ld-samples, the number of rows of the correlations: 0 if they are the rows behind the statistics, and else how many others")
	case f.summary.Shrink >= 1:
		return fmt.Errorf("--ld-shrink: got %g, want less than 1", f.summary.Shrink)
	}
	record.Summary, record.Design.Target = &f.summary, cmp.Or(record.Design.Target, "the response")
	return nil
}

// registerFrom registers the flags of a run that starts from an amortized network.
func (f *varselFlags) registerFrom(cmd *cobra.Command) {
	cli.Group(cmd, "Amortized start", func() {
		cmd.Flags().StringVar(&f.record.From, "from", "", "start from the network in `file`, trained by vti amortize varsel for tables of this kind")
		cmd.Flags().BoolVar(&f.record.FromOnly, "from-only", false, "certify the network's answer without further training, even if it is doubtful")
	})
}

// Describe returns the record of a new run with the settings of the flags.
func (f *varselFlags) Describe(flags *pflag.FlagSet) (*varsel.Record, error) {
	record, err := f.dataFlags.Describe(flags)
	if err != nil {
		return nil, err
	}
	if err := f.describeSummary(flags, record); err != nil {
		return nil, err
	}
	if record.Flow, err = f.flow.Config(flags); err != nil {
		return nil, err
	}
	if record.FromOnly && record.From == "" {
		return nil, errors.New("--from-only says how to use a network, and --from is not given")
	}
	if record.Budget, err = f.effort.Budget(flags); err != nil {
		return nil, err
	}
	return record, checkLearning(flags, record)
}

func varselCommand(a *shell.App) *cobra.Command {
	return application.Answering(a, &cobra.Command{
		Use:   "varsel TABLE --target COLUMN",
		Short: "Select variables: which predictors matter",
		Long: `Selects the predictors of a table (CSV or Parquet, with a header row), or of genotypes: PLINK 1
files (region.bed, with region.bim and region.fam beside it) or a VCF file (region.vcf or .vcf.gz,
with region.fam beside it). These have the columns phenotype, sex, and the number of copies of an
allele of each marker; --region reads a part, --na mean fills gaps.

Every column but the target is a predictor that a model may include or not. Text columns become
groups of indicators that enter together. If the evidence of each model has a closed form or can be
estimated separately, the answer is a sum over models. Otherwise one network learns the
coefficients of all models together with the probability of each model, and importance weights
correct the answer. The answer comes with a verdict:

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
  vti varsel chr6.bed --target phenotype --region 6:31000000-32000000 --na mean
  vti varsel z.csv --ld ld.parquet --samples 500000 --ld-samples 0
  vti varsel --resume runs/varsel-20260131-120000`,
	}, func() application.Question[*varsel.Record] { return &varselFlags{} })
}

// Begin checks the input of a run that trains, and returns its task.
func (f *varselFlags) Begin(ctx context.Context, run *application.Asked[*varsel.Record]) (t shell.Task, err error) {
	run.Renew(&run.Record.Draws, f.record.Draws, &run.Record.Limit, &f.effort.TimeLimit)
	s, err := newSelection(ctx, run)
	if err != nil {
		return t, err
	}
	if !run.Resumed() {
		run.Record.Flow = run.Record.Flow.WithDefaults() // store the defaults, which another version may change
	}
	if run.Record.From != "" && !run.Resumed() {
		if err := s.problem.CheckFrom(run.Record.From); err != nil {
			return t, err
		}
		run.Paths = append(run.Paths, &run.Record.From)
	}
	if run.Record.Summary != nil && !run.Resumed() {
		run.Paths = append(run.Paths, &run.Record.Summary.LD)
	}
	return s.training(f.launch)
}

// training returns the task of a selection: to train, to certify, and to print the answer.
func (s *selection) training(stepsPerLaunch int) (shell.Task, error) {
	config, err := s.Record.FitConfig(s.problem)
	if err != nil {
		return shell.Task{}, fmt.Errorf("--sampler %s: %w", s.Record.Sampler, err)
	}
	return shell.Task{
		Name: "varsel", Files: varsel.Files(), Computes: true, Resumable: true, Intro: s.PrintProblem,
		Check: func(_ context.Context, session *shell.Session) (err error) {
			check := config
			if s.Record.From != "" {
				if check.Begin, err = s.problem.BeginFrom(session.Device, s.Record.From); err != nil {
					return err
				}
				check.Tempering = 0
			}
			check.Resume, check.Checkpoint = true, filepath.Join(session.Dir, rundir.PosteriorFile)
			_, err = vti.Load(session.Device, s.problem.Posterior(), check)
			return err
		},
		Compute: func(ctx context.Context, session *shell.Session) (shell.Judged, error) {
			return varsel.Run(ctx, session.Device, s.problem, varsel.RunConfig{
				Fit: session.Training(config, stepsPerLaunch, false), Certify: session.Certifying(s.Job, s.Record.Draws), Dir: session.Dir, Precision: s.Record.Precision,
				From: s.Record.From, FromOnly: s.Record.FromOnly,
				MaxTime: s.Record.MaxTime(), Again: session.Again,
				Status: session.Said,
			})
		},
	}, config.Validate()
}
