package hierarchies

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/console"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/rundir"
)

func hbmCommand(a *shell.App) *cobra.Command {
	return application.Answering(a, &cobra.Command{
		Use:   "hbm TABLE --formula FORMULA",
		Short: "Fit a hierarchical regression: population effects, and effects that vary by group",
		Long: `Fits a regression with effects that vary by group to a table (CSV or Parquet, with a header row).

The formula is as in lme4 and brms:

  y ~ a + b                     an intercept and two population effects
  y ~ 0 + a                     no intercept
  a:b                           an interaction; a*b stands for a + b + a:b
  (a + b + c)^2                 all three terms and their pairwise interactions
  y ~ .                         all columns that are not named
  (1 + a | g)                   intercept and effect of a vary by the column g and are correlated
  (1 + a || g)                  the same, but independent
  (1 | g) + (1 | h)             crossed groupings; (1 | g/h) are nested ones
  log(x), log1p, exp, sqrt      functions of a column; scale(x) standardises it
  poly(x, 2), I(a / b^2)        orthogonal polynomials; arithmetic
  factor(x)                     numbers as labels; text columns are labels anyway
  C(x, reference="b")           contrasts of a factor; also C(x, sum) and C(x, helmert)
  s(x)                          a smooth function
  mo(x)                         a monotonic effect; of labels mo(x, "low", "mid", "high")
  offset(x)                     a column with coefficient 1
  successes | trials(n) ~       a binomial response, for --likelihood logistic: each trial is a
                                row; also cbind(successes, failures) ~
  y | weights(w) ~              rows with the variance σ² / w; for counts and binary responses, w
                                identical rows

By default (--family marginal) effects are integrated out and nothing is trained. With a Gaussian
response the integral is exact, for all groupings. With other responses the effects of the largest
grouping are integrated out by quadrature, and all other effects are drawn from a Laplace
approximation, which importance weights correct. If the log density of a row is not concave, a flow
learns the parameters that are not integrated out.

The other families approximate the effects of all groupings. pavi-f is a flow that all groups
share, with free parameters for each group. pavi-e and adavi are flows with networks that read the
rows of a group; adavi is for nested groupings only. joint, branch, amortized-branch and meanfield
are normal distributions.

Importance weights correct and judge the answer:

  trusted    the numbers hold to within their Monte Carlo errors
  doubtful   they may hold, but the computation does not show it
  failed     do not use them (exit status 3)

With --select every term of the formula can be absent, shared by all groups (pooled), or vary by
group, and s(x) can be absent, a line or a curve. Each of these states gets a probability. Families
other than marginal, except joint, then train one distribution for all models (at most 128), which
is conditional on the model, and importance weights give the evidence of each model.

Everything is kept in a run directory: the settings (run.json), the answer (result.json and CSV
tables), posterior draws (draws.parquet, draws.csv), a page with pictures (report.html, figures),
and the state of training (posterior.vti), from which --resume continues a run that was stopped or
killed. A run that trains nothing starts again.`,
		Example: `  vti hbm testdata/radon.csv --select \
      --formula "log_radon ~ floor + log_uppm + (1 + floor | county)"
  vti hbm testdata/sleepstudy.csv --formula "Reaction ~ Days + (Days | Subject)"
  vti hbm testdata/epil.csv --likelihood poisson \
      --formula "y ~ lbase*trt + lage + V4 + (1 | subject)"
  vti hbm testdata/sleepstudy.csv --formula "Reaction ~ Days + (Days | Subject)" \
      --family pavi-e --amortize --out model
  vti hbm --resume runs/hbm-20260131-120000`,
	}, func() application.Question[*regression.Record] { return &hbmFlags{} })
}

// Begin checks the input of a regression, and returns its task.
func (f *hbmFlags) Begin(ctx context.Context, run *application.Asked[*regression.Record]) (t shell.Task, err error) {
	run.Renew(&run.Record.CertifyDraws, f.record.CertifyDraws, &run.Record.Limit, &f.effort.TimeLimit)
	r, err := newHierarchical(ctx, run)
	if err != nil {
		return t, err
	}
	if !run.Resumed() {
		if err := f.chooseFlow(run.Flags, run.Record, r.regression.DefaultFlow()); err != nil {
			return t, err
		}
		if err := r.check(); err != nil {
			return t, err
		}
	}
	return r.training(f.launch), nil
}

// training returns the task of a regression: to train, to certify, and to print the answer.
func (r *hierarchical) training(stepsPerLaunch int) shell.Task {
	return shell.Task{
		Name: "hbm", Files: regression.Files(), Computes: true, Resumable: r.plates || r.regression.Trains(), Intro: r.PrintProblem, Check: r.checkCheckpoint,
		Compute: func(ctx context.Context, session *shell.Session) (shell.Judged, error) {
			if r.plates {
				return r.trainFamily(ctx, session)
			}
			return r.trainMarginal(ctx, session, stepsPerLaunch)
		},
	}
}

// checkCheckpoint returns the reason why training cannot continue from the checkpoint.
func (r *hierarchical) checkCheckpoint(ctx context.Context, session *shell.Session) error {
	if r.plates {
		config := r.Record.FamilyRun(r.family)
		config.Dir = session.Dir
		return r.regression.CheckFamilyCheckpoint(ctx, session.Device, config)
	}
	config := r.Record.FitConfig(r.regression)
	config.Checkpoint = filepath.Join(session.Dir, rundir.PosteriorFile)
	return r.regression.CheckCheckpoint(ctx, session.Device, config)
}

// trainMarginal trains the flow for all parameters except the effects of groups that are integrated
// out.
func (r *hierarchical) trainMarginal(ctx context.Context, session *shell.Session, stepsPerLaunch int) (*regression.Result, error) {
	config := r.Record.FitConfig(r.regression)
	config = session.Training(config, stepsPerLaunch, !r.regression.Options.Select)
	return r.regression.Run(ctx, session.Device, regression.Run{
		Fit: config, Certify: session.Certifying(r.Job, r.Record.CertifyDraws), Dir: session.Dir, Precision: r.Record.Precision, MaxTime: r.Record.MaxTime(), Again: session.Again,
		Status: session.Said,
	})
}

// trainFamily trains a variational family that includes the effects of all groupings.
func (r *hierarchical) trainFamily(ctx context.Context, session *shell.Session) (*regression.Result, error) {
	config := r.Record.FamilyRun(r.family)
	config.Dir, config.Fit.Resume, config.Fit.LogEvery = session.Dir, session.Resume, console.ReportEvery(config.Fit.WithDefaults().Steps)
	config.Status = session.Said
	config.Fit.Progress = func(info vti.Info) {
		line := fmt.Sprintf("step %d/%d  ELBO %.3f", info.Step, info.Steps, -info.Loss)
		session.Shown.Line(console.TrainingPace(line, info.Step, info.Steps, info.NonFinite, info.StepsPerSecond), info.Step == info.Steps)
	}
	return r.regression.RunFamily(ctx, session.Device, config)
}
