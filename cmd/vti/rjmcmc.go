package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/rjmcmc"
)

func (a *app) rjmcmcCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "rjmcmc",
		Short:   "Reversible-jump MCMC on the same problems",
		Example: "  vti rjmcmc varsel testdata/diabetes.csv --target y",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return fmt.Errorf("expected a problem: vti rjmcmc varsel or vti rjmcmc dag (see %s --help)", cmd.CommandPath())
		},
	}
	cmd.AddCommand(a.rjmcmcVarselCommand(), a.rjmcmcDagCommand())
	return cmd
}

// chainFlags say how long and how to sample.
type chainFlags struct {
	chains, iterations, burnIn, thin, temperatures int
	start                                          []string
}

func (f *chainFlags) register(cmd *cobra.Command) {
	*f = chainFlags{chains: rjmcmc.DefaultChains, iterations: rjmcmc.DefaultIterations, burnIn: rjmcmc.DefaultBurnIn, thin: rjmcmc.DefaultThin, temperatures: 1}
	flags := cmd.Flags()
	flagGroup(cmd, "Chains", func() {
		flags.Var(count{&f.chains, 2}, "chains", "chains, which run side by side")
		flags.Var(count{&f.iterations, 1}, "iterations", "iterations of every chain after burn-in")
		flags.Var(count{&f.burnIn, 0}, "burn-in", "iterations that adapt the proposals and are thrown away")
		flags.Var(count{&f.thin, 1}, "thin", "thinning: keep every k-th iteration, with k the `number`")
		flags.Var(count{&f.temperatures, 1}, "temperatures", "copies of each chain, which sample flatter posteriors and exchange states with it: for posteriors with several modes")
		flags.StringArrayVar(&f.start, "start", nil,
			"model in which chains start: null, full or predictors separated by commas; given twice, half of the chains each (default spread over models)")
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
