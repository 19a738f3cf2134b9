package selection

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/varsel"
	"github.com/transdim/vti/varsel/exact"
)

type rjmcmcVarselFlags struct{ dataFlags }

// Register adds the flags to the command.
func (f *rjmcmcVarselFlags) Register(cmd *cobra.Command) {
	f.register(cmd)
	f.registerInclusion(cmd)
	cli.RegisterChains(cmd, &f.record.ChainSizes)
	cli.Group(cmd, cli.ChainsGroup, func() {
		cmd.Flags().StringArrayVar(&f.record.Start, "start", nil,
			"model in which chains start: null, full or predictors separated by commas; given twice, half of the chains each (default spread over models)")
	})
	f.Output.Register(cmd, true)
	f.RegisterResume(cmd)
}

func rjmcmcVarselCommand(a *shell.App) *cobra.Command {
	return application.Answering(a, &cobra.Command{
		Use:   "varsel TABLE --target COLUMN",
		Short: "Select variables by reversible-jump MCMC",
		Long: `Samples the same posterior as vti varsel by reversible-jump MCMC: chains that add, remove and swap
predictors and move the coefficients. The only error is from the finite length of the chains, which
R-hat and the effective sample size measure:

  trusted    R-hat up to 1.01 and 400 effective draws, for every predictor and the log density
  doubtful   R-hat up to 1.1
  failed     the chains do not agree on one posterior (exit status 3)`,
		Example: `  vti rjmcmc varsel testdata/diabetes.csv --target y
  vti rjmcmc varsel testdata/diabetes.csv --target y --start null --start bmi,ltg
  vti rjmcmc varsel testdata/prostate.csv --target lpsa --likelihood robust --temperatures 12
  vti rjmcmc varsel testdata/biochemists.csv --target art --likelihood poisson --iterations 5000`,
	}, func() application.Question[*varsel.Record] { return &rjmcmcVarselFlags{} })
}

// Begin checks the input of a run by chains, and returns its task.
func (f *rjmcmcVarselFlags) Begin(ctx context.Context, run *application.Asked[*varsel.Record]) (t shell.Task, err error) {
	r := run.Record
	if slab := r.Model.Slab; !run.Resumed() && slab != (exact.Slab{}) {
		return t, fmt.Errorf("--slab %s: chains over coefficients have the normal slab only; use vti varsel or vti exact", slab)
	}
	s, err := newSelection(ctx, run)
	if err != nil {
		return t, err
	}
	config := r.ChainSizes.Config(r.Seed)
	for _, start := range r.Start {
		code, err := s.problem.Start(start)
		if err != nil {
			return t, fmt.Errorf("--start: %w", err)
		}
		config.Starts = append(config.Starts, code)
	}
	return shell.Task{
		Name: "rjmcmc", Files: varsel.Files(), Computes: true, Resumable: true, Intro: s.PrintProblem,
		Compute: func(ctx context.Context, session *shell.Session) (shell.Judged, error) {
			config.Resume = session.Resume
			config.Progress = cli.ChainProgress(session.Shown, s.problem.Design.LogJacobian())
			return varsel.RunChains(ctx, session.Device, s.problem, config, session.Dir)
		},
	}, config.Validate()
}
