package main

import (
	"github.com/spf13/cobra"

	"github.com/transdim/vti"
	"github.com/transdim/vti/dag"
	runs "github.com/transdim/vti/run"
)

// exactDagCommand is vti exact dag.
func (a *app) exactDagCommand() *cobra.Command {
	var model dagModelFlags
	var output outputFlags
	cmd := &cobra.Command{
		Use:   "dag TABLE",
		Short: "Discover graphs exactly, with evidences in closed form",
		Long: `Computes the same answer as vti dag, with the same priors, from scores in closed form; with --sem linear an
unknown noise scale is integrated numerically. The sums over graphs are exact, for up to 14 columns (20 with
--prior-orders): 13 columns take about 20 seconds of one core, 14 a minute, and fewer much less.`,
		Example: `  vti exact dag data.csv
  vti exact dag data.csv --sigma 1 --scale center --json`,
		Args:              tableArgument,
		ValidArgsFunction: completeTable,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		record := &dag.Record{Header: runs.Header{Command: "exact dag", Version: vti.Version, Data: args[0]}, Seed: output.seed}
		if err := model.fill(record); err != nil {
			return err
		}
		d, err := a.newDiscovery(record, cmd.Flags(), output)
		if err != nil {
			return err
		}
		if err := d.problem.CheckExact(); err != nil {
			return err
		}
		return a.execute(cmd.Context(), &d.job, d.sum("exact-dag"))
	}
	model.register(cmd, dag.BGe, dag.Linear)
	output.register(cmd, false)
	cmd.Flags().Uint64Var(&output.seed, "seed", 0, "random seed: of the graphs drawn, and of the draws of parameters")
	return cmd
}
