package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/vti/internal/timecheck"
)

// hierarchyFlags say what vti benchmark hbm measures.
type hierarchyFlags struct {
	data, only  []string
	seeds       int
	seed        uint64
	json, quiet bool
}

// hierarchiesBenchmark is what vti benchmark hbm prints with --json.
type hierarchiesBenchmark struct {
	Tables []timecheck.HierarchyRow `json:"tables"`
}

func (a *app) benchmarkHbmCommand() *cobra.Command {
	f := hierarchyFlags{data: []string{"testdata"}, seeds: 1}
	cmd := &cobra.Command{
		Use:   "hbm",
		Short: "Compare hierarchical regressions with references under the same priors",
		Long: `Answers tables of lme4, nlme, MASS and posteriordb by vti hbm, each with seeds from --seed on and as a
command of its own, and prints the worst verdict, the largest difference of a posterior mean from the
reference in its standard deviations, the range of standard deviations by those of the reference, the
largest error of a log evidence, and seconds, beside those of lme4 and Stan. References were computed in
R under the same priors: by importance sampling, or, where there are seconds of Stan, by Stan
(benchmarks/hbm_stan.R), which has no evidence. Those of tables with a star are estimates and standard
errors of lme4, which has no priors either. Tables that no folder of --data has, or that do not run, say
so.

Times are those of this machine as busy as it is; lme4's are processor seconds of one fit and Stan's of
four chains of a thousand draws, without the half minute of its compilation, stored.`,
		Example: "  vti benchmark hbm --only penicillin,oats\n  vti benchmark hbm --data testdata,../data --seeds 5 --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.benchmarkHbm(cmd, f) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringSliceVar(&f.data, "data", f.data, "`folders` with tables, each there or in a folder in it")
	flags.StringSliceVar(&f.only, "only", nil, "`tables` to answer, by the beginnings of their names (default all)")
	flags.Var(count{&f.seeds, 1}, "seeds", "number of seeds for each table")
	flags.Uint64Var(&f.seed, "seed", 1, "the first of them")
	flags.BoolVar(&f.json, "json", false, "print one JSON object on standard output, and nothing else")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress on standard error")
	return cmd
}

// benchmarkHbm measures and prints a line for each table as soon as it is known.
func (a *app) benchmarkHbm(cmd *cobra.Command, f hierarchyFlags) error {
	all, err := timecheck.Hierarchies()
	if err != nil {
		return failure{err}
	}
	tables := slices.DeleteFunc(slices.Clone(all), func(h timecheck.Hierarchy) bool {
		return len(f.only) > 0 && !slices.ContainsFunc(f.only, func(start string) bool { return strings.HasPrefix(h.Name, start) })
	})
	if len(tables) == 0 {
		var names []string
		for _, h := range all {
			names = append(names, h.Name)
		}
		return fmt.Errorf("--only: no table begins with %q; there are %s", f.only, strings.Join(names, ", "))
	}
	program, err := os.Executable()
	if err != nil {
		return failure{err}
	}
	scratch, err := os.MkdirTemp("", "vti-hbm-")
	if err != nil {
		return failure{err}
	}
	defer os.RemoveAll(scratch)
	shown := &progress{}
	if !f.quiet {
		shown = newProgress(a.stderr)
	}
	m := timecheck.Measurement{
		Program: program, Repetitions: f.seeds, Seed: f.seed, Folders: f.data, Scratch: scratch,
		Progress: func(text string) { shown.line(text, false) },
	}
	defer shown.end()
	const line = "%-12s %-9s %10s %14s %10s %11s %9s %8s %8s\n"
	if !f.json {
		fmt.Fprintf(a.stdout, line, "table", "verdict", "mean, sds", "sd by sd", "evidence", "not stated", "seconds", "lme4", "Stan")
	}
	var rows []timecheck.HierarchyRow
	for _, h := range tables {
		row, err := m.RunHierarchy(cmd.Context(), h)
		if err != nil {
			return failure{err}
		}
		if rows = append(rows, row); f.json {
			continue
		}
		shown.end()
		if row.Skipped != "" {
			fmt.Fprintf(a.stdout, "%-12s %s\n", row.Name, row.Skipped)
			continue
		}
		ratio, name := "", row.Name
		if row.Flat {
			name += "*"
		}
		if row.SDRatio != nil {
			ratio = fmt.Sprintf("%.3f to %.3f", row.SDRatio[0], row.SDRatio[1])
		}
		fmt.Fprintf(a.stdout, line, name, row.Verdict, errorText(row.LargestShift), ratio, errorText(row.EvidenceError),
			fmt.Sprintf("%d of %d", row.Unresolved, 2*row.Compared*row.Seeds), fmt.Sprintf("%.2f", row.Seconds), secondsOrNone(row.LME4), secondsOrNone(row.Stan))
	}
	if f.json {
		return a.describe("benchmark-hbm", hierarchiesBenchmark{rows})
	}
	return nil
}
