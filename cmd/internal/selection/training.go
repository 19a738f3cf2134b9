package selection

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/varsel"
)

// registerTraining adds the flags for the construction and the training of q(m, θ), the approximate
// posterior of models m and parameters θ.
func (f *varselFlags) registerTraining(cmd *cobra.Command) {
	flags, record := cmd.Flags(), &f.record
	f.flow.Flow, record.Batch = "affine", cli.DefaultBatch
	cli.Group(cmd, "Flow, q(θ | m)", func() {
		f.flow.Register(cmd, "affine, spline or diag; or affine-paper, spline-paper or diag-paper, in the sizes of Davies et al. (2025)", "default 5; diag 2", "default 2", "default 32")
	})
	cli.Group(cmd, "Distribution of models, q(m)", func() {
		cli.Named(cmd, &record.Sampler, "sampler",
			"categorical (a table, up to 20 predictors), surrogate (a Gaussian process, up to 20), autoregressive (a network), or auto: a table up to 16 predictors, a network beyond", "auto", "categorical", "surrogate", "autoregressive")
		cli.Named(cmd, &record.Surrogate.Belief, "belief", "surrogate: diagonal (each model by itself), process (a Gaussian process over models), or auto: diagonal up to 12 predictors", "auto", "diagonal", "process")
		flags.Var(cli.Positive(&record.Surrogate.Beta), "beta", "surrogate: standard deviations of the upper confidence bound (default 2)")
		cli.Named(cmd, &record.Surrogate.Utility, "utility", "surrogate: ucb, thompson or mean", "ucb", "thompson", "mean")
		cli.Named(cmd, &record.Learning.ControlVariate, "control-variate",
			"subtracted from losses in the gradient of q(m): leave-one-out (the mean of the other draws), mean (of the steps before), surrogate (what one expects of each model; categorical), or none", "leave-one-out", "mean", "surrogate", "none")
		flags.Var(cli.PositiveOr("none", &record.Learning.InformationGain), "information-gain", "largest change of the entropy of q(m) in a step, in nats, or none (default 0.01)")
	})
	f.effort.Register(cmd)
	cli.Group(cmd, "Training", func() {
		flags.Var(cli.Count(&record.Steps, 1), "steps", "training steps with --effort fixed (default 1000; many predictors 300; robust and student 3000)")
		cli.Named(cmd, &record.Learning.Start, "start",
			"with --effort fixed, where training starts: pilot (the flow is a normal approximation at a mode, and q(m) the result of a pilot run with this flow), anchor (the same flow, and q(m) is the prior), or identity (as in Davies et al. 2025: the flow is the identity, q(m) is the prior, and no target is tempered)", "pilot", "anchor", "identity")
		flags.Var(cli.Count(&record.Batch, 2), "batch", "draws per training step")
		cli.RegisterFloatType(cmd, &record.DType)
		cli.RegisterLaunch(cmd, &f.launch)
	})
}

// checkLearning returns an error for flags about q(m), the approximate posterior of models, that
// contradict each other. The budget of the record must be set.
func checkLearning(flags *pflag.FlagSet, record *varsel.Record) error {
	surrogate := record.Sampler == varsel.SurrogateSampler
	why, others := fmt.Sprintf(" is for --sampler surrogate; this one is %s", record.Sampler), []string{"belief", "beta", "utility"}
	if surrogate {
		why, others = " is for a q(m) that follows a gradient; --sampler surrogate has none", []string{"control-variate", "information-gain"}
	}
	if err := cli.Refuse(flags, why, others...); err != nil {
		return err
	}
	learning := record.Learning
	switch {
	case learning.ControlVariate == vti.SurrogateMean && record.Sampler != varsel.CategoricalSampler:
		return fmt.Errorf("--control-variate %s is for --sampler categorical; this one is %s", learning.ControlVariate, record.Sampler)
	case !flags.Changed("start"):
		return nil
	case record.From != "":
		return errors.New("--start and --from both say where training begins: want one of them")
	case record.InRounds():
		return errors.New("--start is for --effort fixed; --effort auto starts with a pilot run, and sets q(m) anew after each round")
	case learning.Start == vti.PilotStart && surrogate:
		return errors.New("--start pilot: --sampler surrogate has no pilot run, and learns from the prior: want anchor or identity")
	}
	return nil
}
