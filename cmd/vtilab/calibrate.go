package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/calibrate"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/graphs"
	"github.com/transdim/vti/cmd/internal/hierarchies"
	"github.com/transdim/vti/cmd/internal/selection"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/lab/hard"
	"github.com/transdim/vti/likelihood"
)

func calibrateCommand(a *shell.App) *cobra.Command {
	return cli.Choice(&cobra.Command{
		Use:   "calibrate",
		Short: "Compare answers with exact ones, also of difficult tables",
		Long: `Draws the problems of vti calibrate, or with --hard difficult tables, answers each with the command,
and compares the answers with exact ones, where there are any. It lists every answer that is trusted
and wrong, with the command that repeats it.`,
		Example: "  vtilab calibrate varsel --hard --replicates 500 --out studies/hard",
	}, selection.Calibrate(a, hardVarsel), graphs.Calibrate(a, hardDag), hierarchies.Calibrate(a, hardHbm))
}

// registerHard registers the flag --hard. The argument about describes, for the help of the
// command, the difficult tables that the flag selects.
func registerHard(cmd *cobra.Command, about, example string) *bool {
	cmd.Long += "\n\n" + about
	cmd.Example = example
	return cmd.Flags().Bool("hard", false, "draw difficult tables, and compare only with exact answers")
}

func hardVarsel(cmd *cobra.Command) func(args []string, s calibrate.Varsel) (calibrate.Source, error) {
	difficult := registerHard(cmd, `With --ordinary it draws tables of 30 to 200 rows with one to eight predictors, correlations up to
0.95 and any likelihood. With --hard it draws difficult tables, under gaussian, robust, student,
logistic and poisson likelihoods unless --likelihood names one. Under those with a shape, precision
or dispersion, many have about as many coefficients as rows. With --wide it draws tables of up to a
thousand predictors in independent blocks, under gaussian, logistic and poisson likelihoods.`, `  vtilab calibrate varsel --likelihood logistic --rows 60 --predictors 2 --out studies/logistic
  vtilab calibrate varsel --hard --replicates 500 --out studies/hard`)
	ordinary := cmd.Flags().Bool("ordinary", false, "draw tables of many sizes, correlations and likelihoods")
	many := cmd.Flags().Bool("wide", false, "draw tables of very many predictors in independent blocks")
	cmd.MarkFlagsMutuallyExclusive("hard", "ordinary", "wide")
	return func(args []string, s calibrate.Varsel) (calibrate.Source, error) {
		if !*difficult && !*ordinary && !*many {
			s.Exact = hard.ExactVarsel
			return s, nil
		}
		if len(args) > 0 {
			return nil, errors.New("--hard, --ordinary and --wide draw their own tables: leave the table out")
		}
		if err := cli.Refuse(cmd.Flags(), ": --hard, --ordinary and --wide choose it", "rows", "predictors"); err != nil {
			return nil, err
		}
		var only *likelihood.Kind
		if cmd.Flags().Changed("likelihood") {
			only = &s.Record.Model.Likelihood
		}
		switch {
		case *ordinary && only != nil:
			return nil, errors.New("--ordinary draws tables of every likelihood: leave --likelihood out")
		case *ordinary:
			return hard.Ordinary{Device: s.Device, Record: s.Record}, nil
		case *many:
			return hard.Wide{Device: s.Device, Record: s.Record, Only: only}, nil
		}
		return hard.Varsel{Device: s.Device, Record: s.Record, Only: only}, nil
	}
}

func hardDag(cmd *cobra.Command) func(args []string, s calibrate.Dag) (calibrate.Source, error) {
	difficult := registerHard(cmd, `Mixed tables have an exact answer for at most 3 columns and categories of two levels. With --hard it
draws nasty tables with bge and linear mechanisms, unknown noise scales and categories instead, mixed
ones with --sem mixed, or with --sem mlp, for which there is no exact answer.`, "  vtilab calibrate dag --hard --replicates 500 --out studies/hard-dag")
	return func(_ []string, s calibrate.Dag) (calibrate.Source, error) {
		if *difficult {
			return hard.Dag{Device: s.Device, Record: s.Record}, nil
		}
		s.Exact = hard.ExactDag
		return s, nil
	}
}

func hardHbm(cmd *cobra.Command) func(args []string, s calibrate.Hbm) (calibrate.Source, error) {
	difficult := registerHard(cmd, `With --hard it draws difficult tables, with gaussian, logistic and poisson responses unless
--likelihood names one.`, "  vtilab calibrate hbm --hard --replicates 500 --out studies/hard-hbm")
	return func(_ []string, s calibrate.Hbm) (calibrate.Source, error) {
		if !*difficult {
			s.Exact = hard.ExactHbm
			return s, nil
		}
		if s.Record.Frame.Response == likelihood.StudentKind {
			return nil, errors.New("--hard compares with exact answers, and there are none for --likelihood student; leave out --hard for ranks of what tables are drawn from")
		}
		source := hard.Hbm{Device: s.Device, Record: s.Record}
		if !cmd.Flags().Changed("likelihood") { // the program integrates many Gaussian tables without training, so that by default most are Gaussian
			g := likelihood.GaussianKind
			source.Responses = []likelihood.Kind{g, g, g, likelihood.LogisticKind, likelihood.PoissonKind}
		}
		return source, nil
	}
}
