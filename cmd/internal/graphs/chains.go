package graphs

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/dag"
)

type rjmcmcDagFlags struct{ modelFlags }

// Register adds the flags to the command.
func (f *rjmcmcDagFlags) Register(cmd *cobra.Command) {
	f.register(cmd)
	f.record.Model.Mechanism = dag.Linear
	cli.RegisterChains(cmd, &f.record.ChainSizes)
	f.Output.Register(cmd, true)
	f.RegisterResume(cmd)
}

func rjmcmcDagCommand(a *shell.App) *cobra.Command {
	return application.Answering(a, &cobra.Command{
		Use:   "dag TABLE",
		Short: "Discover graphs by reversible-jump MCMC, with linear mechanisms",
		Long: `Samples the posterior of vti dag --sem linear by reversible-jump MCMC: chains that change the order
of the nodes and the edges along it and move the parameters of all mechanisms. They use nothing of
the structure that vti dag rests on, which makes them a check of it, for up to about 6 nodes; R-hat
and the effective sample size show whether they have mixed.`,
		Example: "  vti rjmcmc dag data.csv --iterations 5000",
	}, func() application.Question[*dag.Record] { return &rjmcmcDagFlags{} })
}

// Begin checks the input of a search by chains over graphs and parameters, and returns its task.
func (f *rjmcmcDagFlags) Begin(ctx context.Context, run *application.Asked[*dag.Record]) (t shell.Task, err error) {
	d, err := newDiscovery(ctx, run)
	if err != nil {
		return t, err
	}
	if err := d.problem.CheckReversibleJump(); err != nil {
		return t, err
	}
	config := d.Record.ChainSizes.Config(d.Record.Seed)
	t = d.task("rjmcmc-dag", func(ctx context.Context, session *shell.Session) (*dag.Result, error) {
		config.Resume = session.Resume
		config.Progress = cli.ChainProgress(session.Shown, d.problem.LogJacobian())
		return dag.RunReversibleJump(ctx, session.Device, d.problem, config, d.truth, session.Dir)
	})
	t.Computes, t.Resumable = true, true
	return t, config.Validate()
}
