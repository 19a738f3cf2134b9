package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/compare"
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/report"
	"github.com/transdim/vti/varsel"
)

func compareCommand(a *shell.App) *cobra.Command {
	var out string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "compare RUN_A RUN_B",
		Short: "Compare two runs on the same table",
		Long: `Compares two run directories that answer the same question about the same table. Runs of vti varsel, vti exact
and vti rjmcmc varsel: the probabilities of predictors and models side by side, and, when A has draws and B was
made by vti varsel, the cross-entropy of A's draws under B's density. Runs of vti dag, vti exact dag and vti
rjmcmc dag: the probabilities of edges and graphs. Runs of vti hbm, whose formulas may differ: log
evidences, the posteriors of effects and standard deviations, and with --select the probabilities of terms.
Runs of vti mixture, rjmcmc mixture, changepoints or order: the probabilities of numbers of components and changes, and of orders.

Every comparison gives the total variation distance between the probabilities of models (0: the
same, 1: nothing in common), and the largest disagreements in standard errors. A figure plots the
probabilities of models against each other.`,
		Example: `  vti compare runs/exact-20260131-120000 runs/varsel-20260131-120500
  vti compare runs/exact-dag-20260131-120000 runs/dag-20260131-120500`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("expected two run directories, found %d (see %s --help)", len(args), cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return compareRuns(a, cmd, args[0], args[1], out, asJSON)
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "`directory` for tables and figure (default a new one in runs/)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object on standard output, and nothing else")
	return cmd
}

// comparison is that of two runs of any kind.
type comparison interface {
	Write(dir string) error
}

func compareRuns(a *shell.App, cmd *cobra.Command, dirA, dirB, out string, asJSON bool) error {
	kinds := make([]question, 2)
	for k, dir := range []string{dirA, dirB} {
		var err error
		if _, kinds[k], err = readHeader(dir); err != nil {
			return err
		}
	}
	if kinds[0] != kinds[1] {
		return fmt.Errorf("%s is about %s and %s about %s: there is nothing to compare", dirA, kinds[0], dirB, kinds[1])
	}
	var c comparison
	var print func()
	var err error
	switch kinds[0] {
	case aboutGraphs:
		c, print, err = compareGraphs(a, dirA, dirB)
	case aboutRegressions:
		c, print, err = compareRegressions(a, dirA, dirB)
	case aboutMixtures, aboutChanges, aboutOrders:
		c, print, err = compareNumbered(a, dirA, dirB, kinds[0])
	default:
		c, print, err = compareSelections(a, cmd.Context(), dirA, dirB)
	}
	if err != nil {
		return err
	}
	if err := compare.Refuse(out); err != nil {
		return err
	}
	dir, release, err := rundir.Claim(out, "compare", time.Now(), append(compare.Files(), "inclusion.csv", "edges.csv", "estimates.csv", "terms.csv"))
	if err != nil {
		return err
	}
	defer release()
	if err := c.Write(dir); errors.Is(err, compare.ErrHoldsComparison) {
		return err
	} else if err != nil {
		return shell.Failed(err)
	}
	if asJSON {
		return a.PrintJSON(c)
	}
	print()
	return nil
}

// openBoth opens two runs.
func openBoth[R any](open func(dir string) (R, error), dirA, dirB string) (a, b R, err error) {
	if a, err = open(dirA); err != nil {
		return a, b, err
	}
	b, err = open(dirB)
	return a, b, err
}

func compareSelections(a *shell.App, ctx context.Context, dirA, dirB string) (comparison, func(), error) {
	x, y, err := openBoth(varsel.OpenRun, dirA, dirB)
	if err != nil {
		return nil, nil, err
	}
	c, err := varsel.Compare(ctx, x, y)
	return c, func() { report.PrintSelections(a.Text, c, x.Result.Data.Predictors) }, err
}

func compareGraphs(a *shell.App, dirA, dirB string) (comparison, func(), error) {
	x, y, err := openBoth(dag.OpenRun, dirA, dirB)
	if err != nil {
		return nil, nil, err
	}
	c, err := dag.Compare(x, y)
	return c, func() { report.PrintGraphs(a.Text, c) }, err
}

func compareRegressions(a *shell.App, dirA, dirB string) (comparison, func(), error) {
	x, y, err := openBoth(regression.OpenRun, dirA, dirB)
	if err != nil {
		return nil, nil, err
	}
	c, err := regression.Compare(x, y)
	return c, func() { report.PrintRegressions(a.Text, c) }, err
}
