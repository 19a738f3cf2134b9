package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/transdim/vti/cosmic"
)

// DefaultBatch is the default number of draws in a training step.
const DefaultBatch = 1024

// Flow holds the flags for the normalising flow q(θ | m), the approximate posterior of the
// parameters θ given a model m.
type Flow struct {
	Flow                         string // the name of the kind of flow
	layers, blocks, hidden, bins int
}

// Register adds the flags of a flow. The defaults of its sizes (layers, blocks, hidden) differ
// between commands; the argument usage is the help of the flag for the kind of flow.
func (f *Flow) Register(cmd *cobra.Command, usage, layers, blocks, hidden string) {
	flags := cmd.Flags()
	OneWord(cmd, &f.Flow, "flow", usage, flowNames()...)
	flags.Var(Count(&f.layers, 1), "flow-layers", "layers ("+layers+")")
	flags.Var(Count(&f.blocks, 1), "flow-blocks", "residual blocks per layer ("+blocks+")")
	flags.Var(Count(&f.hidden, 2), "flow-hidden", "units per hidden layer ("+hidden+")")
	flags.Var(Count(&f.bins, 2), "flow-bins", "bins of a spline (default 8)")
}

// flows are the kinds of flows by name. A size of zero stands for the default of package cosmic.
// The dimension is set later, from the data.
var flows = []struct {
	name   string
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
		names = append(names, flow.name)
	}
	return names
}

// Config returns the flow that the flags ask for. It returns an error for flags about sizes that
// this kind of flow does not have.
func (f *Flow) Config(flags *pflag.FlagSet) (cosmic.Config, error) {
	var config cosmic.Config
	for _, flow := range flows {
		if flow.name == f.Flow {
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
			return config, fmt.Errorf("--%s is no size of --flow %s", size.flag, f.Flow)
		}
		*size.field = size.value
	}
	check := config
	check.Dim = 1 // any number; the dimension is known only with the data
	return config, check.Validate()
}
