package selection

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/varsel"
)

type exactFlags struct{ dataFlags }

// Register adds the flags to the command.
func (f *exactFlags) Register(cmd *cobra.Command) {
	f.register(cmd)
	f.registerInclusion(cmd)
	f.Output.Register(cmd, false)
}

func exactCommand(a *shell.App) *cobra.Command {
	return application.Answering(a, &cobra.Command{
		Use:   "exact TABLE --target COLUMN",
		Short: "Select variables exactly, by summing over every subset",
		Long: `Computes the same answer as vti varsel, with the same priors, by summing over every subset of the
predictors. That is possible for the Gaussian likelihood with up to 25 predictors: given the noise
scale each subset has a closed form, and an unknown noise scale is integrated numerically.`,
		Example: `  vti exact testdata/diabetes.csv --target y
  vti exact testdata/hald.csv --target y --sigma 2.5 --json`,
	}, func() application.Question[*varsel.Record] { return &exactFlags{} })
}

// Begin checks the input of a run that enumerates all models, and returns its task.
func (f *exactFlags) Begin(ctx context.Context, run *application.Asked[*varsel.Record]) (t shell.Task, err error) {
	s, err := newSelection(ctx, run)
	if err != nil {
		return t, err
	}
	problem, err := s.problem.ExactProblem()
	if err != nil {
		return t, err
	}
	if err := problem.Validate(); err != nil {
		return t, err
	}
	return shell.Task{Name: "exact", Files: varsel.Files(), Intro: s.PrintProblem, Compute: func(ctx context.Context, session *shell.Session) (shell.Judged, error) {
		return varsel.RunExact(ctx, s.problem, session.Counting("model"), session.Dir)
	}}, nil
}
