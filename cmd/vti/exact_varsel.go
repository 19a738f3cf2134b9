package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/console"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/varsel"
)

func exactCommand(a *shell.App) *cobra.Command {
	var data dataFlags
	var output cli.Output
	cmd := &cobra.Command{
		Use:   "exact TABLE --target COLUMN",
		Short: "Select variables exactly, by summing over every subset",
		Long: `Computes the same answer as vti varsel, with the same priors, by summing over every subset of the
predictors. That is possible for the Gaussian likelihood with up to 25 predictors: given the noise
scale each subset has a closed form, and an unknown noise scale is integrated numerically.`,
		Example: `  vti exact testdata/diabetes.csv --target y
  vti exact testdata/hald.csv --target y --sigma 2.5 --json`,
		Args:              cli.TableArgument,
		ValidArgsFunction: cli.CompleteTable,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var err error
		if data.design, data.model, err = data.options(cmd.Flags()); err != nil {
			return err
		}
		s, err := newSelection(a, newVarselRecord("exact", args[0], &data), cmd.Flags(), output)
		if err != nil {
			return err
		}
		problem, err := s.problem.ExactProblem()
		if err != nil {
			return err
		}
		if err := problem.Validate(); err != nil {
			return err
		}
		return a.Execute(cmd.Context(), &s.Job, s.enumeration())
	}
	data.register(cmd)
	output.Register(cmd, false)
	cli.Renamed(cmd, cli.PriorSD("slab-scale"))
	cmd.AddCommand(exactDagCommand(a))
	return cmd
}

// enumeration is the task of an exact selection.
func (s *selection) enumeration() shell.Task {
	return shell.Task{Name: "exact", Files: varsel.Files(), Intro: s.printProblem, Compute: func(ctx context.Context, at *shell.Session) (*shell.Conclusion, error) {
		pace := console.NewPace()
		result, err := varsel.RunExact(ctx, s.problem, func(done, total int) {
			at.Shown.Line(fmt.Sprintf("model %d/%d  %s", done, total, pace.Text(done, total)), done == total)
		}, at.Dir)
		if err != nil {
			return nil, err
		}
		return s.conclude(result), nil
	}}
}
