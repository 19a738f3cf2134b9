package main

import (
	"github.com/spf13/cobra"

	"github.com/transdim/vti"
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/internal/rundir"
)

func (a *app) rjmcmcDagCommand() *cobra.Command {
	var model dagModelFlags
	var chains chainFlags
	var output outputFlags
	cmd := &cobra.Command{
		Use:   "dag TABLE",
		Short: "Discover graphs by reversible-jump MCMC, with linear mechanisms",
		Long: `Samples the posterior of vti dag --sem linear by reversible-jump MCMC: chains that change the order of the
nodes and the edges along it and move the parameters of all mechanisms. They use nothing of the structure
that vti dag rests on, which makes them a check of it, for up to about 6 nodes; R-hat and the effective
sample size tell whether they have mixed.`,
		Example:           "  vti rjmcmc dag data.csv --iterations 5000",
		Args:              tableArgument,
		ValidArgsFunction: completeTable,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		record := &dag.Record{
			Header: rundir.Header{Command: "rjmcmc dag", Version: vti.Version, Data: args[0]}, Seed: output.seed,
			Chains: chains.chains, Iterations: chains.iterations, BurnIn: chains.burnIn, Thin: chains.thin, Temperatures: chains.temperatures,
		}
		if err := model.fill(record); err != nil {
			return err
		}
		j, err := a.newDagJob(record, output)
		if err != nil {
			return err
		}
		if err := j.problem.CheckReversibleJump(); err != nil {
			return err
		}
		config := chains.config(output.seed)
		if err := config.Validate(); err != nil {
			return err
		}
		if err := j.open(output.device); err != nil {
			return err
		}
		defer j.device.Close()
		if err := j.start("rjmcmc-dag"); err != nil {
			return err
		}
		j.printProblem()
		shown := j.progress()
		config.Progress = chainProgress(shown, j.problem.LogJacobian())
		result, err := dag.RunReversibleJump(cmd.Context(), j.device, j.problem, config, j.truth, j.dir)
		shown.end()
		if err != nil {
			return j.stopped(err, false)
		}
		return j.finish(result)
	}
	model.register(cmd, false)
	chains.register(cmd)
	output.register(cmd, true)
	return cmd
}
