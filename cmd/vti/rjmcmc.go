package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/varsel"
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
	flags.Var(count{&f.chains, 2}, "chains", "chains, which run side by side")
	flags.Var(count{&f.iterations, 1}, "iterations", "iterations of every chain after burn-in")
	flags.Var(count{&f.burnIn, 0}, "burn-in", "iterations that adapt the proposals and are thrown away")
	flags.Var(count{&f.thin, 1}, "thin", "keep every so manieth iteration")
	flags.Var(count{&f.temperatures, 1}, "temperatures", "copies of each chain, which sample flatter posteriors and exchange states with it: for posteriors with several modes")
	flags.StringArrayVar(&f.start, "start", nil,
		"model in which chains start: null, full or predictors separated by commas; given twice, half of the chains each (default spread over models)")
}

func (a *app) rjmcmcVarselCommand() *cobra.Command {
	var data dataFlags
	var chains chainFlags
	var output outputFlags
	cmd := &cobra.Command{
		Use:   "varsel TABLE --target COLUMN",
		Short: "Select variables by reversible-jump MCMC",
		Long: `Samples the same posterior as vti varsel by reversible-jump MCMC: chains that add, remove and swap
predictors and move the coefficients. Nothing is approximated but by the length of the chains,
which R-hat and the effective sample size judge:

  trusted    R-hat up to 1.01 and at least 400 effective draws, for every predictor and the log density
  doubtful   R-hat up to 1.1
  failed     the chains have not found the same posterior (exit status 3)`,
		Example: `  vti rjmcmc varsel testdata/diabetes.csv --target y
  vti rjmcmc varsel testdata/diabetes.csv --target y --start null --start bmi,ltg
  vti rjmcmc varsel testdata/prostate.csv --target lpsa --likelihood robust --temperatures 12
  vti rjmcmc varsel testdata/biochemists.csv --target art --likelihood poisson --iterations 5000`,
		Args:              tableArgument,
		ValidArgsFunction: completeTable,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var err error
		if data.design, data.model, err = data.options(cmd.Flags()); err != nil {
			return err
		}
		record := newVarselRecord("rjmcmc varsel", args[0], &data)
		record.Chains, record.Iterations, record.BurnIn, record.Thin = chains.chains, chains.iterations, chains.burnIn, chains.thin
		record.Start, record.Temperatures, record.Seed = chains.start, chains.temperatures, output.seed
		j, err := a.newVarselJob(record, givenPriorOf(cmd.Flags()), output)
		if err != nil {
			return err
		}
		config := chains.config(output.seed)
		for _, start := range chains.start {
			code, err := j.problem.Start(start)
			if err != nil {
				return fmt.Errorf("--start: %w", err)
			}
			config.Starts = append(config.Starts, code)
		}
		return j.sample(cmd.Context(), config)
	}
	data.register(cmd)
	chains.register(cmd)
	output.register(cmd, true)
	return cmd
}

func (f *chainFlags) config(seed uint64) rjmcmc.Config {
	burnIn := f.burnIn
	if burnIn == 0 {
		burnIn = -1 // none; zero would stand for the default
	}
	return rjmcmc.Config{Chains: f.chains, Iterations: f.iterations, BurnIn: burnIn, Thin: f.thin, Temperatures: f.temperatures, Seed: seed}
}

// sample runs the chains and prints the answer.
func (j *varselJob) sample(ctx context.Context, config rjmcmc.Config) error {
	if err := config.Validate(); err != nil {
		return err
	}
	if err := j.open(j.output.device); err != nil {
		return err
	}
	defer j.device.Close()
	if err := j.start("rjmcmc"); err != nil {
		return err
	}
	j.printProblem()
	shown := j.progress()
	config.Progress = chainProgress(shown, j.problem.Design.LogJacobian())
	result, err := varsel.RunChains(ctx, j.device, j.problem, config, j.dir)
	shown.end()
	if err != nil {
		return j.stopped(err, false)
	}
	return j.finish(result)
}
