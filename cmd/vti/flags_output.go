package main

import (
	"github.com/spf13/cobra"

	"github.com/transdim/vti/gpu"
)

// outputFlags are those of every command that makes a run.
type outputFlags struct {
	seed   uint64
	device gpu.Kind
	plugin string
	out    string
	json   bool
	quiet  bool
}

func (f *outputFlags) register(cmd *cobra.Command, computes bool) {
	flags := cmd.Flags()
	if computes {
		flags.Uint64Var(&f.seed, "seed", 0, "root of all randomness: the same seed gives the same numbers on the same device")
		flags.Var(parsed[gpu.Kind]{&f.device, gpu.ParseKind}, "device", "where to compute: auto, cpu, cuda, xla-cpu, or go (slow, for checking); vti devices lists what is there")
		completeWith(cmd, "device", gpu.KindNames()...)
		registerPlugin(cmd, &f.plugin)
	}
	flags.StringVarP(&f.out, "out", "o", "", "run `directory` (default a new one in runs/)")
	flags.BoolVar(&f.json, "json", false, "print one JSON object on standard output and nothing else there")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress on standard error")
}

// registerPlugin adds the flag that names a PJRT plugin.
func registerPlugin(cmd *cobra.Command, plugin *string) {
	cmd.Flags().StringVar(plugin, "pjrt-plugin", "", "`file` of the PJRT plugin for --device cuda or xla-cpu (default "+gpu.PluginVariable+", then the usual folders)")
}
