package cli

import (
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/spf13/cobra"

	"github.com/transdim/vti/gpu"
)

// Output holds the flags that all commands with run directories have.
type Output struct {
	Seed   uint64
	Device gpu.Kind
	Plugin string
	Out    string
	Json   bool
	Quiet  bool
	// Bare reports whether the page and the figures of the run are left out.
	Bare bool
	// Resume is the directory of the run to resume; "" for a new run.
	Resume string
}

// Common returns the Output itself. It serves commands that embed an Output.
func (f *Output) Common() *Output { return f }

// Register adds the flags to a command. If computes is true they include flags for a seed and a
// device.
func (f *Output) Register(cmd *cobra.Command, computes bool) {
	flags := cmd.Flags()
	Group(cmd, OutputGroup, func() {
		if computes {
			flags.Uint64Var(&f.Seed, "seed", 0, "random seed: the same seed gives the same numbers on the same device")
			Named(cmd, &f.Device, "device", "device: auto, cpu, cuda, xla-cpu, or go (slow, for checks); see vti devices", gpu.KindNames()...)
			RegisterPlugin(cmd, &f.Plugin)
		}
		flags.StringVarP(&f.Out, "out", "o", "", "run `directory` (default a new one in runs/)")
		flags.BoolVar(&f.Json, "json", false, "print one JSON object on standard output, and nothing else")
		flags.BoolVarP(&f.Quiet, "quiet", "q", false, "no progress on standard error")
		flags.BoolVar(&f.Bare, "no-report", false, "write no report.html and no figures; vti report can make them later")
	})
}

// RegisterSampler adds the flags of a command that draws random numbers and needs no device. The
// help of the flag for the seed has the given description.
func (f *Output) RegisterSampler(cmd *cobra.Command, seed *uint64, description string) {
	f.Register(cmd, false)
	Group(cmd, OutputGroup, func() {
		cmd.Flags().Uint64Var(seed, "seed", 0, "random seed: "+description)
	})
}

// OutputGroup is the heading, in the help, of flags about the directory of a run and the form of
// its answer.
const OutputGroup = "Run and output"

// RegisterPlugin adds the flag that names a PJRT plugin, the library of a device.
func RegisterPlugin(cmd *cobra.Command, plugin *string) {
	cmd.Flags().StringVar(plugin, "pjrt-plugin", "", "`file` of the PJRT plugin for --device cuda or xla-cpu (default "+gpu.PluginVariable+", then the usual folders)")
}

// RegisterModels adds the flag that selects the models, or graphs, that results list.
func RegisterModels(cmd *cobra.Command, all *bool, usage string) {
	Group(cmd, OutputGroup, func() { OneOf(cmd, all, "models", usage, []string{"best", "all"}, []bool{false, true}) })
}

// RegisterFloatType adds --dtype to a command that trains.
func RegisterFloatType(cmd *cobra.Command, value *dtypes.DType) {
	*value = dtypes.Float32
	OneOf(cmd, value, "dtype", "float32, or float64: slower and more precise", []string{"float32", "float64"}, []dtypes.DType{dtypes.Float32, dtypes.Float64})
}

// RegisterLaunch adds --steps-per-launch to a command that trains. The flag changes no numbers and
// is not stored in records.
func RegisterLaunch(cmd *cobra.Command, value *int) {
	*value = 1
	cmd.Flags().Var(Count(value, 1), "steps-per-launch", "training steps compiled into one graph: can be faster on a GPU, takes longer to start")
}
