package studies

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/console"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/memory"
	"github.com/transdim/vti/study"
)

func studyCollectCommand(a *shell.App, read planFunc) *cobra.Command {
	var cfg study.CollectConfig
	var asJSON, quiet bool
	cmd := &cobra.Command{
		Use:   "collect PLAN --out FILE",
		Short: "Collect the answers of a study in Parquet files",
		Long: `Writes a Parquet file with one row a task: its settings, whether it is done, failed or missing, the
verdict, and every scalar of its answer. Lists of an answer are written to separate files next to
it, with the settings of the task in every row: results.inclusion.parquet, results.models.parquet,
results.edges.parquet and so on. Times are in results.costs.parquet.

It can be run while tasks are running. The same answers give the same bytes wherever they were
computed, except for the costs.`,
		Example: "  vti study collect eqtl.toml --out results.parquet",
		Args:    planArgument,
		RunE: read.run(func(cmd *cobra.Command, plan *study.Plan) error {
			if filepath.Ext(cfg.Out) != ".parquet" {
				return fmt.Errorf("expected --out with a name that ends in .parquet, found %q", cfg.Out)
			}
			shown := console.NewProgress(a.Stderr, quiet)
			// few objects live long, and a collector that lets four times more garbage accumulate
			// saves a fifth of the processor time
			defer debug.SetGCPercent(debug.SetGCPercent(400))
			pace := console.NewPace()
			cfg.Report = func(read int) {
				shown.Line(fmt.Sprintf("%d/%s  %s", read, english.Count(plan.Tasks(), "task"), pace.Text(read, plan.Tasks())), read == plan.Tasks())
			}
			summary, err := plan.Collect(cmd.Context(), cfg)
			shown.End()
			if err != nil {
				return errors.Join(cmd.Context().Err(), shell.Failed(err))
			}
			return a.Answer(asJSON, shell.Described{Schema: "study-collect", Object: summary}, func() { printStudySummary(a, summary) })
		}),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&cfg.Out, "out", "o", "", "`file` to write (required)")
	flags.StringSliceVar(&cfg.Tables, "tables", study.LongTables, "`lists` of an answer that become files")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object")
	flags.BoolVarP(&quiet, "quiet", "q", false, "no progress on standard error")
	return cmd
}

func printStudySummary(a *shell.App, s *study.Summary) {
	fmt.Fprintf(a.Text, "%s: %d done, %d failed, %d missing\n", english.Count(s.Tasks, "task"), s.Done, s.Failed, s.Missing)
	if s.Damaged > 0 {
		fmt.Fprintf(a.Text, "%d of the missing tasks could not be read whole: collect again later, or run the study again\n", s.Damaged)
	}
	verdicts := apply.To(slices.Sorted(maps.Keys(s.Verdicts)), func(verdict string) string { return fmt.Sprintf("%d %s", s.Verdicts[verdict], verdict) })
	if len(verdicts) > 0 {
		fmt.Fprintf(a.Text, "verdicts: %s\n", strings.Join(verdicts, ", "))
	}
	fmt.Fprintf(a.Text, "%s of processor time; the longest task took %.3g s, the largest %s\n", document.TimeText(s.CPUSeconds), s.Longest, memory.Text(s.PeakBytes))
	for _, file := range slices.Sorted(maps.Keys(s.Files)) {
		fmt.Fprintf(a.Text, "%s: %s\n", file, english.Count(s.Files[file], "row"))
	}
}
