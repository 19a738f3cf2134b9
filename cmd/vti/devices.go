package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/gpu"
)

// devicesAnswer is what vti devices --json prints.
type devicesAnswer struct {
	Command string       `json:"command"`
	Auto    string       `json:"auto"` // the kind that --device auto opens
	Devices []deviceLine `json:"devices"`
	Cards   []string     `json:"cards"`
	Check   []checkLine  `json:"check,omitempty"`

	Benchmark []benchmarkLine `json:"benchmark,omitempty"`
}

type deviceLine struct {
	Device      string   `json:"device"`
	Available   bool     `json:"available"`
	Description string   `json:"description"`
	Units       []string `json:"units"`
}

func (a *app) devicesCommand() *cobra.Command {
	var plugin string
	var asJSON, check, benchmark bool
	var test deviceTest
	var sizes benchmarkFlags
	cmd := &cobra.Command{
		Use:   "devices",
		Short: "List the devices that vti can compute on",
		Long: `Tries every device that --device can name and lists those that work: the CPU with the vector
instructions in use, the PJRT plugins found, and their GPUs with memory. For a device that cannot be
opened it says what is missing. Nothing is downloaded.

With --check it also computes on every device that works, or on that of --device, and compares the
results with GoMLX's interpreter in float64: every flow, every q(m), every likelihood and 50
training steps of each, in float32 and float64, with the same random numbers everywhere. The exit
status is 1 if a device disagrees.

With --benchmark it times training steps on the paper's robust design, and prints the fractions of a
step that its matrix products and memory traffic would take at the speeds measured for a large
product and a large array on the same device. It stops when memory runs out.`,
		Example: `  vti devices
  vti devices --check
  vti devices --check --benchmark --device cuda --pjrt-plugin xla_cuda_plugin.so
  vti devices --benchmark --device cpu --predictors 7 --batches 1024`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			answer, err := surveyDevices(plugin)
			if err != nil {
				return err
			}
			test.plugin = plugin
			if check {
				if answer.Check, err = test.check(cmd.Context(), a, answer); err != nil {
					return err
				}
			}
			if benchmark {
				if answer.Benchmark, err = test.benchmark(cmd.Context(), a, answer, &sizes); err != nil {
					return err
				}
			}
			if asJSON {
				return a.describe("devices", answer)
			}
			_, err = fmt.Fprint(a.text, answer.text())
			if check {
				printCheck(a.text, answer.Check)
			}
			if benchmark {
				printBenchmark(a.text, answer.Benchmark)
			}
			return err
		},
	}
	registerPlugin(cmd, &plugin)
	cmd.Flags().BoolVar(&check, "check", false, "compare the results of devices with the interpreter")
	cmd.Flags().BoolVar(&benchmark, "benchmark", false, "time training steps on devices")
	test.register(cmd)
	sizes.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func surveyDevices(plugin string) (*devicesAnswer, error) {
	answer := &devicesAnswer{Command: "devices", Cards: gpu.Cards()}
	for _, listing := range gpu.List(plugin) {
		answer.Devices = append(answer.Devices, deviceLine{listing.Kind.String(), listing.Available, listing.Description, listing.Units})
	}
	device, err := gpu.OpenWith(gpu.Options{Plugin: plugin})
	if err != nil {
		return nil, err
	}
	defer device.Close()
	answer.Auto = device.Kind().String()
	return answer, nil
}

func (d *devicesAnswer) text() string {
	var text strings.Builder
	for _, line := range d.Devices {
		mark := ""
		if !line.Available {
			mark = "not available: "
		}
		if line.Device == d.Auto {
			mark = "(auto) "
		}
		description := strings.TrimPrefix(line.Description, "device "+line.Device+": ")
		fmt.Fprintf(&text, "%-8s %s%s\n", line.Device, mark, strings.ReplaceAll(description, "\n", "\n         "))
		for _, unit := range line.Units {
			fmt.Fprintf(&text, "         %s\n", unit)
		}
	}
	for _, card := range d.Cards {
		fmt.Fprintf(&text, "card     %s\n", card)
	}
	return text.String()
}
