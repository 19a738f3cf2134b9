package selection

import (
	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/cli"
)

// registerTraining adds the flags that say how q(m, θ) is built and trained.
func (f *varselFlags) registerTraining(cmd *cobra.Command) {
	flags, record := cmd.Flags(), &f.record
	f.flow.Flow, record.Batch = cli.FlowName("affine"), cli.DefaultBatch
	cli.Group(cmd, "Flow, q(θ | m)", func() {
		f.flow.Register(cmd, "affine, spline or diag, or as in the paper: affine-paper, spline-paper, diag-paper", "default 5; diag 2", "default 2", "default 32")
	})
	cli.Group(cmd, "Distribution of models, q(m)", func() {
		flags.Var(cli.Name(&record.Sampler), "sampler",
			"categorical (a table, up to 20 predictors), surrogate (a Gaussian process, up to 20), autoregressive (a network), or auto: a table up to 16 predictors, a network beyond")
		flags.Var((*cli.Positive)(&record.Surrogate.Beta), "beta", "surrogate: standard deviations of the upper confidence bound (default 2)")
		flags.Var(cli.Name(&record.Surrogate.Utility), "utility", "surrogate: ucb, thompson or mean")
	})
	f.effort.Register(cmd)
	cli.Group(cmd, "Training", func() {
		flags.Var(cli.Count{Value: &record.Steps, Least: 1}, "steps", "training steps with --effort fixed (default 1000; many predictors 300; robust and student 3000)")
		flags.Var(cli.Count{Value: &record.Batch, Least: 2}, "batch", "draws per training step")
		cli.RegisterFloatType(cmd, &record.DType)
		cli.RegisterLaunch(cmd, &f.launch)
	})
	cli.CompleteWith(cmd, "sampler", "auto", "categorical", "surrogate", "autoregressive")
	cli.CompleteWith(cmd, "utility", "ucb", "thompson", "mean")
}
