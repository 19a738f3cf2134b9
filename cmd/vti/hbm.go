package main

import (
	"github.com/spf13/cobra"

	"github.com/transdim/vti"
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

By default (--family marginal) effects are integrated out. With a Gaussian response that is exact, for
all groupings, and nothing is trained; otherwise those of the grouping that has most are integrated
out by quadrature, and one flow learns everything else. The other families learn the effects of all groupings, each
a plate of a hierarchical model: pavi-f with flows that all groups share and numbers of each group,
pavi-e and adavi (nested groupings only) with networks that read a group's rows, and normal
distributions: joint, branch, amortized-branch, meanfield. Importance weights correct and judge
the answer:

  trusted    the numbers are those of the posterior, as exactly as so many effective draws tell them
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
	if err := j.start("hbm"); err != nil {
		return err
	}
	return j.train(cmd.Context(), false, f.fit.launch)
}
