package numbers

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/mixture"
)

type rjmcmcMixtureFlags struct{ normalsFlags }

// Register adds the flags to the command.
func (f *rjmcmcMixtureFlags) Register(cmd *cobra.Command) {
	f.register(cmd, "`column` of values")
	cli.RegisterChains(cmd, &f.record.ChainSizes)
	f.Output.Register(cmd, true)
}

func rjmcmcMixtureCommand(a *shell.App) *cobra.Command {
	return application.Answering(a, &cobra.Command{
		Use:   "mixture TABLE --column COLUMN",
		Short: "Count the components of a mixture by general reversible-jump MCMC",
		Long: `Samples the posterior of vti mixture, for normal components of one column, by the general
reversible-jump MCMC of the other commands: chains over unbounded coordinates, with no moves
specific to mixtures, on the density that the engine also uses. They check vti mixture, with which
they share no sampler, and show how much split and merge moves gain; vti compare sets the two side
by side.

The verdict rests on R-hat and effective draws of the log density, of the number of components, and
of the indicator of each number with a probability of at least 0.001:

  trusted    R-hat up to 1.01, 400 effective draws and as many changes of the number of components
  doubtful   R-hat up to 1.1
  failed     the chains do not agree on one posterior (exit status 3)

As with vti mixture, the verdict is at best doubtful if the largest number allowed is probable.
These chains need many --iterations; --max-components excludes numbers on which they would otherwise
spend time.`,
		Example: `  vti rjmcmc mixture galaxies.csv --column velocity --max-components 8
  vti rjmcmc mixture galaxies.csv --column velocity --iterations 20000 --temperatures 4`,
	}, func() application.Question[*mixture.Record] { return &rjmcmcMixtureFlags{} })
}

// Begin checks everything about a mixture by chains on its Target, and describes it.
func (f *rjmcmcMixtureFlags) Begin(_ context.Context, run *application.Asked[*mixture.Record]) (t shell.Task, err error) {
	r := run.Record
	problem, err := readMixture(run)
	if err != nil {
		return t, err
	}
	if _, err := problem.Target(); err != nil {
		return t, err
	}
	config := r.ChainSizes.Config(r.Seed)
	return shell.Task{
		Name: "rjmcmc-mixture", Files: mixture.Files(), Computes: true, Intro: mixtureIntro(run, problem),
		Compute: func(ctx context.Context, at *shell.Session) (shell.Judged, error) {
			config.Progress = cli.ChainProgress(at.Shown, problem.LogJacobian())
			return mixture.RunChains(ctx, at.Device, problem, config, at.Dir)
		},
	}, config.Validate()
}
