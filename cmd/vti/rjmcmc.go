package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/rjmcmc"
)

func (a *app) rjmcmcCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "rjmcmc",
		Short:   "Solve the same problems by reversible-jump MCMC",
		Example: "  vti rjmcmc varsel testdata/diabetes.csv --target y",
	}
	return group(cmd, a.rjmcmcVarselCommand(), a.rjmcmcDagCommand(), a.rjmcmcMixtureCommand())
}

// chainsGroup is the group of the flags of chains.
const chainsGroup = "Chains"

// chainFlags say how long and how to sample.
type chainFlags struct {
	chains, iterations, burnIn, thin, temperatures int
}

func (f *chainFlags) register(cmd *cobra.Command) {
	*f = chainFlags{chains: rjmcmc.DefaultChains, iterations: rjmcmc.DefaultIterations, burnIn: rjmcmc.DefaultBurnIn, thin: rjmcmc.DefaultThin, temperatures: 1}
	flags := cmd.Flags()
	flagGroup(cmd, chainsGroup, func() {
		flags.Var(count{&f.chains, 2}, "chains", "number of chains")
		flags.Var(count{&f.iterations, 1}, "iterations", "iterations of every chain after burn-in")
		flags.Var(count{&f.burnIn, 0}, "burn-in", "burn-in iterations, which adapt the proposals and are discarded")
		flags.Var(count{&f.thin, 1}, "thin", "thinning: keep every k-th iteration, with k the `number`")
		flags.Var(count{&f.temperatures, 1}, "temperatures", "tempered copies of each chain, which exchange states: for posteriors with several modes")
	})
}

// chainConfig is the configuration of the chains of a record.
func chainConfig(chains, iterations, burnIn, thin, temperatures int, seed uint64) rjmcmc.Config {
	if burnIn == 0 {
		burnIn = -1 // none; zero would stand for the default
	}
	return rjmcmc.Config{Chains: chains, Iterations: iterations, BurnIn: burnIn, Thin: thin, Temperatures: temperatures, Seed: seed}
}

// chainProgress reports on chains, whose density is that of the working scale: logJacobian takes it
// to that of the table.
func chainProgress(shown *progress, logJacobian float64) func(rjmcmc.Progress) {
	pace := newPace()
	return func(p rjmcmc.Progress) {
		phase := "sampling"
		if p.BurnIn {
			phase = "burn-in"
		}
		shown.line(fmt.Sprintf("%s  iteration %d/%d  mean log density %.2f  %s", phase, p.Iteration, p.Total,
			p.LogDensity+logJacobian, pace.text(p.Iteration, p.Total)), p.Iteration == p.Total)
	}
}
