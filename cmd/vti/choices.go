package main

import (
	"github.com/spf13/cobra"
	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/cmd/internal/studies"
)

func rjmcmcCommand(a *shell.App, all application.Registry) *cobra.Command {
	return all.Choice(a, &cobra.Command{
		Use:     "rjmcmc",
		Short:   "Solve the same problems by reversible-jump MCMC",
		Example: "  vti rjmcmc varsel testdata/diabetes.csv --target y",
	})
}

func amortizeCommand(a *shell.App, all application.Registry) *cobra.Command {
	return all.Choice(a, &cobra.Command{
		Use:   "amortize",
		Short: "Train one network for all tables of a kind",
	})
}

func simulateCommand(a *shell.App, all application.Registry) *cobra.Command {
	return all.Choice(a, &cobra.Command{
		Use:     "simulate",
		Short:   "Simulate data sets with known truth",
		Example: "  vti simulate varsel --predictors 1000 --out data.csv",
	}, studies.Simulate(a))
}

func calibrateCommand(a *shell.App, all application.Registry) *cobra.Command {
	return all.Choice(a, &cobra.Command{
		Use:   "calibrate",
		Short: "Measure whether answers are right, on problems with known truth",
		Long: `Simulates many problems, answers each of them with a command of vti, and compares the answers with
the true models and parameters.

The output directory has results.jsonl with a line for each problem, summary.json, calibration.svg
and calibration.png. To continue a study that was stopped, start it again with the same --out. Each
result comes with the command that repeats its problem alone: it has --only and the number of the
problem.

vtilab calibrate has the same studies and two additions: it compares trusted answers with exact
ones, where other code can compute these, and it has difficult tables (--hard).

With --shard I/N, or in an array job --shards N, the problems are split among N processes on any
machines that see the directory. The same command without the flag then merges their results.`,
	})
}
