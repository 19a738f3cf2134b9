package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/console"
	"github.com/transdim/vti/rjmcmc"
	runs "github.com/transdim/vti/run"
)

// ChainsGroup is the heading, in the help, of the flags about chains.
const ChainsGroup = "Chains"

// RegisterChains adds flags for the number, length and kind of chains.
func RegisterChains(cmd *cobra.Command, sizes *runs.ChainSizes) {
	*sizes = runs.ChainSizes{Chains: rjmcmc.DefaultChains, Iterations: rjmcmc.DefaultIterations, BurnIn: rjmcmc.DefaultBurnIn, Thin: rjmcmc.DefaultThin, Temperatures: 1}
	flags := cmd.Flags()
	Group(cmd, ChainsGroup, func() {
		flags.Var(Count(&sizes.Chains, 2), "chains", "number of chains")
		flags.Var(Count(&sizes.Iterations, 1), "iterations", "iterations of every chain after burn-in")
		flags.Var(Count(&sizes.BurnIn, 0), "burn-in", "burn-in iterations, which adapt the proposals and are discarded")
		flags.Var(Count(&sizes.Thin, 1), "thin", "thinning: keep every k-th iteration, with k the `number`")
		flags.Var(Count(&sizes.Temperatures, 1), "temperatures", "tempered copies of each chain, which exchange states: for posteriors with several modes")
	})
}

// ChainProgress returns a function that shows the progress of chains. The log density of the
// sampler is on its working scale; logJacobian added to it gives the log density on the scale of
// the table.
func ChainProgress(shown *console.Progress, logJacobian float64) func(rjmcmc.Progress) {
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
