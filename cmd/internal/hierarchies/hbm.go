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
	"github.com/transdim/vti/hbm"
	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/rundir"
)

func hbmCommand(a *shell.App) *cobra.Command {
	return application.Answering(a, &cobra.Command{
		Use:   "hbm TABLE --formula FORMULA",
		Short: "Fit a hierarchical regression: population effects, and effects that vary by group",
		Long: `Fits a regression with effects that vary by group to a table (CSV or Parquet, with a header row).

The formula is as in lme4 and brms. y ~ a + b has an intercept and two population effects; a:b is an
interaction and a*b stands for a + b + a:b; 0 leaves the intercept out. (1 + a | g) lets intercept
and effect of a vary by the column g, correlated; || makes them independent; (1 | g) + (1 | h) is
crossed, (1 | g/h) nested. Text columns are factors. log, log1p, exp, sqrt, factor, scale and offset
apply to a column; poly(x, 2) gives orthogonal polynomials, I(a / b^2) is arithmetic, C(x,
reference="b"), C(x, sum) and C(x, helmert) set the contrasts of a factor, s(x) is a smooth
function, and mo(x), or mo(x, "low", "mid", "high"), a monotonic effect. (a + b + c)^2 adds all
pairwise interactions, and y ~ . all columns that are not named. cbind(successes, failures) ~ and
successes | trials(n) ~ are binomial responses, for --likelihood logistic, each trial a row. y |
weights(w) ~ gives rows the variance σ² / w; for counts and binary responses, w is the number of
identical rows.

By default (--family marginal) effects are integrated out and nothing is trained. With a Gaussian
response this is exact, for all groupings. Otherwise effects are drawn from a Laplace approximation,
except for those of the largest grouping, which are integrated out by quadrature, and importance
weights correct the result. If the log density of a row is not concave, a flow learns the remaining
parameters. The other families approximate the effects of all groupings: pavi-f by a flow shared by
all groups with free parameters for each, pavi-e and, of nested groupings only, adavi by networks
that read the rows of a group, and joint, branch, amortized-branch and meanfield by normal
distributions. Importance weights correct and judge the answer:

  trusted    the numbers hold to within their Monte Carlo errors
  doubtful   they may hold, but the computation does not show it
  failed     do not use them (exit status 3)

With --select every term of the formula can be absent, shared by all groups (pooled), or vary by
group, and s(x) can be absent, a line or a curve; each of these states gets a probability. With
other families than marginal, joint excepted, one distribution, conditional on the model, is trained
for all models (at most 128), and importance weights give the evidence of each.

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
	if run.Resumed() {
		if run.Flags.Changed("certify-draws") { // it does not change the training
			run.Record.CertifyDraws = f.record.CertifyDraws
		}
		f.effort.Renew(run.Flags, &run.Record.Limit)
	}
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
		Name: "hbm", Files: regression.Files(), Computes: true, Resumable: r.trains(), Intro: r.PrintProblem, Check: r.checkCheckpoint,
		Compute: func(ctx context.Context, session *shell.Session) (shell.Judged, error) {
			family, ok, err := r.Record.PlateFamily()
			if err != nil {
				return nil, err
			}
			if ok {
				return r.trainFamily(ctx, session, family)
			}
			return r.trainMarginal(ctx, session, stepsPerLaunch)
		},
	}
}

// trains reports whether the run trains with checkpoints, from which it could be resumed.
func (r *hierarchical) trains() bool {
	_, plates, err := r.Record.PlateFamily()
	return plates || err != nil || r.regression.Trains()
}

// checkCheckpoint returns the reason why training cannot continue from the checkpoint.
func (r *hierarchical) checkCheckpoint(ctx context.Context, session *shell.Session) error {
	family, ok, err := r.Record.PlateFamily()
	if err != nil {
		return err
	}
	if ok {
		config := r.Record.FamilyRun(family)
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
func (r *hierarchical) trainFamily(ctx context.Context, session *shell.Session, family hbm.Family) (*regression.Result, error) {
	config := r.Record.FamilyRun(family)
	config.Dir, config.Fit.Resume, config.Fit.LogEvery = session.Dir, session.Resume, console.ReportEvery(config.Fit.WithDefaults().Steps)
	config.Status = session.Said
	config.Fit.Progress = func(info vti.Info) {
		line := fmt.Sprintf("step %d/%d  ELBO %.3f", info.Step, info.Steps, -info.Loss)
		session.Shown.Line(console.TrainingPace(line, info.Step, info.Steps, info.NonFinite, info.StepsPerSecond), info.Step == info.Steps)
	}
	return r.regression.RunFamily(ctx, session.Device, config)
}
