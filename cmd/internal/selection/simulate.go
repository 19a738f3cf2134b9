package selection

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/varsel/design"
)

// Simulated is the object that vti simulate prints as JSON.
type Simulated struct {
	Data    string          `json:"data"`
	Rows    int             `json:"rows"`
	Columns int             `json:"columns"`
	Effects []design.Effect `json:"effects"`
}

func simulateVarselCommand(a *shell.App) *cobra.Command {
	var s design.Simulation
	var out string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "varsel --out FILE",
		Short: "Simulate a table for variable selection",
		Long: `Writes a table (CSV, response y) and prints which predictors matter in it: few effects, of absolute
size from 1 down to 0.3 and with random signs, at random positions among normal predictors whose
neighbours correlate, and a normal response, or that of another --likelihood. The same flags give
the same file.`,
		Example: `  vti simulate varsel --rows 300 --predictors 1000 --effects 8 --correlation 0.5 --out wide.csv
  vti varsel wide.csv --target y`,
		Args: cobra.NoArgs,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Var(cli.Count(&s.Rows, 2), "rows", "observations (default 300)")
	flags.Var(cli.Count(&s.Predictors, 1), "predictors", "predictors to select from (default 1000)")
	flags.Var(cli.Count(&s.Effects, 1), "effects", "predictors that matter (default 8)")
	flags.Float64Var(&s.Correlation, "correlation", 0.5, "correlation of neighbouring predictors, from 0 to below 1")
	flags.Var(cli.Positive(&s.Noise), "noise", "standard deviation of the noise (default 1), or noise scale of a robust or student response")
	flags.Var(cli.Name(&s.Likelihood), "likelihood", "distribution of the response, a likelihood of vti varsel")
	flags.Uint64Var(&s.Seed, "seed", 0, "random seed")
	flags.StringVarP(&out, "out", "o", "", "`file` to write (required); - for standard output")
	flags.BoolVar(&asJSON, "json", false, "print the effects as JSON")
	cli.CompleteLikelihoods(cmd, likelihood.Kinds())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		data, err := design.Simulate(s)
		if err != nil {
			return err
		}
		return WriteSimulated(a, data, out, asJSON)
	}
	return cmd
}

// WriteSimulated writes a table and prints the true parameters, which go to standard error if the
// table goes to standard output.
func WriteSimulated(a *shell.App, data *design.SimulatedData, out string, asJSON bool) (err error) {
	if out == "" {
		return fmt.Errorf("no file to write was given: expected --out FILE, or --out - for standard output")
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
		category := ""
		if effect.Category != nil {
			category = fmt.Sprintf("  log odds of category %d", *effect.Category)
		}
		fmt.Fprintf(report, "  %-8s %6.3f%s\n", effect.Name, effect.Size, category)
	}
	return nil
}
