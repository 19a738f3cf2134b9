package graphs

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/dag"
)

type exactDagFlags struct{ modelFlags }

// Register adds the flags to the command.
func (f *exactDagFlags) Register(cmd *cobra.Command) {
	f.register(cmd, dag.BGe, dag.Linear)
	f.Output.Register(cmd, false)
	cmd.Flags().Uint64Var(&f.Seed, "seed", 0, "random seed: of the graphs drawn, and of the draws of parameters")
}

func exactDagCommand(a *shell.App) *cobra.Command {
	return application.Answering(a, &cobra.Command{
		Use:   "dag TABLE",
		Short: "Discover graphs exactly, with evidences in closed form",
		Long: `Computes the same answer as vti dag, with the same priors, from scores in closed form; with --sem
linear an unknown noise scale is integrated numerically. The sums over graphs are exact, for up to
14 columns (20 with --prior-orders): 13 columns take about 20 seconds of one core, 14 a minute, and
fewer much less.`,
		Example: `  vti exact dag data.csv
  vti exact dag data.csv --sigma 1 --scale center --json`,
	}, func() application.Question[*dag.Record] { return &exactDagFlags{} })
}

// Begin checks the input of a search by exact sums, and returns its task.
func (f *exactDagFlags) Begin(ctx context.Context, run *application.Asked[*dag.Record]) (t shell.Task, err error) {
	d, err := newDiscovery(ctx, run)
	if err != nil {
		return t, err
	}
	return d.sum("exact-dag"), d.problem.CheckExact()
}
