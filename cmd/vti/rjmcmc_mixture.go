package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/mixture"
	"github.com/transdim/vti/rjmcmc"
	runs "github.com/transdim/vti/run"
)

// rjmcmcMixtureFlags are all flags of vti rjmcmc mixture.
type rjmcmcMixtureFlags struct {
	model  normalsFlags
	chains chainFlags
	output cli.Output
}

func (f *rjmcmcMixtureFlags) register(cmd *cobra.Command) {
	f.model.register(cmd, "`column` of values")
	f.chains.register(cmd)
	f.output.Register(cmd, true)
}

// record describes a run.
func (f *rjmcmcMixtureFlags) record(cmd *cobra.Command, path string) *mixture.Record {
	return &mixture.Record{
		Asked:  *cli.AskedOf(cmd, "rjmcmc mixture", path, f.model.asked(), f.output),
		Chains: f.chains.chains, Iterations: f.chains.iterations, BurnIn: f.chains.burnIn, Thin: f.chains.thin, Temperatures: f.chains.temperatures,
	}
}

func rjmcmcMixtureCommand(a *shell.App) *cobra.Command {
	f := &rjmcmcMixtureFlags{}
	cmd := &cobra.Command{
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
failed the chains do not agree on one posterior (exit status 3)

As with vti mixture, the verdict is at best doubtful if the largest number allowed is probable.
These chains need many --iterations; --max-components excludes numbers on which they would otherwise
spend time.`,
		Example: `  vti rjmcmc mixture galaxies.csv --column velocity --max-components 8
  vti rjmcmc mixture galaxies.csv --column velocity --iterations 20000 --temperatures 4`,
		Args:              cli.TableArgument,
		ValidArgsFunction: cli.CompleteTable,
		RunE: func(cmd *cobra.Command, args []string) error {
			record := f.record(cmd, args[0])
			problem, err := runs.Read(&record.Asked, mixture.NewProblem)
			if err != nil {
				return err
			}
			if _, err := problem.Target(); err != nil {
				return err
			}
			record.Options = problem.Options // with its defaults: what they are may change
			config := chainConfig(record.Chains, record.Iterations, record.BurnIn, record.Thin, record.Temperatures, record.Seed)
			if err := config.Validate(); err != nil {
				return err
			}
			j := &shell.Job{Output: f.output, Stored: record, Header: &record.Header}
			return a.Execute(cmd.Context(), j, mixtureChains(a, problem, config, f.output))
		},
	}
	f.register(cmd)
	return cmd
}

// mixtureChains is the task of a mixture by chains on its Target.
func mixtureChains(a *shell.App, problem *mixture.Problem, config rjmcmc.Config, output cli.Output) shell.Task {
	return shell.Task{
		Name: "rjmcmc-mixture", Files: mixture.Files(), Computes: true, Intro: mixtureIntro(a, problem, output),
		Compute: func(ctx context.Context, at *shell.Session) (*shell.Conclusion, error) {
			config.Progress = chainProgress(at.Shown, problem.LogJacobian())
			result, err := mixture.RunChains(ctx, at.Device, problem, config, at.Dir)
			if err != nil {
				return nil, err
			}
			return &shell.Conclusion{Result: result, Seconds: result.Seconds}, nil
		},
	}
}
