package answers

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/cmd/internal/studies"
	"github.com/transdim/vti/report"
)

// Report returns the command vti report.
func Report(a *shell.App, all application.Registry) *cobra.Command {
	var out string
	var open bool
	cmd := &cobra.Command{
		Use:   "report RUN...",
		Short: "Write the HTML report of a run, or of several side by side",
		Long: `Writes one HTML file from the directory of a finished run: the answer in three sentences, its
verdict and what to do next, pictures and tables, and how the verdict was reached. The file is
self-contained: it needs no network, and JavaScript only for sorting and filtering.

Every run writes it as report.html when it ends, with the pictures as SVG and PNG in figures/. Given
several runs on the same table, the report sets their answers side by side. Given the plan of a
study, it shows how tasks ended, their cost, and the distribution of probabilities.`,
		Example: `  vti report runs/varsel-20260131-120000 --open
  vti report eqtl.toml
  vti report runs/exact-20260131-120000 runs/varsel-20260131-120500 --out both.html`,
		Args: cli.Arguments(1, 0, "run directories, or the plan of a study"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return writeReport(a, cmd.Context(), all, args, out, open)
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "`file` to write (default report.html in the directory of the run, of several in this one)")
	cmd.Flags().BoolVar(&open, "open", false, "open the page in the browser")
	return cmd
}

func writeReport(a *shell.App, ctx context.Context, all application.Registry, dirs []string, out string, open bool) error {
	if len(dirs) == 1 && filepath.Ext(dirs[0]) == ".toml" {
		out, err := studies.WriteReport(ctx, a, all, dirs[0], out)
		if err != nil {
			return err
		}
		return shown(a, ctx, out, open)
	}
	runs, err := all.ReadAll(dirs...)
	if err != nil {
		return err
	}
	if page := runs[0].Page; out == "" && len(dirs) == 1 {
		out = filepath.Join(dirs[0], report.File)
		err = page.Finish(ctx, dirs[0])
	} else {
		out = cmp.Or(out, report.File)
		err = page.Write(ctx, out, func(ctx context.Context, dirA, dirB string) (*report.Compared, error) {
			c, err := all.Compare(ctx, dirA, dirB)
			if err != nil {
				return nil, err
			}
			return c.Compared, nil
		}, dirs...)
	}
	if err != nil {
		return err
	}
	return shown(a, ctx, out, open)
}

// shown prints the path of a page, and opens the page in a browser if open is true.
func shown(a *shell.App, ctx context.Context, out string, open bool) error {
	fmt.Fprintln(a.Text, out)
	if open {
		out, err := filepath.Abs(out)
		if err != nil {
			return shell.Failed(err)
		}
		return shell.OpenPage(ctx, out)
	}
	return nil
}
