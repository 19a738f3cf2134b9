package graphs

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/english"
)

func dagQueryCommand(a *shell.App) *cobra.Command {
	var seed uint64
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "query RUN QUERY",
		Short: "Compute conditional and interventional probabilities from a finished run",
		Long: `Answers a query from the draws of graphs and parameters of a finished run of vti dag or vti exact
dag:

  P(sick | region=1)              the probabilities of all values of sick in a row with region 1
  P(sick=yes | do(region=1))      of one value, where region is set to 1 from outside
  E(income | age=40, do(job=2))   the mean of a number, and where its value is
  P(income > 2.5 | age=40)        the probability that it is above, or with < below

Conditions are observations, NODE=VALUE, or interventions, do(NODE=VALUE), separated by commas.
Names and values with punctuation go in quotes. Numbers are in the units of the table.

The answer is averaged over graphs and parameters, each weighted also by the probability that it
gives to what is observed of the row. The output adds the uncertainty of the answer given the table:
its posterior standard deviation, a 90% interval, and the part of the variance that is between
graphs. Categories are summed exactly for each graph, numbers with linear mechanisms have a closed
form, and mixed tables are simulated. The table of the run must still exist.`,
		Example: `  vti dag query runs/dag-20260131-120000 "P(sick | region=1)"
  vti dag query runs/dag-20260131-120000 "E(y | do(dose=2))" --json`,
		Args: cli.Arguments(2, 2, "a run directory and a query in quotes"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return dagQuery(a, cmd.Context(), args[0], args[1], seed, asJSON)
		},
	}
	cmd.Flags().Uint64Var(&seed, "seed", 0, "random seed of parameters that the run has not stored")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object on standard output, and nothing else")
	return cmd
}

func dagQuery(a *shell.App, ctx context.Context, dir, query string, seed uint64, asJSON bool) error {
	if err := Application().Check(dir); err != nil {
		return err
	}
	run, err := dag.OpenRun(dir)
	if err != nil {
		return err
	}
	answer, err := run.Ask(ctx, query, seed)
	if err != nil {
		return err
	}
	return a.Answer(asJSON, answer, func() { printQuery(a.Text, answer) })
}

func printQuery(w io.Writer, answer *dag.Answer) {
	fmt.Fprintf(w, "%s, averaged over %s of graphs and parameters (%s)\n\n", answer.Query, english.Count(answer.Draws, "draw"), english.Count(answer.Graphs, "graph"))
	table := &document.Grid{}
	if len(answer.Probabilities) > 0 {
		table.Add(answer.Target, "probability", "posterior mean", "sd", "<90% interval", "sd between graphs")
		for _, p := range answer.Probabilities {
			table.Add(p.Value, document.Probability(p.Prob, p.SE), document.Short(p.PosteriorMean), document.Short(p.SD), document.Interval(p.Q05, p.Q95), document.Short(p.SDGraphs))
		}
	}
	if e := answer.Expectation; e != nil {
		table.Add("", "mean", "sd", "<90% interval", "sd between graphs")
		table.Add("expected "+answer.Target, document.Short(e.PosteriorMean), document.Short(e.SD), document.Interval(e.Q05, e.Q95), document.Short(e.SDGraphs))
		table.Add("value of a row", fmt.Sprintf("%s ± %s", document.Short(e.Mean), document.Short(e.SE)), document.Short(e.PredictiveSD), document.Interval(e.PredictiveQ05, e.PredictiveQ95), "")
	}
	table.Print(w)
	fmt.Fprintln(w)
	for _, note := range answer.Notes {
		fmt.Fprintf(w, "note: %s\n", note)
	}
	if answer.Verdict != "" && answer.Verdict != "trusted" {
		fmt.Fprintf(w, "The run is %s, and so is this answer.\n", answer.Verdict)
	}
}
