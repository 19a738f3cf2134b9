package main

import (
	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/selection"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/lab/published"
)

// simulateCommand returns the command that simulates the VTI paper's tables for robust regression.
func simulateCommand(a *shell.App) *cobra.Command {
	var d published.Design
	var out string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "simulate --out FILE",
		Short: "Simulate a table of the robust design of Davies et al. (2025)",
		Long: `Writes a table (CSV, response y) of the robust design of Davies et al. (2025), and prints which
predictors matter in it: a column of ones x0, each predictor in with probability 0.4 with an effect
of 0.5, a tenth of the rows outliers. Noise scales of bulk and outliers are 1 and 10 with
--misspecification none, as the robust likelihood assumes; 2 and 5 with medium; 4 and 4 with high,
where some of the other predictors are correlated with those that are in. With medium and high,
effects are 1.5 in half of the rows. The same flags give the same file.`,
		Example: `  vtilab simulate --predictors 9 --misspecification high --out robust.csv
  vti varsel robust.csv --target y --likelihood robust --no-intercept --no-standardize --always x0`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return selection.WriteSimulated(a, d.Simulate(), out, asJSON) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Var(cli.Count(&d.Rows, 2), "rows", "observations (default 50)")
	flags.Var(cli.Count(&d.Predictors, 1), "predictors", "predictors to select from (default 7)")
	flags.Var(cli.Name(&d.Misspecification), "misspecification", "none, medium or high")
	flags.Uint64Var(&d.Seed, "seed", 0, "random seed")
	flags.StringVarP(&out, "out", "o", "", "`file` to write (required); - for standard output")
	flags.BoolVar(&asJSON, "json", false, "print the effects as JSON")
	return cmd
}
