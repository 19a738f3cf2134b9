package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/order"
	runs "github.com/transdim/vti/run"
)

func orderCommand(a *shell.App) *cobra.Command {
	var options order.Options
	var unitRoot, meanKnots cli.Positive
	var output cli.Output
	cmd := &cobra.Command{
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
		Args:              cli.TableArgument,
		ValidArgsFunction: cli.CompleteTable,
		RunE: func(cmd *cobra.Command, args []string) error {
			options.UnitRoot, options.MeanKnots = float64(unitRoot), float64(meanKnots)
			record := cli.AskedOf(cmd, "order", args[0], options, output)
			problem, err := runs.Read(record, order.NewProblem)
			if err != nil {
				return err
			}
			record.Options = problem.Options // with its defaults: what they are may change
			j := &shell.Job{Output: output, Stored: record, Header: &record.Header}
			return a.Execute(cmd.Context(), j, orderTask(a, problem, output))
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&options.Value, "value", "", "`column` of values")
	flags.StringVar(&options.Time, "time", "", "`column` of times (an autoregression without it uses the order of the rows)")
	flags.Var(cli.Name(&options.Kind), "model", "autoregression, polynomial, or spline")
	flags.Var(cli.Count{Value: &options.MaxOrder, Least: 1}, "max-order", "largest order, or number of knots (default 10; polynomial 8; spline 6)")
	flags.Var(&unitRoot, "unit-root", "autoregression: prior probability of a unit root (default 0: none)")
	flags.Var(cli.Count{Value: &options.Degree, Least: 1}, "degree", "spline: degree of its pieces (default 3)")
	flags.Var(cli.Count{Value: &options.Candidates, Least: 1}, "candidates", "spline: candidate positions of knots, spaced evenly among the rows (default 40)")
	flags.Var(&meanKnots, "mean-knots", "spline: prior mean of the number of knots, which is Poisson (default 3)")
	output.RegisterSampler(cmd, "of draws; probabilities of orders do not depend on it")
	cli.CompleteColumns(cmd, "value", "time")
	cli.CompleteWith(cmd, "model", order.KindNames()...)
	return cmd
}

// orderTask is the task of an order.
func orderTask(a *shell.App, problem *order.Problem, output cli.Output) shell.Task {
	return shell.Task{
		Name: "order", Files: order.Files(),
		Intro: func() {
			if output.Json {
				return
			}
			fmt.Fprintf(a.Text, "%s: %s\n", problem.Path, problem.Options.Value)
			for _, line := range slices.Concat(problem.Notes, problem.Priors()) {
				fmt.Fprintln(a.Text, "  "+line)
			}
			fmt.Fprintln(a.Text)
		},
		Compute: func(ctx context.Context, at *shell.Session) (*shell.Conclusion, error) {
			result, err := order.Run(ctx, problem, order.RunConfig{Seed: output.Seed, Dir: at.Dir})
			if err != nil {
				return nil, err
			}
			return &shell.Conclusion{Result: result, Seconds: result.Seconds}, nil
		},
	}
}
