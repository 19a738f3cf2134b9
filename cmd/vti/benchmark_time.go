package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/vti/internal/timecheck"
	"github.com/transdim/vti/internal/verdict"
)

// timeFlags say what vti benchmark time measures.
type timeFlags struct {
	data               []string
	only               []string
	repetitions, fixed int
	seed               uint64
	json, quiet        bool
}

func (a *app) benchmarkTimeCommand() *cobra.Command {
	f := timeFlags{data: []string{"testdata"}, repetitions: 5}
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
		Example: "  vti benchmark time --only hald,diabetes\n  vti benchmark time --data testdata --data ../data --fixed 1 --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.benchmarkTime(cmd, f) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringSliceVar(&f.data, "data", f.data, "`folders` with tables, each there or in a folder of its name")
	flags.StringSliceVar(&f.only, "only", nil, "`tables` to answer, by the beginnings of their names (default all)")
	flags.Var(count{&f.repetitions, 1}, "repetitions", "number of repetitions of each")
	flags.Var(count{&f.fixed, 0}, "fixed", "number of additional repetitions with --effort fixed")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of the first repetition")
	flags.BoolVar(&f.json, "json", false, "print one JSON object on standard output, and nothing else")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress on standard error")
	return cmd
}

// benchmarkTime measures and prints a line for each table as soon as it is known.
func (a *app) benchmarkTime(cmd *cobra.Command, f timeFlags) error {
	cases, err := casesOf(f.only)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return failure{err}
	}
	scratch, err := os.MkdirTemp("", "vti-time-")
	if err != nil {
		return failure{err}
	}
	defer os.RemoveAll(scratch)
	shown := &progress{}
	if !f.quiet {
		shown = newProgress(a.stderr)
	}
	m := timecheck.Measurement{
		Program: program, Repetitions: f.repetitions, FixedRepetitions: f.fixed, Seed: f.seed, Folders: f.data, Scratch: scratch,
		Progress: func(text string) { shown.line(text, false) },
	}
	timings, err := a.measureTimes(cmd.Context(), m, cases, f.json)
	shown.end()
	if err != nil {
		return failure{err}
	}
	if f.json {
		return a.describe("benchmark-time", timesBenchmark{timings})
	}
	return nil
}

// casesOf are those whose names begin as one of the given texts, or all.
func casesOf(only []string) (cases []timecheck.Case, err error) {
	all := timecheck.Cases()
	if len(only) == 0 {
		return all, nil
	}
	for _, c := range all {
		if slices.ContainsFunc(only, func(start string) bool { return strings.HasPrefix(c.Name, start) }) {
			cases = append(cases, c)
		}
	}
	if len(cases) == 0 {
		var names []string
		for _, c := range all {
			names = append(names, c.Name)
		}
		return nil, fmt.Errorf("--only: no table begins with %q; there are %s", only, strings.Join(names, ", "))
	}
	return cases, nil
}

// timesBenchmark is what vti benchmark time prints with --json.
type timesBenchmark struct {
	Tables []timecheck.Timing `json:"tables"`
}

// measureTimes measures cases one after the other, and prints lines unless the answer is JSON.
func (a *app) measureTimes(ctx context.Context, m timecheck.Measurement, cases []timecheck.Case, quiet bool) (timings []timecheck.Timing, err error) {
	const header, line = "%-30s %8s %8s %8s %8s  %-9s %9s %9s  %s\n", "%-30s %8s %8s %8s %8s  %-9s %9s %9s  %s"
	if !quiet {
		fmt.Fprintf(a.stdout, header, "table", "median s", "worst s", "cpu s", "wanted s", "verdict", "error", "to fixed", "with fixed effort")
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
			fmt.Fprintf(a.stdout, "%-30s %s\n", t.Name, t.Skipped)
			continue
		}
		text := fmt.Sprintf(line, t.Name, fmt.Sprintf("%.2f", t.Median), fmt.Sprintf("%.2f", t.Worst), fmt.Sprintf("%.2f", t.CPU), secondsOrNone(t.Wanted), t.Verdict,
			errorText(t.LargestError), errorText(t.AgainstFixed), fixedText(t))
		fmt.Fprintln(a.stdout, strings.TrimRight(text, " "))
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

// fixedText is the verdict with fixed effort, and how many times as long it took.
func fixedText(t timecheck.Timing) string {
	if t.FixedVerdict == nil {
		return ""
	}
	text := fmt.Sprintf("%.2f s, %.2g times as long", t.Fixed, t.Fixed/t.Median)
	if *t.FixedVerdict != verdict.Trusted {
		text += ", " + t.FixedVerdict.String()
	}
	return text
}
