package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/varsel"
	"github.com/transdim/vti/varsel/exact"
)

// rjmcmcVarselFlags are all flags of vti rjmcmc varsel.
type rjmcmcVarselFlags struct {
	data   dataFlags
	chains chainFlags
	start  []string
	output cli.Output
	resume string
}

func (f *rjmcmcVarselFlags) Register(cmd *cobra.Command) {
	f.data.register(cmd)
	f.chains.register(cmd)
	cli.Group(cmd, chainsGroup, func() {
		cmd.Flags().StringArrayVar(&f.start, "start", nil,
			"model in which chains start: null, full or predictors separated by commas; given twice, half of the chains each (default spread over models)")
	})
	f.output.Register(cmd, true)
	cli.RegisterResume(cmd, &f.resume)
	cli.Renamed(cmd, cli.PriorSD("slab-scale"))
}

// Describe turns the command line into the record of a new run.
func (f *rjmcmcVarselFlags) Describe(flags *pflag.FlagSet, path string) (any, error) {
	var err error
	if f.data.design, f.data.model, err = f.data.options(flags); err != nil {
		return nil, err
	}
	record := newVarselRecord("rjmcmc varsel", path, &f.data)
	record.Chains, record.Iterations, record.BurnIn, record.Thin = f.chains.chains, f.chains.iterations, f.chains.burnIn, f.chains.thin
	record.Start, record.Temperatures, record.Seed = f.start, f.chains.temperatures, f.output.Seed
	return record, nil
}

func rjmcmcVarselCommand(a *shell.App) *cobra.Command {
	f := &rjmcmcVarselFlags{}
	cmd := &cobra.Command{
		Use:   "varsel TABLE --target COLUMN",
		Short: "Select variables by reversible-jump MCMC",
		Long: `Samples the same posterior as vti varsel by reversible-jump MCMC: chains that add, remove and swap
predictors and move the coefficients. The only error is from the finite length of the chains, which
R-hat and the effective sample size measure:

  trusted    R-hat up to 1.01 and 400 effective draws, for every predictor and the log density
  doubtful   R-hat up to 1.1
failed the chains do not agree on one posterior (exit status 3)`,
		Example: `  vti rjmcmc varsel testdata/diabetes.csv --target y
  vti rjmcmc varsel testdata/diabetes.csv --target y --start null --start bmi,ltg
  vti rjmcmc varsel testdata/prostate.csv --target lpsa --likelihood robust --temperatures 12
  vti rjmcmc varsel testdata/biochemists.csv --target art --likelihood poisson --iterations 5000`,
		Args:              cli.TableArgument,
		ValidArgsFunction: cli.CompleteTable,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return rjmcmcVarsel(a, cmd, args, f) }
	f.Register(cmd)
	return cmd
}

// rjmcmcVarsel runs or resumes chains over selections.
func rjmcmcVarsel(a *shell.App, cmd *cobra.Command, args []string, f *rjmcmcVarselFlags) error {
	s, err := beginSampledSelection(a, cmd, args, f)
	if err != nil {
		return err
	}
	r := s.record
	config := chainConfig(r.Chains, r.Iterations, r.BurnIn, r.Thin, r.Temperatures, r.Seed)
	for _, start := range r.Start {
		code, err := s.problem.Start(start)
		if err != nil {
			return fmt.Errorf("--start: %w", err)
		}
		config.Starts = append(config.Starts, code)
	}
	if err := config.Validate(); err != nil {
		return err
	}
	return a.Execute(cmd.Context(), &s.Job, s.sampling(config))
}

// beginSampledSelection checks everything about a new run, or about one to resume.
func beginSampledSelection(a *shell.App, cmd *cobra.Command, args []string, f *rjmcmcVarselFlags) (*selection, error) {
	if f.resume == "" {
		record, err := f.Describe(cmd.Flags(), args[0])
		if err != nil {
			return nil, err
		}
		selection := record.(*varsel.Record)
		if selection.Model.Slab != (exact.Slab{}) {
			return nil, fmt.Errorf("--slab %s: chains over coefficients have the normal slab only; use vti varsel or vti exact", selection.Model.Slab)
		}
		return newSelection(a, selection, cmd.Flags(), f.output)
	}
	s, err := openSelection(a, f.resume, f.output)
	if err != nil {
		return nil, err
	}
	if err := cli.CheckResume(cmd, args, f.resume, s.record, s.Header, f.output, func() cli.Flags { return &rjmcmcVarselFlags{} }); err != nil {
		return nil, err
	}
	s.problem, err = s.record.Problem()
	return s, err
}

// sampling is the task of a selection by chains.
func (s *selection) sampling(config rjmcmc.Config) shell.Task {
	return shell.Task{
		Name: "rjmcmc", Files: varsel.Files(), Computes: true, Resumable: true, Intro: s.printProblem,
		Compute: func(ctx context.Context, at *shell.Session) (*shell.Conclusion, error) {
			config.Resume = at.Resume
			config.Progress = chainProgress(at.Shown, s.problem.Design.LogJacobian())
			result, err := varsel.RunChains(ctx, at.Device, s.problem, config, at.Dir)
			if err != nil {
				return nil, err
			}
			return s.conclude(result), nil
		},
	}
}
