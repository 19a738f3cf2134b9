package answers

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/predict"
	"github.com/transdim/vti/table"
)

// predictionsFile is the file in the directory of the run to which vti predict writes its table.
const predictionsFile = "predictions.csv"

type predictFlags struct {
	out, draws string
	level      float64
	seed       uint64

	quiet, json bool
}

// Predict returns the command vti predict.
func Predict(a *shell.App, all application.Registry) *cobra.Command {
	f := &predictFlags{}
	cmd := &cobra.Command{
		Use:   "predict RUN [TABLE]",
		Short: "Predict the rows of a table, averaged over models",
		Long: `Predicts rows with a finished run of vti varsel, vti exact, vti rjmcmc varsel or vti hbm: the rows
of TABLE (CSV or Parquet), or without one the rows that the run was fitted to. Every posterior draw
has its own model, so that predictions are averaged over models by their probability.

Each row gets the expected response (for a binary response, the probability of the second value),
its interval, and a prediction interval for a new response. The table needs the columns of all
predictors. Labels that the run has not seen are errors, with their position; numbers outside the
observed range are noted. With vti hbm, groups that the run has seen keep their effects, and effects
of new groups are drawn from the distribution of groups. If the table has the response, predictions
are compared with it.

The predictions of all rows are written to ` + predictionsFile + ` in the directory of the run, or to --out.`,
		Example: `  vti predict runs/varsel-20260131-120000 new.csv
  vti predict runs/hbm-20260131-120000 new.csv --draws draws.parquet --level 0.8`,
		Args: cli.Arguments(1, 2, "a run directory and at most one table"),
		RunE: func(cmd *cobra.Command, args []string) error { return runPredict(a, cmd, all, args, f) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "out", "o", "", "`file` of the predictions as CSV (default "+predictionsFile+" in the run directory)")
	flags.StringVar(&f.draws, "draws", "", "`file` for the draws of every row as Parquet: expected values and new responses")
	flags.Float64Var(&f.level, "level", 0.95, "`probability` of the intervals")
	flags.Uint64Var(&f.seed, "seed", 0, "random seed of new responses")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print nothing: predictions are in the file")
	flags.BoolVar(&f.json, "json", false, "print one JSON object on standard output, and nothing else")
	return cmd
}

// tableOfRun is the name in answers of the table of the run itself, which is predicted if no other
// table is given.
const tableOfRun = "its own rows"

func runPredict(a *shell.App, cmd *cobra.Command, all application.Registry, args []string, f *predictFlags) error {
	config := predict.Config{Level: f.level, Seed: f.seed}
	if err := config.Validate(); err != nil || f.level == 0 {
		return fmt.Errorf("--level: got %v, want a number between 0 and 1", f.level)
	}
	run, err := all.ReadPredictor(args[0])
	if err != nil {
		return err
	}
	var fresh *table.Table
	name := tableOfRun
	if len(args) == 2 {
		name = args[1]
		if fresh, err = table.ReadFile(args[1]); err != nil {
			return err
		}
	}
	rows, err := run.Rows(fresh)
	if err != nil {
		return err
	}
	result, err := predict.Summarise(cmd.Context(), rows, config)
	if err != nil {
		return err
	}
	result.Schema, result.RunDir, result.Data = shell.SchemaOf("predict"), args[0], name
	f.out = cmp.Or(f.out, filepath.Join(args[0], predictionsFile))
	if err := result.WriteCSV(f.out); err != nil {
		return shell.Failed(err)
	}
	result.Files = append(result.Files, f.out)
	if f.draws != "" {
		if err := predict.WriteDraws(cmd.Context(), f.draws, rows, f.seed); err != nil {
			return shell.Failed(err)
		}
		result.Files = append(result.Files, f.draws)
	}
	return a.Answer(f.json, result, func() {
		if !f.quiet {
			printPredictions(a.Text, result, rows.Unit)
		}
	})
}

// shownRows is the number of rows that are printed. The file has all rows.
const shownRows = 25

func printPredictions(w io.Writer, r *predict.Result, unit string) {
	level := fmt.Sprintf("%g%%", 100*float64(r.Level))
	rows := english.Count(len(r.Predictions), "row") + " of " + r.Data
	if r.Data == tableOfRun {
		rows = "its own " + english.Count(len(r.Predictions), "row")
	}
	fmt.Fprintf(w, "Predictions of %s, averaged over the models of %s\n", rows, english.Count(r.Draws, "posterior draw"))
	for _, note := range r.Notes {
		fmt.Fprintf(w, "  note: %s\n", note)
	}
	fmt.Fprintln(w)
	predictedRows(r, unit, level).Print(w)
	if more := len(r.Predictions) - shownRows; more > 0 {
		fmt.Fprintf(w, "  and %s\n", english.Count(more, "more row"))
	}
	switch o := r.Observed; {
	case o != nil && r.Categories != nil:
		fmt.Fprintf(w, "\nThe table has the response: mean log score %s.\n", document.Short(o.LogScore))
	case o != nil:
		fmt.Fprintf(w, "\nThe table has the response: root mean square error %s, %.0f%% of responses in their %s intervals,\nmean log score %s.\n",
			document.Short(o.RMSE), 100*float64(o.Covered), level, document.Short(o.LogScore))
	}
	fmt.Fprintf(w, "\nWritten to %s.\n", strings.Join(r.Files, " and "))
}

// predictedRows returns a line for each row: the predicted probabilities of its categories, or its
// expected response.
func predictedRows(r *predict.Result, unit, level string) *document.Grid {
	header := []string{unit}
	switch {
	case r.Categories != nil:
		header = append(header, apply.To(r.Categories, func(category string) string { return "P(" + category + ")" })...)
	case r.Labels != nil:
		header = append(header, "P("+r.Labels[1]+")", "<"+level+" of it", "<"+level+" of a response")
	default:
		header = append(header, "expected", "<"+level+" of it", "<"+level+" of a response")
	}
	if r.Observed != nil {
		header = append(header, "observed")
	}
	table := &document.Grid{Rows: [][]string{header}}
	for _, p := range r.Predictions[:min(shownRows, len(r.Predictions))] {
		cells := append([]string{fmt.Sprint(p.Row)}, apply.To(p.Probabilities, document.Short)...)
		if r.Categories == nil {
			cells = append(cells, document.Short(p.Mean), document.Interval(p.ExpectedLow, p.ExpectedHigh), document.Interval(p.Low, p.High))
		}
		switch {
		case p.Observed != nil && r.Categories != nil:
			cells = append(cells, r.Categories[int(*p.Observed)])
		case p.Observed != nil:
			cells = append(cells, document.Short(*p.Observed))
		case r.Observed != nil:
			cells = append(cells, "") // of this time only a lower bound is known
		}
		table.Add(cells...)
	}
	return table
}
