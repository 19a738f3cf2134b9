package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/console"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/rjmcmc"
	runs "github.com/transdim/vti/run"
)

func rjmcmcCommand(a *shell.App, all application.Registry) *cobra.Command {
	return all.Choice(a, &cobra.Command{
		Use:     "rjmcmc",
		Short:   "Solve the same problems by reversible-jump MCMC",
		Example: "  vti rjmcmc varsel testdata/diabetes.csv --target y",
	})
}

// chainsGroup is the group of the flags of chains.
const chainsGroup = "Chains"

// chainFlags say how long and how to sample.
type chainFlags struct{ runs.ChainSizes }

func (f *chainFlags) register(cmd *cobra.Command) {
	f.ChainSizes = runs.ChainSizes{Chains: rjmcmc.DefaultChains, Iterations: rjmcmc.DefaultIterations, BurnIn: rjmcmc.DefaultBurnIn, Thin: rjmcmc.DefaultThin, Temperatures: 1}
	flags := cmd.Flags()
	cli.Group(cmd, chainsGroup, func() {
		flags.Var(cli.Count{Value: &f.Chains, Least: 2}, "chains", "number of chains")
		flags.Var(cli.Count{Value: &f.Iterations, Least: 1}, "iterations", "iterations of every chain after burn-in")
		flags.Var(cli.Count{Value: &f.BurnIn, Least: 0}, "burn-in", "burn-in iterations, which adapt the proposals and are discarded")
		flags.Var(cli.Count{Value: &f.Thin, Least: 1}, "thin", "thinning: keep every k-th iteration, with k the `number`")
		flags.Var(cli.Count{Value: &f.Temperatures, Least: 1}, "temperatures", "tempered copies of each chain, which exchange states: for posteriors with several modes")
	})
}

// chainProgress reports on chains, whose density is that of the working scale: logJacobian takes it
// to that of the table.
func chainProgress(shown *console.Progress, logJacobian float64) func(rjmcmc.Progress) {
	pace := console.NewPace()
	return func(p rjmcmc.Progress) {
		phase := "sampling"
		if p.BurnIn {
			phase = "burn-in"
		}
		shown.Line(fmt.Sprintf("%s  iteration %d/%d  mean log density %.2f  %s", phase, p.Iteration, p.Total,
			p.LogDensity+logJacobian, pace.Text(p.Iteration, p.Total)), p.Iteration == p.Total)
	}
}
