package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/lab/timing"
)

func hbmCommand(a *shell.App) *cobra.Command {
	f := tablesFlags{repetitions: 1}
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
		Example: "  vtilab hbm --only penicillin,oats\n  vtilab hbm --data testdata,../data --seeds 5 --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return compareHierarchies(a, cmd, &f) },
	}
	f.register(cmd, "seeds")
	return cmd
}

// compareHierarchies runs vti hbm on the chosen tables, and prints a line for each table as soon as
// its result is known.
func compareHierarchies(a *shell.App, cmd *cobra.Command, f *tablesFlags) error {
	all, err := timing.Hierarchies()
	if err != nil {
		return shell.Failed(err)
	}
	tables, err := chosen(f, all, func(h timing.Hierarchy) string { return h.Name })
	if err != nil {
		return err
	}
	m, done, err := f.measurement(a)
	if err != nil {
		return err
	}
	defer done()
	const line = "%-12s %-9s %10s %14s %10s %11s %9s %8s %8s\n"
	if !f.json {
		fmt.Fprintf(a.Stdout, line, "table", "verdict", "mean, sds", "sd by sd", "evidence", "not stated", "seconds", "lme4", "Stan")
	}
	var rows []timing.HierarchyRow
	for _, h := range tables {
		row, err := m.RunHierarchy(cmd.Context(), h)
		if err != nil {
			return shell.Failed(err)
		}
		if rows = append(rows, row); f.json {
			continue
		}
		if row.Skipped != "" {
			fmt.Fprintf(a.Stdout, "%-12s %s\n", row.Name, row.Skipped)
			continue
		}
		ratio, name := "", row.Name
		if row.Flat {
			name += "*"
		}
		if row.SDRatio != nil {
			ratio = fmt.Sprintf("%.3f to %.3f", row.SDRatio[0], row.SDRatio[1])
		}
		fmt.Fprintf(a.Stdout, line, name, row.Verdict, errorText(row.LargestShift), ratio, errorText(row.EvidenceError),
			fmt.Sprintf("%d of %d", row.Unresolved, 2*row.Compared*row.Seeds), fmt.Sprintf("%.2f", row.Seconds), secondsOrNone(row.LME4), secondsOrNone(row.Stan))
	}
	if f.json {
		return a.PrintJSON(map[string]any{"tables": rows})
	}
	return nil
}
