package main

import (
	"github.com/spf13/cobra"

	"github.com/transdim/vti/gpu"
)

// outputFlags are those of every command that makes a run.
type outputFlags struct {
	seed   uint64
	device gpu.Kind
	out    string
	json   bool
	quiet  bool
}

func (f *outputFlags) register(cmd *cobra.Command, computes bool) {
	flags := cmd.Flags()
	if computes {
		flags.Uint64Var(&f.seed, "seed", 0, "root of all randomness: the same seed gives the same numbers on the same device")
		flags.Var(parsed[gpu.Kind]{&f.device, gpu.ParseKind}, "device", "where to compute: auto, cpu, or go (slow, for checking)")
		completeWith(cmd, "device", "auto", "cpu", "go")
	}
	flags.StringVarP(&f.out, "out", "o", "", "run `directory` (default a new one in runs/)")
	flags.BoolVar(&f.json, "json", false, "print one JSON object on standard output and nothing else there")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress on standard error")
}
