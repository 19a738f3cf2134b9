package studies

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/study"
)

func studyDiscoveriesCommand(a *shell.App) *cobra.Command {
	var truth, out string
	var level float64
	cmd := &cobra.Command{
		Use:   "discoveries FILE",
		Short: "List discoveries over all responses at a false discovery rate",
		Long: `Reads the inclusion probabilities of a study of responses, as vti study collect writes them, and
lists the most probable pairs of a response and a predictor, as many as keep the expected false
discovery rate below --fdr. That rate is the mean of one minus the probability over the pairs
listed; it is right if the prior probability of a predictor is.

With --truth, for simulated tables, the observed rate is printed too.`,
		Example: "  vti study discoveries results.inclusion.parquet --fdr 0.05 --truth truth.csv --out found",
		Args:    cli.Arguments(1, 1, "one FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if level <= 0 || level >= 1 {
				return fmt.Errorf("--fdr: expected a number between 0 and 1, found %g", level)
			}
			d, err := study.ReadDiscoveries(cmd.Context(), args[0], truth)
			if err != nil {
				return err
			}
			n := d.At(level)
			printDiscoveries(a, d, n, level)
			if out == "" {
				return nil
			}
			if err := os.MkdirAll(out, 0o755); err != nil {
				return shell.Failed(err)
			}
			if err := d.Write(filepath.Join(out, "discoveries.csv"), n); err != nil {
				return shell.Failed(err)
			}
			if err := d.WritePictures(out); err != nil {
				return shell.Failed(err)
			}
			fmt.Fprintf(a.Text, "\n%s holds discoveries.csv, strongest.svg, fdr.svg, and both as PNG\n", out)
			return nil
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Float64Var(&level, "fdr", 0.05, "expected share of false discoveries")
	flags.StringVar(&truth, "truth", "", "CSV `file` with the pairs that matter (response,predictor)")
	flags.StringVarP(&out, "out", "o", "", "`directory` for the list and the figures")
	return cmd
}

// printedDiscoveries is the number of discoveries that are printed; the file has all of them.
const printedDiscoveries = 10

func printDiscoveries(a *shell.App, d *study.Discoveries, n int, level float64) {
	fmt.Fprintf(a.Text, "%s among %s, with an expected share of false ones of at most %g\n", english.Count(n, "discovery"), english.Count(len(d.List), "pair"), level)
	if d.Known && n > 0 {
		wrong := d.False(n)
		fmt.Fprintf(a.Text, "by the truth %d %s false, a share of %.3f; %d of %s %s found\n", wrong, english.Form(wrong, "is", "are"), float64(wrong)/float64(n), n-wrong, english.Count(d.Effects, "effect"), english.Form(n-wrong, "is", "are"))
	}
	rows := &document.Grid{}
	head := []string{"<response", "<predictor", "probability", "FDR"}
	if d.Known {
		head = append(head, "<truth")
	}
	rows.Add(head...)
	for _, found := range d.List[:min(n, printedDiscoveries)] {
		cells := []string{found.Response, found.Predictor, fmt.Sprintf("%.6f", found.Probability), fmt.Sprintf("%.2g", found.FDR)}
		if d.Known {
			cells = append(cells, map[bool]string{true: "true", false: "false"}[found.True])
		}
		rows.Add(cells...)
	}
	fmt.Fprintln(a.Text)
	rows.Print(a.Text)
	if more := n - printedDiscoveries; more > 0 {
		fmt.Fprintf(a.Text, "  … and %d more\n", more)
	}
}
