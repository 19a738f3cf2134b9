package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/gpu"
)

// tested is the object that "vtilab devices" prints as JSON.
type tested struct {
	Check     []checkLine     `json:"check,omitempty"`
	Benchmark []benchmarkLine `json:"benchmark,omitempty"`
}

func devicesCommand(a *shell.App) *cobra.Command {
	var asJSON, check, benchmark bool
	var test deviceTest
	var sizes benchmarkFlags
	cmd := &cobra.Command{
		Use:   "devices",
		Short: "Compare the results of devices, and time them",
		Long: `With --check it computes on every device that works, or on the one of --device, and compares the
results with GoMLX's interpreter in float64: every flow, every q(m), every likelihood and 50
training steps of each, in float32 and float64, with the same random numbers everywhere. The exit
status is 1 if a device disagrees. vti devices lists the devices.

With --benchmark it times training steps on the paper's robust design, and prints the fractions of a
step that its matrix products and memory traffic would take at the speeds measured for a large
product and a large array on the same device. It stops when memory runs out.`,
		Example: `  vtilab devices --check
  vtilab devices --check --benchmark --device cuda --pjrt-plugin xla_cuda_plugin.so
  vtilab devices --benchmark --device cpu --predictors 7 --batches 1024`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if !check && !benchmark {
				return errors.New("expected --check, --benchmark or both; vti devices lists the devices")
			}
			var answer tested
			if check {
				if answer.Check, err = test.check(cmd.Context(), a); err != nil {
					return err
				}
			}
			if benchmark {
				if answer.Benchmark, err = test.benchmark(cmd.Context(), a, &sizes); err != nil {
					return err
				}
			}
			if asJSON {
				return a.PrintJSON(answer)
			}
			if check {
				printCheck(a.Text, answer.Check)
			}
			printBenchmark(a.Text, answer.Benchmark)
			return nil
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&check, "check", false, "compare the results of devices with the interpreter")
	flags.BoolVar(&benchmark, "benchmark", false, "time training steps on devices")
	test.register(cmd)
	sizes.register(cmd)
	flags.BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// deviceTest holds the flags that select the devices to test.
type deviceTest struct {
	device gpu.Kind
	plugin string
	quiet  bool
}

func (d *deviceTest) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	cli.Named(cmd, &d.device, "device", "the only device, instead of every device that works", gpu.KindNames()...)
	cli.RegisterPlugin(cmd, &d.plugin)
	flags.BoolVarP(&d.quiet, "quiet", "q", false, "no progress on standard error")
}

func (d *deviceTest) kinds() (kinds []gpu.Kind) {
	if d.device != gpu.Auto {
		return []gpu.Kind{d.device}
	}
	for _, listing := range gpu.List(d.plugin) {
		if listing.Available && listing.Kind != gpu.Reference {
			kinds = append(kinds, listing.Kind)
		}
	}
	return kinds
}
