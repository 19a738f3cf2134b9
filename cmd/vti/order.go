package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/transdim/vti"
	"github.com/transdim/vti/order"
	runs "github.com/transdim/vti/run"
)

func (a *app) orderCommand() *cobra.Command {
	var options order.Options
	var unitRoot, meanKnots positive
	var output outputFlags
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
		Args:              tableArgument,
		ValidArgsFunction: completeTable,
		RunE: func(cmd *cobra.Command, args []string) error {
			options.UnitRoot, options.MeanKnots = float64(unitRoot), float64(meanKnots)
			record := askedOf(cmd, "order", args[0], options, output)
			problem, err := runs.Read(record, order.NewProblem)
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
	flags.StringVar(&options.Time, "time", "", "`column` of times (an autoregression without it uses the order of the rows)")
	flags.Var(textual{&options.Kind}, "model", "autoregression, polynomial, or spline")
	flags.Var(count{&options.MaxOrder, 1}, "max-order", "largest order, or number of knots (default 10; polynomial 8; spline 6)")
	flags.Var(&unitRoot, "unit-root", "autoregression: prior probability of a unit root (default 0: none)")
	flags.Var(count{&options.Degree, 1}, "degree", "spline: degree of its pieces (default 3)")
	flags.Var(count{&options.Candidates, 1}, "candidates", "spline: candidate positions of knots, spaced evenly among the rows (default 40)")
	flags.Var(&meanKnots, "mean-knots", "spline: prior mean of the number of knots, which is Poisson (default 3)")
	output.registerSampler(cmd, "of draws; probabilities of orders do not depend on it")
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
			for _, line := range slices.Concat(problem.Notes, problem.Priors()) {
				fmt.Fprintln(a.text, "  "+line)
			}
			fmt.Fprintln(a.text)
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
	text := "an exact sum over all models."
	if r.Certificate.Verdict != vti.Trusted {
		text = "the sum is exact, but something limits it:"
	}
	printVerdict(w, r.Certificate.Verdict, text, r.Certificate.Reasons)
	fmt.Fprintln(w)
	printModelCheck(w, r.ModelCheck)
	orders := &grid{}
	spline, roots := len(r.Knots) > 0, r.UnitRoot != nil
	head := []string{map[bool]string{false: "order", true: "knots"}[spline], "probability", "log Bayes factor"}
	if roots {
		head = append(head, "unit root given it")
	}
	if spline {
		head = append(head, "<where, together most likely")
	}
	orders.add(head...)
	for _, o := range r.Orders {
		cells := []string{fmt.Sprint(o.Order), probability(o.Probability, 0), fmt.Sprintf("%.3f", float64(o.LogBayesFactor))}
		if roots {
			cells = append(cells, probability(*o.UnitRoot, 0))
		}
		if spline {
			var places []string
			for _, at := range o.Knots {
				places = append(places, short(at))
			}
			cells = append(cells, strings.Join(places, ", "))
		}
		orders.add(cells...)
	}
	orders.print(w)
	if roots {
		fmt.Fprintf(w, "a unit root: %s\n", probability(*r.UnitRoot, 0))
	}
	fmt.Fprintln(w, "\nCoefficients: averaged over orders, and given the most probable")
	coefficients := &grid{}
	coefficients.add("", "mean", "sd", "<95% interval", "|mean given", "sd")
	left := 0
	for j, c := range r.Coefficients {
		zero := probabilityOfZero(r, j)
		if zero > 1-leastPrinted {
			left++
			continue
		}
		coefficients.add(c.Name, short(c.Mean), short(c.SD), averagedInterval(c.Q025, c.Q975, zero), short(c.MeanGiven), short(c.SDGiven))
	}
	coefficients.print(w)
	if left > 0 {
		fmt.Fprintf(w, "  and %d that are zero with a probability above %g\n", left, 1-leastPrinted)
	}
	fmt.Fprintf(w, "\nComputation: %s.\n", timeText(r.Seconds.Total))
	printMeanings(w, wordBayesFactor)
}

// leastPrinted is the least probability of a coefficient that is printed: less could not be seen in
// its mean. Chosen by hand.
const leastPrinted = 1e-4

// probabilityOfZero is that of the orders that have not the coefficient at a place of the list: the
// first belongs to all orders, the last is σ, and those between are of the orders 1, 2, ….
func probabilityOfZero(r *order.Result, place int) (zero order.Number) {
	if place == 0 || len(r.Coefficients) != len(r.Orders)+1 || place > len(r.Orders)-1 {
		return 0
	}
	for _, o := range r.Orders {
		if o.Order < place {
			zero += o.Probability
		}
	}
	return zero
}
