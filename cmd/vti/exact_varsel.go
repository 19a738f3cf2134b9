package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/varsel"
)

func (a *app) exactCommand() *cobra.Command {
	var data dataFlags
	var output outputFlags
	cmd := &cobra.Command{
		Use:   "exact TABLE --target COLUMN",
		Short: "Select variables exactly, by summing over every subset",
		Long: `Computes the same answer as vti varsel, with the same priors, by summing over every subset of the
predictors. That is possible for the Gaussian likelihood with up to 25 predictors: given the noise
scale each subset has a closed form, and an unknown noise scale is integrated numerically.`,
		Example: `  vti exact testdata/diabetes.csv --target y
  vti exact testdata/hald.csv --target y --sigma 2.5 --json`,
		Args:              tableArgument,
		ValidArgsFunction: completeTable,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var err error
		if data.design, data.model, err = data.options(cmd.Flags()); err != nil {
			return err
		}
		s, err := a.newSelection(newVarselRecord("exact", args[0], &data), cmd.Flags(), output)
		if err != nil {
			return err
		}
		if data.model.Slab == (varsel.Slab{}) { // else the run says what it cannot enumerate
			exact, err := s.problem.ExactProblem()
			if err != nil {
				return err
			}
			if err := exact.Validate(); err != nil {
				return err
			}
		}
		return a.execute(cmd.Context(), &s.job, s.enumeration())
	}
	data.register(cmd)
	output.register(cmd, false)
	renamed(cmd, priorSD("slab-scale"))
	cmd.AddCommand(a.exactDagCommand())
	return cmd
}

// enumeration is the task of an exact selection.
func (s *selection) enumeration() task {
	return task{name: "exact", files: varsel.Files(), intro: s.printProblem, compute: func(ctx context.Context, at *session) (*conclusion, error) {
		pace := newPace()
		result, err := varsel.RunExact(ctx, s.problem, func(done, total int) {
			at.shown.line(fmt.Sprintf("model %d/%d  %s", done, total, pace.text(done, total)), done == total)
		}, at.dir)
		if err != nil {
			return nil, err
		}
		return s.conclude(result), nil
	}}
}
