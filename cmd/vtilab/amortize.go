package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/amortize"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/encode"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/lab/networks"
)

// amortizeFlags say what vtilab amortize measures.
type amortizeFlags struct {
	only        []string
	options     networks.Options
	plain       bool
	dataSets    int
	rate        cli.Positive
	diagonal    bool
	training    amortize.Config
	device      gpu.Kind
	json, quiet bool
}

func amortizeCommand(a *shell.App) *cobra.Command {
	f := amortizeFlags{training: amortize.Config{Steps: 2000, Batch: 64, LogEvery: 50, Seed: 1, Objective: amortize.ReverseKL, Draws: 2}}
	cmd := &cobra.Command{
		Use:   "amortize",
		Short: "Train networks on the tasks of Mittal et al. (2023)",
		Long: `Trains a network on each of the tasks of table 1 of Mittal et al. (2023) that are there, and measures
it on fresh data sets of 64 to 128 rows: the expected squared distance, or accuracy, of fresh rows
under its draws, beside that of the prior, of a mode of each data set and of the figures of the paper.

A network begins with a normal approximation at a mode, which is computed for
every data set and whose figure is printed as start: the posterior itself for means and linear
regressions, where the divergence from it is printed. The network learns what is left; with --plain it
learns everything, as in the paper.
--data process and --data network draw regressions from functions that the model does not have: the
objective reverse trains on these, forward on data of the model.`,
		Example: "  vtilab amortize --only gaussian-5,mixture --steps 100\n  vtilab amortize --encoder transformer --diagonal --plain --steps 2000 --json\n  vtilab amortize --only regression-5 --plain --data process --objective forward",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return measureNetworks(a, cmd, f) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringSliceVar(&f.only, "only", nil, "`tasks`, by the beginnings of their names (default all)")
	flags.Var(parsed[encode.Kind]{Value: &f.options.Encoder.Kind, Parse: encode.ParseKind}, "encoder", "deepsets, transformer or induced")
	f.dataSets = 100
	flags.BoolVar(&f.plain, "plain", false, "networks without a computed starting point, as in the paper")
	flags.Var(parsed[networks.Source]{Value: &f.options.Source, Parse: networks.ParseSource}, "data", "source of data sets: model, process or network")
	flags.Var(cli.Count{Value: &f.dataSets, Least: 2}, "data-sets", "fresh data sets on which networks are measured")
	flags.Var(cli.Count{Value: &f.options.Encoder.Hidden, Least: 4}, "hidden", "width of the encoder, a multiple of 4 (default 64)")
	flags.BoolVar(&f.diagonal, "diagonal", false, "a diagonal Gaussian instead of a flow")
	flags.Var(cli.Name(&f.training.Objective), "objective", "forward, reverse or both")
	flags.Var(cli.Count{Value: &f.training.Steps, Least: 1}, "steps", "training steps")
	flags.Var(cli.Count{Value: &f.training.Batch, Least: 1}, "batch", "data sets of a step")
	flags.Var(&f.rate, "learning-rate", "largest step of Adam (default 0.002)")
	flags.Uint64Var(&f.training.Seed, "seed", 1, "random seed")
	flags.Var(cli.Name(&f.device), "device", "where to compute")
	flags.BoolVar(&f.json, "json", false, "print one JSON object on standard output, and nothing else")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress on standard error")
	return cmd
}

func measureNetworks(a *shell.App, cmd *cobra.Command, f amortizeFlags) error {
	f.options.Computed, f.training.LearningRate = !f.plain, float64(f.rate)
	tasks, err := networks.Tasks(f.options)
	if err != nil {
		return err
	}
	if f.only != nil {
		tasks = slices.DeleteFunc(tasks, func(t *networks.Task) bool {
			return !slices.ContainsFunc(f.only, func(name string) bool { return strings.HasPrefix(t.Name, name) })
		})
		if len(tasks) == 0 {
			return fmt.Errorf("--only %s: no such task", strings.Join(f.only, ","))
		}
	}
	f.training.Flow = cosmic.Config{Layers: 3, Blocks: 1, Hidden: 64}
	if f.diagonal {
		f.training.Flow = cosmic.Config{Kind: cosmic.Diagonal, Layers: 2, Hidden: 64}
	}
	device, err := gpu.OpenWith(gpu.Options{Kind: f.device})
	if err != nil {
		return err
	}
	defer device.Close()
	shown := progress(a, f.quiet)
	var results []*networks.Result
	for _, t := range tasks {
		result, err := networks.Measure(cmd.Context(), device, t, f.training, f.dataSets, func(text string) { shown.Line(text, false) })
		if err != nil {
			shown.End()
			return shell.Failed(err)
		}
		results = append(results, result)
	}
	shown.End()
	if f.json {
		return a.PrintJSON(map[string]any{"tasks": results})
	}
	table := &document.Grid{}
	table.Add("task", "prior", "optimum", "start", "network", "KL", "share", "steps", "paper: prior", "optimum", "best")
	for _, r := range results {
		divergence := ""
		if r.Divergence != nil {
			divergence = fmt.Sprintf("%.3f", *r.Divergence)
		}
		table.Add(r.Task, fmt.Sprintf("%.2f", r.Prior), fmt.Sprintf("%.2f", r.Optimum), fmt.Sprintf("%.2f", r.Start), fmt.Sprintf("%.2f ± %.2f", r.Network, r.SE),
			divergence, fmt.Sprintf("%.2f", r.Share), fmt.Sprint(r.Steps), fmt.Sprint(r.Published[0]), fmt.Sprint(r.Published[1]), fmt.Sprint(r.Published[2]))
	}
	table.Print(a.Text)
	return nil
}
