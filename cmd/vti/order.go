package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/transdim/vti"
	"github.com/transdim/vti/order"
	runs "github.com/transdim/vti/run"
)

func (a *app) orderCommand() *cobra.Command {
	var options order.Options
	var output outputFlags
	cmd := &cobra.Command{
		Use:   "order TABLE --value COLUMN",
		Short: "Find the order of an autoregression or the degree of a polynomial",
		Long: `Computes the posterior of the order of an autoregression (how many earlier rows a row depends on), or
of the degree of a polynomial in time, with the coefficients averaged over orders.

Evidences have a closed form (Zellner's prior with the information of one row), and the answer is an
exact sum over all orders.`,
		Example: `  vti order series.csv --value y --time year
  vti order curve.csv --value y --time x --model polynomial --max-order 6`,
		Args:              tableArgument,
		ValidArgsFunction: completeTable,
		RunE: func(cmd *cobra.Command, args []string) error {
			record := &order.Record{Header: runs.Header{Command: "order", Version: vti.Version, Data: args[0]}, Options: options, Seed: output.seed}
			record.Flags = givenFlags(cmd.Flags())
			problem, err := record.Problem()
			if err != nil {
				return err
			}
			record.Options = problem.Options // with its defaults: what they are may change
			j := &job{output: output, stored: record, header: &record.Header}
			return a.execute(cmd.Context(), j, a.orderTask(problem, output))
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&options.Value, "value", "", "`column` of values")
	flags.StringVar(&options.Time, "time", "", "`column` of times (an autoregression without it takes rows in their order)")
	flags.Var(parsed[order.Kind]{&options.Kind, order.ParseKind}, "model", "autoregression or polynomial")
	flags.Var(count{&options.MaxOrder, 1}, "max-order", "largest order (default 10; polynomial 8)")
	output.register(cmd, false)
	flagGroup(cmd, outputGroup, func() {
		flags.Uint64Var(&output.seed, "seed", 0, "root of all randomness: of draws; probabilities of orders do not depend on it")
	})
	completeColumns(cmd, "value", "time")
	completeWith(cmd, "model", order.KindNames()...)
	return cmd
}

// orderTask is the task of an order.
func (a *app) orderTask(problem *order.Problem, output outputFlags) task {
	return task{
		name: "order", files: order.Files(),
		intro: func() {
			if output.json {
				return
			}
			fmt.Fprintf(a.text, "%s: %s\n", problem.Path, problem.Options.Value)
			for _, line := range problem.Priors() {
				fmt.Fprintln(a.text, "  "+line)
			}
		},
		compute: func(ctx context.Context, at *session) (*conclusion, error) {
			result, err := order.Run(ctx, problem, order.RunConfig{Seed: output.seed, Dir: at.dir})
			if err != nil {
				return nil, err
			}
			return &conclusion{result, result.Seconds, func(w io.Writer) { printOrder(w, result) }}, nil
		},
	}
}

// printOrder prints an answer for a reader.
func printOrder(w io.Writer, r *order.Result) {
	text := "an exact sum over all orders."
	if r.Certificate.Verdict != vti.Trusted {
		text = "the sum is exact, but something limits it:"
	}
	printVerdict(w, r.Certificate.Verdict, text, r.Certificate.Reasons)
	fmt.Fprintln(w)
	printModelCheck(w, r.ModelCheck)
	orders := &grid{}
	orders.add("order", "probability", "log Bayes factor against 0")
	for _, o := range r.Orders {
		orders.add(fmt.Sprint(o.Order), probability(o.Probability, 0), fmt.Sprintf("%.3f", float64(o.LogBayesFactor)))
	}
	orders.print(w)
	fmt.Fprintln(w, "\nCoefficients: averaged over orders, and given the most probable")
	coefficients := &grid{}
	coefficients.add("", "mean", "sd", "<95% interval", "|mean given", "sd")
	for _, c := range r.Coefficients {
		coefficients.add(c.Name, short(c.Mean), short(c.SD), interval(c.Q025, c.Q975), short(c.MeanGiven), short(c.SDGiven))
	}
	coefficients.print(w)
	fmt.Fprintf(w, "\n%s in all\n", timeText(r.Seconds.Total))
}
