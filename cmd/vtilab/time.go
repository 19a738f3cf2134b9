package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/lab/timing"
)

func timeCommand(a *shell.App) *cobra.Command {
	f, fixed := tablesFlags{repetitions: 5}, 0
	cmd := &cobra.Command{
		Use:   "time",
		Short: "Measure time to an answer, and its error",
		Long: `Analyses a list of tables, each several times as a separate command, with seeds from --seed on, and
prints the median and the worst of the times, the median processor time of all threads, the worst
verdict, and the largest error of an inclusion probability: against vti exact where there is a
closed form, or against stored evidences. Simulated tables are made by vti simulate; the others are
read from the folders of --data, and skipped if missing.

Times depend on the load of this machine: compare them only within a run, and on a busy machine
compare processor times.`,
		Example: "  vtilab time --only hald,diabetes\n  vtilab time --data testdata --data ../data --fixed 1 --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runTimes(a, cmd, &f, fixed) },
	}
	f.register(cmd, "repetitions")
	cmd.Flags().Var(cli.Count(&fixed, 0), "fixed", "number of additional repetitions with --effort fixed")
	return cmd
}

// runTimes measures the chosen tables, and prints a line for each table as soon as its times are
// known.
func runTimes(a *shell.App, cmd *cobra.Command, f *tablesFlags, fixed int) error {
	cases, err := chosen(f, timing.Cases(), func(c timing.Case) string { return c.Name })
	if err != nil {
		return err
	}
	m, done, err := f.measurement(a)
	if err != nil {
		return err
	}
	m.FixedRepetitions = fixed
	timings, err := measureTimes(a, cmd.Context(), m, cases, f.json)
	done()
	if err != nil {
		return shell.Failed(err)
	}
	if f.json {
		return a.PrintJSON(map[string]any{"tables": timings})
	}
	return nil
}

// measureTimes measures cases one after the other. Unless quiet is true it prints a line for each.
func measureTimes(a *shell.App, ctx context.Context, m timing.Measurement, cases []timing.Case, quiet bool) (timings []timing.Timing, err error) {
	const header, line = "%-30s %8s %8s %8s %8s  %-9s %9s %9s  %s\n", "%-30s %8s %8s %8s %8s  %-9s %9s %9s  %s"
	if !quiet {
		fmt.Fprintf(a.Stdout, header, "table", "median s", "worst s", "cpu s", "wanted s", "verdict", "error", "to fixed", "with fixed effort")
	}
	for _, c := range cases {
		t, err := m.Run(ctx, c)
		if err != nil {
			return timings, err
		}
		timings = append(timings, t)
		if quiet {
			continue
		}
		if t.Skipped != "" {
			fmt.Fprintf(a.Stdout, "%-30s %s\n", t.Name, t.Skipped)
			continue
		}
		text := fmt.Sprintf(line, t.Name, fmt.Sprintf("%.2f", t.Median), fmt.Sprintf("%.2f", t.Worst), fmt.Sprintf("%.2f", t.CPU), secondsOrNone(t.Wanted), t.Verdict,
			errorText(t.LargestError), errorText(t.AgainstFixed), fixedText(t))
		fmt.Fprintln(a.Stdout, strings.TrimRight(text, " "))
	}
	return timings, nil
}

func secondsOrNone(seconds float64) string {
	if seconds == 0 {
		return ""
	}
	return fmt.Sprintf("%.3g", seconds)
}

func errorText(value *float64) string {
	if value == nil {
		return ""
	}
	return fmt.Sprintf("%.4f", *value)
}

// fixedText returns a text with the time of the runs with fixed effort, the ratio of this time to
// the median time, and the verdict unless it is "trusted".
func fixedText(t timing.Timing) string {
	if t.FixedVerdict == nil {
		return ""
	}
	text := fmt.Sprintf("%.2f s, %.2g times as long", t.Fixed, t.Fixed/t.Median)
	if *t.FixedVerdict != verdict.Trusted {
		text += ", " + t.FixedVerdict.String()
	}
	return text
}
