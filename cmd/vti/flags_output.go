package main

import (
	"fmt"
	"strings"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/spf13/cobra"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	runs "github.com/transdim/vti/run"
)

// outputFlags are those of every command that makes a run.
type outputFlags struct {
	seed   uint64
	device gpu.Kind
	plugin string
	out    string
	json   bool
	quiet  bool
	// bare leaves out the page and the figures of the run.
	bare bool
}

func (f *outputFlags) register(cmd *cobra.Command, computes bool) {
	flagGroup(cmd, outputGroup, func() { f.define(cmd, computes) })
}

// registerSampler registers the flags of a command that needs no device, with a seed of what is
// said.
func (f *outputFlags) registerSampler(cmd *cobra.Command, of string) {
	f.register(cmd, false)
	flagGroup(cmd, outputGroup, func() {
		cmd.Flags().Uint64Var(&f.seed, "seed", 0, "random seed: "+of)
	})
}

// askedOf is the record of a run that answers without training.
func askedOf[O any](cmd *cobra.Command, name, path string, options O, output outputFlags) *runs.Asked[O] {
	return &runs.Asked[O]{
		Header:  runs.Header{Command: name, Version: vti.Version, Data: path, Flags: givenFlags(cmd.Flags())},
		Options: options, Seed: output.seed,
	}
}

// outputGroup is the group of flags that say where a run computes, and what becomes of its answer.
const outputGroup = "Run and output"

func (f *outputFlags) define(cmd *cobra.Command, computes bool) {
	flags := cmd.Flags()
	if computes {
		flags.Uint64Var(&f.seed, "seed", 0, "random seed: the same seed gives the same numbers on the same device")
		flags.Var(textual{&f.device}, "device", "device: auto, cpu, cuda, xla-cpu, or go (slow, for checks); see vti devices")
		completeWith(cmd, "device", gpu.KindNames()...)
		registerPlugin(cmd, &f.plugin)
	}
	flags.StringVarP(&f.out, "out", "o", "", "run `directory` (default a new one in runs/)")
	flags.BoolVar(&f.json, "json", false, "print one JSON object on standard output, and nothing else")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress on standard error")
	flags.BoolVar(&f.bare, "no-report", false, "write no report.html and no figures; vti report can make them later")
}

// registerPlugin adds the flag that names a PJRT plugin.
func registerPlugin(cmd *cobra.Command, plugin *string) {
	cmd.Flags().StringVar(plugin, "pjrt-plugin", "", "`file` of the PJRT plugin for --device cuda or xla-cpu (default "+gpu.PluginVariable+", then the usual folders)")
}

// floatType is a flag that takes the float type to compute in.
type floatType struct{ value *dtypes.DType }

// registerFloatType adds --dtype to a command that trains.
func registerFloatType(cmd *cobra.Command, value *dtypes.DType) {
	*value = dtypes.Float32
	cmd.Flags().Var(floatType{value}, "dtype", "float32, or float64: slower and more precise")
	completeWith(cmd, "dtype", "float32", "float64")
}

// registerLaunch adds --steps-per-launch to a command that trains. It changes no numbers, so that
// no record keeps it.
func registerLaunch(cmd *cobra.Command, value *int) {
	*value = 1
	cmd.Flags().Var(count{value, 1}, "steps-per-launch", "training steps compiled into one graph: can be faster on a GPU, takes longer to start")
}

func (v floatType) Set(s string) error {
	for _, dtype := range []dtypes.DType{dtypes.Float32, dtypes.Float64} {
		if s == strings.ToLower(dtype.String()) {
			*v.value = dtype
			return nil
		}
	}
	return fmt.Errorf("expected float32 or float64, found %q", s)
}

func (v floatType) String() string {
	if v.value == nil {
		return ""
	}
	return strings.ToLower(v.value.String())
}

func (v floatType) Type() string { return "name" }
