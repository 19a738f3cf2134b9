package numbers

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/order"
	runs "github.com/transdim/vti/run"
)

type orderFlags struct{ asking[order.Record] }

// Register adds the flags to the command.
func (f *orderFlags) Register(cmd *cobra.Command) {
	flags, options := cmd.Flags(), &f.record.Options
	flags.StringVar(&options.Value, "value", "", "`column` of values")
	flags.StringVar(&options.Time, "time", "", "`column` of times (an autoregression without it uses the order of the rows)")
	cli.Named(cmd, &options.Kind, "model", "autoregression, polynomial, or spline", order.KindNames()...)
	flags.Var(cli.Count(&options.MaxOrder, 1), "max-order", "largest order, or number of knots (default 10; polynomial 8; spline 6)")
	flags.Var(cli.Positive(&options.UnitRoot), "unit-root", "autoregression: prior probability of a unit root (default 0: none)")
	flags.Var(cli.Count(&options.Degree, 1), "degree", "spline: degree of its pieces (default 3)")
	flags.Var(cli.Count(&options.Candidates, 1), "candidates", "spline: candidate positions of knots, spaced evenly among the rows (default 40)")
	flags.Var(cli.Positive(&options.MeanKnots), "mean-knots", "spline: prior mean of the number of knots, which is Poisson (default 3)")
	f.RegisterSampler(cmd, &f.record.Seed, "of draws; probabilities of orders do not depend on it")
	cli.CompleteColumns(cmd, "value", "time")
}

func orderCommand(a *shell.App) *cobra.Command {
	return application.Answering(a, &cobra.Command{
		Use:   "order TABLE --value COLUMN",
		Short: "Find the order of an autoregression or a polynomial, or the knots of a spline",
		Long: `Computes the posterior of the order of an autoregression (how many earlier rows a row depends on),
with --unit-root also of whether it has a unit root; of the degree of a polynomial in time; or of
the number and positions of the knots of a spline, with the curve averaged over them.

Evidences have a closed form (Zellner's unit-information prior), and the answer is an exact sum over
all orders, or over all sets of knots at the candidate positions.`,
		Example: `  vti order series.csv --value y --time year --unit-root 0.5
  vti order curve.csv --value y --time x --model polynomial --max-order 6
  vti order curve.csv --value y --time x --model spline --degree 1`,
	}, func() application.Question[*order.Record] { return &orderFlags{} })
}

// Begin reads the table of a search for an order, checks the input, and returns the task.
func (f *orderFlags) Begin(_ context.Context, run *application.Asked[*order.Record]) (t shell.Task, err error) {
	problem, err := runs.Read(run.Record, order.NewProblem)
	if err != nil {
		return t, err
	}
	run.Record.Options = problem.Options // store the defaults, which another version may change
	return shell.Task{
		Name: "order", Files: order.Files(),
		Intro: func() {
			run.Introduce(fmt.Sprintf("%s: %s", problem.Path, problem.Options.Value), problem.Notes, problem.Priors())
		},
		Compute: func(ctx context.Context, session *shell.Session) (shell.Judged, error) {
			return order.Run(ctx, problem, order.RunConfig{Seed: run.Record.Seed, Dir: session.Dir})
		},
	}, nil
}
