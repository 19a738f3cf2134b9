package selection

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/varsel/design"
)

// Simulated is the JSON of vti simulate.
type Simulated struct {
	Data    string          `json:"data"`
	Rows    int             `json:"rows"`
	Columns int             `json:"columns"`
	Effects []design.Effect `json:"effects"`
}

func simulateVarselCommand(a *shell.App) *cobra.Command {
	var s design.Simulation
	var noise cli.Positive
	var out string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "varsel --out FILE",
		Short: "Simulate a table for variable selection",
		Long: `Writes a table (CSV, response y) and prints which predictors matter in it. The same flags give the same file.

ar1 few effects, of absolute size from 1 down to 0.3 and with random signs, at random positions
         among normal predictors whose neighbours correlate, and a normal response, or that of
         another --likelihood
  paper  the robust design of Davies et al. (2025): a column of ones x0, each predictor in with
         probability 0.4 with an effect of 0.5, a tenth of the rows outliers. Noise scales of bulk
         and outliers are 1 and 10 with --misspecification none, as the robust likelihood assumes;
         2 and 5 with medium; 4 and 4 with high, where some of the other predictors are correlated
         with those that are in. With medium and high, effects are 1.5 in half of the rows`,
		Example: `  vti simulate varsel --rows 300 --predictors 1000 --effects 8 --correlation 0.5 --out wide.csv
  vti varsel wide.csv --target y
  vti simulate varsel --design paper --predictors 9 --misspecification high --out robust.csv
  vti varsel robust.csv --target y --likelihood robust --no-intercept --no-standardize --always x0`,
		Args: cobra.NoArgs,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Var(cli.Name(&s.Design), "design", "ar1 or paper")
	flags.Var(cli.Count{Value: &s.Rows, Least: 2}, "rows", "observations (default 300; paper 50)")
	flags.Var(cli.Count{Value: &s.Predictors, Least: 1}, "predictors", "predictors to select from (default 1000; paper 7)")
	flags.Var(cli.Count{Value: &s.Effects, Least: 1}, "effects", "ar1: predictors that matter (default 8)")
	flags.Float64Var(&s.Correlation, "correlation", 0.5, "ar1: correlation of neighbouring predictors, from 0 to below 1")
	flags.Var(&noise, "noise", "ar1: standard deviation of the noise (default 1), or noise scale of a robust or student response")
	flags.Var(cli.Name(&s.Likelihood), "likelihood", "ar1: distribution of the response, a likelihood of vti varsel")
	flags.Var(cli.Name(&s.Misspecification), "misspecification", "paper: none, medium or high")
	flags.Uint64Var(&s.Seed, "seed", 0, "random seed")
	flags.StringVarP(&out, "out", "o", "", "`file` to write (required); - for standard output")
	flags.BoolVar(&asJSON, "json", false, "print the effects as JSON")
	cli.CompleteWith(cmd, "design", "ar1", "paper")
	cli.CompleteLikelihoods(cmd, likelihood.Kinds())
	cli.CompleteWith(cmd, "misspecification", "none", "medium", "high")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s.Noise = float64(noise)
		if err := checkSimulationFlags(cmd.Flags(), s.Design); err != nil {
			return err
		}
		return simulateSelection(a, s, out, asJSON)
	}
	return cmd
}

// checkSimulationFlags refuses flags of another design.
func checkSimulationFlags(flags *pflag.FlagSet, chosen design.SimulationDesign) error {
	for flag, of := range map[string]design.SimulationDesign{
		"effects": design.AR1Design, "correlation": design.AR1Design, "noise": design.AR1Design, "likelihood": design.AR1Design, "misspecification": design.PaperDesign,
	} {
		if flags.Changed(flag) && of != chosen {
			return fmt.Errorf("--%s is for --design %s; this one is %s", flag, of, chosen)
		}
	}
	return nil
}

// simulateSelection writes the table and prints the truth: to standard error if the table goes to
// standard output.
func simulateSelection(a *shell.App, s design.Simulation, out string, asJSON bool) error {
	if out == "" {
		return fmt.Errorf("no file to write was given: expected --out FILE, or --out - for standard output")
	}
	data, err := design.Simulate(s)
	if err != nil {
		return err
	}
	var report io.Writer = a.Text
	if out == "-" {
		report = a.Stderr
		err = data.WriteCSV(a.Stdout)
	} else {
		if _, exists := os.Stat(out); exists == nil {
			return fmt.Errorf("%s exists already", out)
		}
		err = atomicfile.Write(out, func(w io.Writer) error { return data.WriteCSV(w) })
	}
	if err != nil {
		return shell.Failed(err)
	}
	if asJSON {
		return shell.PrintJSON(report, shell.Described{Schema: "simulate-selection", Object: Simulated{Data: out, Rows: len(data.Columns[0]), Columns: len(data.Names), Effects: data.Effects}})
	}
	fmt.Fprintf(report, "%s: %s, %s, response y; %s with an effect\n", out, english.Count(len(data.Columns[0]), "row"), english.Count(len(data.Names), "column"), english.Count(len(data.Effects), "predictor"))
	for _, effect := range data.Effects {
		of := ""
		if effect.Category != nil {
			of = fmt.Sprintf("  log odds of category %d", *effect.Category)
		}
		fmt.Fprintf(report, "  %-8s %6.3f%s\n", effect.Name, effect.Size, of)
	}
	return nil
}
