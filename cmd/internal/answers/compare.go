package answers

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/compare"
	"github.com/transdim/vti/internal/rundir"
)

// Compare returns the command vti compare.
func Compare(a *shell.App, all application.Registry) *cobra.Command {
	var out string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "compare RUN_A RUN_B",
		Short: "Compare two runs on the same table",
		Long: `Compares two runs, A and B, that answer the same question about the same table:

  varsel, exact, rjmcmc varsel   the probabilities of predictors and models; if A has draws and B
                                 was made by vti varsel, also the cross-entropy of the draws of A
                                 under the density of B
  dag, exact dag, rjmcmc dag     the probabilities of edges and graphs
  hbm, formulas may differ       log evidences, the posteriors of effects and standard deviations,
                                 and with --select the probabilities of terms
  mixture                        the probabilities of numbers of components
  changepoints                   the probabilities of numbers of changes
  order                          the probabilities of orders

Every comparison gives the total variation distance between the probabilities of models (0: the
same, 1: nothing in common), and the largest disagreements in standard errors. A figure plots the
probabilities of models against each other.`,
		Example: `  vti compare runs/exact-20260131-120000 runs/varsel-20260131-120500
  vti compare runs/exact-dag-20260131-120000 runs/dag-20260131-120500`,
		Args: cli.Arguments(2, 2, "two run directories"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return compareRuns(a, cmd, all, args[0], args[1], out, asJSON)
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "`directory` for tables and figure (default a new one in runs/)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object on standard output, and nothing else")
	return cmd
}

func compareRuns(a *shell.App, cmd *cobra.Command, all application.Registry, dirA, dirB, out string, asJSON bool) error {
	c, err := all.Compare(cmd.Context(), dirA, dirB)
	if err != nil {
		return err
	}
	if out != "" { // otherwise the directory is new
		if err := compare.Refuse(out); err != nil {
			return err
		}
	}
	dir, release, err := rundir.Claim(out, "compare", time.Now(), append(compare.Files(), "inclusion.csv", "edges.csv", "estimates.csv", "terms.csv"))
	if err != nil {
		return err
	}
	defer release()
	if err := c.Result.Write(dir); err != nil {
		return shell.Failed(err)
	}
	return a.Answer(asJSON, c.Result, func() { c.Print(a.Text) })
}
