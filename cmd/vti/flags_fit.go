package main

import (
	"fmt"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/varsel"
)

// defaultBatch is the number of draws in a training step.
const defaultBatch = 1024

// fitFlags say how q(m, θ) is built and trained.
type fitFlags struct {
	flow                         flowName
	layers, blocks, hidden, bins int
	sampler                      varsel.Sampler
	surrogate                    varsel.SurrogateOptions
	beta                         cli.Positive
	steps, batch, launch         int
	dtype                        dtypes.DType
	effort                       cli.Effort
}

func (f *fitFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.flow, f.batch = flowName("affine"), defaultBatch
	cli.Group(cmd, "Flow, q(θ | m)", func() {
		f.registerFlow(cmd, "affine, spline or diag, or as in the paper: affine-paper, spline-paper, diag-paper", "default 5; diag 2", "default 2", "default 32")
	})
	cli.Group(cmd, "Distribution of models, q(m)", func() {
		flags.Var(cli.Parsed[varsel.Sampler]{Value: &f.sampler, Parse: varsel.ParseSampler}, "sampler",
			"categorical (a table, up to 20 predictors), surrogate (a Gaussian process, up to 20), autoregressive (a network), or auto: a table up to 16 predictors, a network beyond")
		flags.Var(&f.beta, "beta", "surrogate: standard deviations of the upper confidence bound (default 2)")
		flags.Var(cli.Name(&f.surrogate.Utility), "utility", "surrogate: ucb, thompson or mean")
	})
	f.effort.Register(cmd)
	cli.Group(cmd, "Training", func() {
		flags.Var(cli.Count{Value: &f.steps, Least: 1}, "steps", "training steps with --effort fixed (default 1000; many predictors 300; robust and student 3000)")
		flags.Var(cli.Count{Value: &f.batch, Least: 2}, "batch", "draws per training step")
		cli.RegisterFloatType(cmd, &f.dtype)
		cli.RegisterLaunch(cmd, &f.launch)
	})
	cli.CompleteWith(cmd, "sampler", "auto", "categorical", "surrogate", "autoregressive")
	cli.CompleteWith(cmd, "utility", "ucb", "thompson", "mean")
}

// registerFlow adds the flags of a flow and its sizes, whose defaults differ between commands.
func (f *fitFlags) registerFlow(cmd *cobra.Command, usage, layers, blocks, hidden string) {
	flags := cmd.Flags()
	flags.Var(cli.Parsed[flowName]{Value: &f.flow, Parse: parseFlow}, "flow", usage)
	flags.Var(cli.Count{Value: &f.layers, Least: 1}, "flow-layers", "layers ("+layers+")")
	flags.Var(cli.Count{Value: &f.blocks, Least: 1}, "flow-blocks", "residual blocks per layer ("+blocks+")")
	flags.Var(cli.Count{Value: &f.hidden, Least: 2}, "flow-hidden", "units per hidden layer ("+hidden+")")
	flags.Var(cli.Count{Value: &f.bins, Least: 2}, "flow-bins", "bins of a spline (default 8)")
	cli.CompleteWith(cmd, "flow", flowNames()...)
}

// flowName is a flow as the command line names it.
type flowName string

func (n flowName) String() string { return string(n) }

// flows are the flows by name. Sizes that are zero are cosmic's defaults; its dimensions are filled
// in by the engine.
var flows = []struct {
	name   flowName
	config cosmic.Config
}{
	{"affine", cosmic.Config{Kind: cosmic.Affine}},
	{"spline", cosmic.Config{Kind: cosmic.Spline}},
	{"diag", cosmic.Config{Kind: cosmic.Diagonal}},
	{"affine-paper", cosmic.Affine55(0, 0)},
	{"spline-paper", cosmic.Spline46(0, 0)},
	{"diag-paper", cosmic.DiagonalMLP(0, 0)},
}

func flowNames() (names []string) {
	for _, flow := range flows {
		names = append(names, flow.name.String())
	}
	return names
}

func parseFlow(s string) (flowName, error) {
	for _, flow := range flows {
		if s == flow.name.String() {
			return flow.name, nil
		}
	}
	return "", fmt.Errorf("unknown flow %q; expected one of %q", s, flowNames())
}

// surrogateOptions returns those of the surrogate; they are refused for other samplers.
func (f *fitFlags) surrogateOptions(flags *pflag.FlagSet) (varsel.SurrogateOptions, error) {
	for _, name := range []string{"beta", "utility"} {
		if flags.Changed(name) && f.sampler != varsel.SurrogateSampler {
			return f.surrogate, fmt.Errorf("--%s is for --sampler surrogate; this one is %s", name, f.sampler)
		}
	}
	f.surrogate.Beta = float64(f.beta)
	return f.surrogate, nil
}

// config returns the flow that the flags ask for. Sizes that the family does not have are refused.
func (f *fitFlags) config(flags *pflag.FlagSet) (cosmic.Config, error) {
	var config cosmic.Config
	for _, flow := range flows {
		if flow.name == f.flow {
			config = flow.config
		}
	}
	for _, size := range []struct {
		flag  string
		value int
		field *int
		used  bool
	}{
		{"flow-layers", f.layers, &config.Layers, true},
		{"flow-blocks", f.blocks, &config.Blocks, config.Kind != cosmic.Diagonal},
		{"flow-hidden", f.hidden, &config.Hidden, true},
		{"flow-bins", f.bins, &config.Bins, config.Kind == cosmic.Spline},
	} {
		if !flags.Changed(size.flag) {
			continue
		}
		if !size.used {
			return config, fmt.Errorf("--%s is no size of --flow %s", size.flag, f.flow)
		}
		*size.field = size.value
	}
	check := config
	check.Dim = 1 // known only with the data
	return config, check.Validate()
}
