package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/varsel"
)

func (a *app) compareCommand() *cobra.Command {
	var out string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "compare RUN_A RUN_B",
		Short: "Say how far two runs on the same table agree",
		Long: `Compares two run directories of vti varsel, vti exact or vti rjmcmc varsel on the same table: the
probabilities of predictors and models side by side, their total variation (0: the same,
1: nothing in common), the largest disagreements in units of their standard errors, and, when A
has draws and B was made by vti varsel, the cross-entropy of A's draws under B's density.
A figure sets the model probabilities against each other.`,
		Example: "  vti compare runs/exact-20260131-120000 runs/varsel-20260131-120500",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("expected two run directories, found %d (see %s --help)", len(args), cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.compare(cmd, args[0], args[1], out, asJSON)
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "`directory` for tables and figure (default a new one in runs/)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object on standard output and nothing else there")
	return cmd
}

func (a *app) compare(cmd *cobra.Command, dirA, dirB, out string, asJSON bool) error {
	runA, err := varsel.OpenRun(dirA)
	if err != nil {
		return err
	}
	runB, err := varsel.OpenRun(dirB)
	if err != nil {
		return err
	}
	comparison, err := varsel.Compare(cmd.Context(), runA, runB)
	if err != nil {
		return err
	}
	dir, err := varsel.RunDir(out, "compare", time.Now())
	if err != nil {
		return err
	}
	if err := comparison.Write(dir); errors.Is(err, varsel.ErrHoldsComparison) {
		return err
	} else if err != nil {
		return failure{err}
	}
	if asJSON {
		return a.printJSON(comparison)
	}
	printComparison(a.stdout, comparison, runA.Result.Data.Predictors)
	return nil
}

// printComparison prints a comparison for a reader.
func printComparison(w io.Writer, c *varsel.Comparison, predictors []string) {
	for _, side := range []struct {
		name string
		run  varsel.RunSummary
	}{{"A", c.A}, {"B", c.B}} {
		verdict := side.run.Verdict
		if verdict == "" {
			verdict = "exact"
		}
		fmt.Fprintf(w, "%s: %s (vti %s, %s)\n", side.name, side.run.RunDir, side.run.Command, verdict)
	}
	for _, note := range c.Notes {
		fmt.Fprintf(w, "  note: %s\n", note)
	}
	fmt.Fprintf(w, "\nTotal variation between the model probabilities: %s\n", rangeText(c.TotalVariation))
	if finite(&c.KLAB) {
		fmt.Fprintf(w, "Kullback-Leibler divergence of B from A: %.4g nats\n", float64(c.KLAB))
	}
	if finite(&c.KLBA) {
		fmt.Fprintf(w, "Kullback-Leibler divergence of A from B: %.4g nats\n", float64(c.KLBA))
	}
	if e := c.CrossEntropy; e != nil {
		fmt.Fprintf(w, "Cross-entropy of A's draws under B's density, on B's working scale: %s nats (B's own draws: %s)\n",
			plusMinus(&e.Mean, &e.SE, 3), plusMinus(&e.OwnDraws, nil, 3))
		if e.NonFinite > 0 {
			fmt.Fprintf(w, "  %d of %d draws have no finite density under B and are left out\n", e.NonFinite, e.Draws)
		}
	}
	name := func(p varsel.Pair) string {
		if p.Code != "" {
			return modelName(p.Code, predictors)
		}
		return p.Name
	}
	print := func(title string, pairs []varsel.Pair, name func(varsel.Pair) string) {
		fmt.Fprintf(w, "\n%s\n", title)
		table := &grid{}
		table.add("", "A", "B", "A − B", "in s.e.")
		for _, p := range pairs {
			difference, z := "", ""
			if finite(&p.Difference) {
				difference = fmt.Sprintf("%+.4f", float64(p.Difference))
			}
			if finite(&p.Z) && math.Abs(float64(p.Difference)) >= 5e-5 { // a difference that is not even shown is not worth counting in errors, which may be as small
				z = fmt.Sprintf("%+.1f", float64(p.Z))
			}
			table.add(name(p), plusMinus(&p.A, &p.SEA, 4), plusMinus(&p.B, &p.SEB, 4), difference, z)
		}
		table.print(w)
	}
	larger := make([]varsel.Number, len(c.Inclusion))
	for s, pair := range c.Inclusion {
		larger[s] = max(pair.A, pair.B)
	}
	var inclusion []varsel.Pair
	for _, s := range mostProbable(larger) {
		inclusion = append(inclusion, c.Inclusion[s])
	}
	print("Predictors: probability to be in the model", inclusion, name)
	print("Most probable models", c.Models[:min(shownModels, len(c.Models))], name)
	if len(c.Disagreements) > 0 {
		print("Largest disagreements", c.Disagreements, func(p varsel.Pair) string {
			if p.Code != "" {
				return "model " + name(p)
			}
			return "predictor " + name(p)
		})
	} else {
		fmt.Fprintln(w, "\nNo probability differs by more than 0.0001.")
	}
	fmt.Fprintf(w, "\n%s holds %s, inclusion.csv, models.csv, and the figure as %s and models.png\n", c.RunDir, varsel.ComparisonFile, filepath.Join(c.RunDir, "models.svg"))
}

func rangeText(i varsel.Interval) string {
	if i.Low == i.High {
		return fmt.Sprintf("%.4f", float64(i.Low))
	}
	return fmt.Sprintf("between %.4f and %.4f (a run lists only its best models)", float64(i.Low), float64(i.High))
}
