package answers

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/varsel"
	"github.com/transdim/vti/varsel/colocate"
)

// Colocate returns the command vti coloc.
func Colocate(a *shell.App) *cobra.Command {
	var prior float64
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "coloc RUN_A RUN_B",
		Short: "Find the predictors that two selections share, such as markers of two traits",
		Long: `Computes the probability that two responses share a predictor, from two finished runs of vti varsel,
vti exact or vti rjmcmc varsel: for two traits, or two studies of one trait, whether a genetic
marker matters for both. Predictors are matched by their names.

Models may have any number of predictors, so that neither response needs to have one alone. Rows of
the two runs are taken to be independent.

The sizes of models keep the priors of the runs. --prior is the prior probability that two responses
with one predictor each have the same one; it raises the odds of shared predictors in models of all
sizes. The usual priors of coloc in R (1e-4, 1e-4 and 1e-5) mean 1000/(1000 + p - 1) for p markers.
The answer is also printed for other values.`,
		Example: `  vti coloc runs/ldl runs/heart
  vti coloc runs/ldl runs/heart --prior 0.1 --json`,
		Args: cli.Arguments(2, 2, "two run directories"),
		RunE: func(_ *cobra.Command, args []string) error {
			if prior == 0 { // 0 would stand for the default
				return errors.New("--prior: got 0, want a number between 0 and 1")
			}
			var runs [2]*varsel.StoredRun
			for side, dir := range args {
				var err error
				if runs[side], err = varsel.OpenRun(dir); err != nil {
					return err
				}
			}
			result, err := colocate.Of(runs[0], runs[1], prior)
			if err != nil {
				return err
			}
			return a.Answer(asJSON, result, func() { printShared(a.Text, result) })
		},
	}
	cmd.Flags().Float64Var(&prior, "prior", colocate.DefaultPrior, "prior `probability` that two responses with one predictor each have the same one")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object on standard output, and nothing else")
	return cmd
}

// mostShared is the largest number of shared predictors that are printed.
const mostShared = 10

// boundedProbability formats a probability estimated from some thousand draws. 0 and 1 are written
// as bounds, since draws do not prove them.
func boundedProbability(p, se report.Number) string {
	switch {
	case p < 0.0005:
		return "<0.001"
	case p >= 0.9995:
		return ">0.999"
	}
	return document.InThree(p, se)
}

func printShared(w io.Writer, r *colocate.Result) {
	share := r.Hypotheses[len(r.Hypotheses)-1]
	fmt.Fprintf(w, "With probability %s the responses of the two runs share a predictor.\n\n", boundedProbability(share.Probability, share.SE))
	fmt.Fprintf(w, "A: %s\nB: %s\n", r.A, r.B)
	fmt.Fprintf(w, "%s in both runs, %d only in A, %d only in B\n", english.Count(r.Predictors, "predictor"), r.OnlyA, r.OnlyB)
	for _, note := range r.Notes {
		fmt.Fprintf(w, "note: %s\n", note)
	}
	fmt.Fprintln(w)
	print := func(table *document.Grid) {
		table.Print(w)
		fmt.Fprintln(w)
	}
	hypotheses := &document.Grid{}
	hypotheses.Add("<hypothesis", "probability")
	for _, h := range r.Hypotheses {
		hypotheses.Add(h.Name, boundedProbability(h.Probability, h.SE))
	}
	print(hypotheses)
	if len(r.Shared) > 0 {
		predictors := &document.Grid{}
		predictors.Add("<predictor", "shared", "in A", "in B")
		for _, p := range r.Shared[:min(len(r.Shared), mostShared)] {
			predictors.Add(p.Name, boundedProbability(p.Shared, 0), document.InThree(p.A, 0), document.InThree(p.B, 0))
		}
		if more := len(r.Shared) - mostShared; more > 0 {
			predictors.Add(fmt.Sprintf("and %d less probable", more))
		}
		print(predictors)
	}
	others := &document.Grid{}
	others.Add("<prior probability of a shared predictor, if each response has one", "posterior")
	for _, s := range r.Sensitivity {
		others.Add(document.Short(s.Prior), boundedProbability(s.Shared, s.SE))
	}
	others.Print(w)
}
