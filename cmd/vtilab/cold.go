package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/lab/cold"
)

// coldFlags say what vtilab cold measures.
type coldFlags struct {
	fit      cold.Fit
	flow     cli.Flow
	samplers []string
	seeds    int
	json     bool
	quiet    bool
}

func coldCommand(a *shell.App) *cobra.Command {
	f := coldFlags{fit: cold.Fit{Steps: 10000, Batch: cli.DefaultBatch}, seeds: 3}
	f.flow.Flow = "affine-paper"
	cmd := &cobra.Command{
		Use:   "cold TABLE...",
		Short: "Train samplers of models from the paper's start",
		Long: `Fits tables of the robust design of Davies et al. (2025) from the start of the paper: the identity as
flow and the prior over models, without normal approximations, pilot runs or chains. A row has the total
variation of the trained q(m) from the probabilities by the log evidences in TABLE_logz.csv.`,
		Example: "  vtilab cold testdata/robust_vs/high_1000.csv testdata/robust_vs/mid_1000.csv",
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return runCold(a, cmd, f, args) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringSliceVar(&f.samplers, "samplers", cold.Samplers, "`samplers` of models, of which diagonal and process are the beliefs of a surrogate")
	flags.Var(cli.Count{Value: &f.seeds, Least: 1}, "seeds", "fits of each table and sampler")
	flags.Var(cli.Count{Value: &f.fit.Steps, Least: 1}, "steps", "training steps")
	flags.Var(cli.Count{Value: &f.fit.Batch, Least: 2}, "batch", "draws per training step")
	flags.BoolVar(&f.fit.AtOnce, "at-once", false, "q(m) learns from the first step")
	f.flow.Register(cmd, "affine, spline or diag, or as in the paper: affine-paper, spline-paper, diag-paper", "default 5; diag 2", "default 2", "default 32")
	flags.BoolVar(&f.json, "json", false, "print one JSON object on standard output, and nothing else")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress on standard error")
	return cmd
}

// coldRow is a fit as --json has it.
type coldRow struct {
	Table     string        `json:"table"`
	Sampler   string        `json:"sampler"`
	Seed      uint64        `json:"seed"`
	Variation report.Number `json:"variation"`
	Seconds   report.Number `json:"seconds"`
}

// runCold prints a row for each fit as it ends.
func runCold(a *shell.App, cmd *cobra.Command, f coldFlags, tables []string) (err error) {
	for _, sampler := range f.samplers {
		if !slices.Contains(cold.Samplers, sampler) {
			return fmt.Errorf("--samplers: expected some of %s, found %q", strings.Join(cold.Samplers, ", "), sampler)
		}
	}
	if f.fit.Flow, err = f.flow.Config(cmd.Flags()); err != nil {
		return err
	}
	device, err := gpu.Open(gpu.CPU)
	if err != nil {
		return shell.Failed(err)
	}
	defer device.Close()
	shown := progress(a, f.quiet)
	defer shown.End()
	var rows []coldRow
	text := io.Writer(a.Text)
	if f.json {
		text = io.Discard
	}
	fmt.Fprintf(text, "%-16s %-15s %4s  %9s  %7s\n", "table", "sampler", "seed", "variation", "seconds")
	for _, table := range tables {
		for _, sampler := range f.samplers {
			for seed := 1; seed <= f.seeds; seed++ {
				fit := f.fit
				fit.Table, fit.Sampler, fit.Seed = table, sampler, uint64(seed)
				shown.Line(fmt.Sprintf("%s %s, seed %d", filepath.Base(table), sampler, seed), true)
				outcome, err := fit.Run(cmd.Context(), device)
				if errors.Is(err, context.Canceled) {
					return err
				}
				if err != nil {
					return shell.Failed(err)
				}
				shown.End()
				rows = append(rows, coldRow{filepath.Base(table), sampler, fit.Seed, report.Number(outcome.Variation), report.Number(outcome.Seconds)})
				fmt.Fprintf(text, "%-16s %-15s %4d  %9.4f  %7.1f\n", filepath.Base(table), sampler, seed, outcome.Variation, outcome.Seconds)
			}
		}
	}
	if f.json {
		return a.PrintJSON(map[string]any{"fits": rows})
	}
	return nil
}
