package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/lab/devices"
)

// benchmarkLine holds the speed of a device: its limits, and the speed of training for each size.
type benchmarkLine struct {
	Device         string           `json:"device"`
	Description    string           `json:"description"`
	DType          string           `json:"dtype"`
	StepsPerLaunch int              `json:"steps_per_launch"`
	Limits         devices.Limits   `json:"limits"`
	Timings        []devices.Timing `json:"timings"`
	Stopped        string           `json:"stopped,omitempty"` // the reason if the benchmark left out sizes
}

// mostBenchmarkNodes is the largest number of nodes of a graph for which the scores of all parent
// sets fit in a table.
const mostBenchmarkNodes = 12

// benchmarkFlags holds the flags with the sizes to time.
type benchmarkFlags struct {
	flows                      []string
	predictors, nodes, batches []int
	launch                     int
	dtype                      dtypes.DType
}

func (f *benchmarkFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.flows, "flows", []string{"diagonal", "affine", "spline"}, "with --benchmark: flows, in the sizes of Davies et al. (2025)")
	flags.IntSliceVar(&f.predictors, "predictors", []int{7, 100}, "with --benchmark: numbers of predictors")
	flags.IntSliceVar(&f.nodes, "nodes", []int{10}, "with --benchmark: numbers of nodes, of graphs with network mechanisms; 0 for none")
	flags.IntSliceVar(&f.batches, "batches", []int{1024, 8192, 65536}, "with --benchmark: draws per training step")
	cli.RegisterLaunch(cmd, &f.launch)
	cli.RegisterFloatType(cmd, &f.dtype)
}

// sizes returns the sizes that the flags ask for, or an error if they are invalid.
func (f *benchmarkFlags) sizes() (devices.Sizes, error) {
	sizes := devices.Sizes{Flows: f.flows, Batches: f.batches, DType: f.dtype, StepsPerLaunch: f.launch}
	for _, flow := range f.flows {
		if _, ok := devices.Flows[flow]; !ok {
			return sizes, fmt.Errorf("--flows: expected diagonal, affine or spline, found %q", flow)
		}
	}
	if least := slices.Min(append(slices.Clone(f.predictors), 1)); least < 1 {
		return sizes, fmt.Errorf("--predictors: expected whole numbers from 1, found %d", least)
	}
	for _, predictors := range f.predictors {
		sizes.Problems = append(sizes.Problems, devices.Problem{Predictors: predictors})
	}
	for _, nodes := range f.nodes {
		switch {
		case nodes == 0: // the benchmark has no graphs
		case nodes < 2 || nodes > mostBenchmarkNodes:
			return sizes, fmt.Errorf("--nodes: expected whole numbers from 2 to %d, or 0, found %d", mostBenchmarkNodes, nodes)
		default:
			sizes.Problems = append(sizes.Problems, devices.Problem{Nodes: nodes})
		}
	}
	if least := slices.Min(append(slices.Clone(f.batches), 2)); least < 2 {
		return sizes, fmt.Errorf("--batches: expected whole numbers from 2, found %d", least)
	}
	slices.Sort(sizes.Batches) // in this order, since the time at one batch size sets the number of steps for the next size
	return sizes, nil
}

// benchmark times the selected devices. The benchmark of a device ends early if the device runs out
// of memory.
func (d *deviceTest) benchmark(ctx context.Context, a *shell.App, f *benchmarkFlags) ([]benchmarkLine, error) {
	sizes, err := f.sizes()
	if err != nil {
		return nil, err
	}
	shown := progress(a, d.quiet)
	defer shown.End()
	var lines []benchmarkLine
	for _, kind := range d.kinds() {
		device, err := gpu.OpenWith(gpu.Options{Kind: kind, Plugin: d.plugin})
		if err != nil {
			return nil, err
		}
		line := benchmarkLine{Device: kind.String(), Description: device.Backend().DeviceDescription(0), DType: strings.ToLower(f.dtype.String()), StepsPerLaunch: f.launch}
		shown.Line(line.Device+": measuring what it does at best", false)
		line.Limits, err = devices.Measure(device, f.dtype)
		if err == nil {
			shown.Line(line.Device+": training steps", false)
			err = devices.Benchmark(ctx, device, sizes, func(t devices.Timing) {
				shown.Line(fmt.Sprintf("%s: %s, %s, batch %d: %.3g ms", line.Device, t.Flow, t.Problem, t.Batch, 1e3*t.Step), true)
				line.Timings = append(line.Timings, t)
			})
		}
		device.Close()
		var full *gpu.Failure
		switch {
		case errors.As(err, &full) && full.OutOfMemory:
			line.Stopped = err.Error()
		case errors.Is(err, context.Canceled):
			return nil, err
		case err != nil:
			return nil, shell.Failed(err)
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// printBenchmark prints a table for each device.
func printBenchmark(w io.Writer, lines []benchmarkLine) {
	if len(lines) == 0 {
		return
	}
	for _, line := range lines {
		fmt.Fprintf(w, "\n%s (%s), %s: at best %.3g Gflop/s in a product of matrices, %.3g GB/s through memory\n\n",
			line.Device, line.Description, line.DType, line.Limits.FlopsPerSecond/1e9, line.Limits.BytesPerSecond/1e9)
		rows := &document.Grid{}
		rows.Add("flow", "problem", "batch", "ms/step", "samples/s", "Gflop", "MB", "of arithmetic", "of memory", "start s")
		for _, t := range line.Timings {
			arithmetic, memory := t.Shares(line.Limits)
			rows.Add(t.Flow, t.Problem.String(), strconv.Itoa(t.Batch), fmt.Sprintf("%.4g", 1e3*t.Step), fmt.Sprintf("%.3g", t.Samples()),
				fmt.Sprintf("%.3g", t.Work.Flops/1e9), fmt.Sprintf("%.3g", t.Work.Bytes/1e6), fmt.Sprintf("%.0f%%", 100*arithmetic), fmt.Sprintf("%.0f%%", 100*memory), fmt.Sprintf("%.1f", t.Start))
		}
		rows.Print(w)
		if line.Stopped != "" {
			fmt.Fprintf(w, "stopped: %s\n", line.Stopped)
		}
	}
	fmt.Fprint(w, `
Gflop are the products of matrices in a step, masked weights included; MB their factors and results, and the variables, read
and written once. The shares are the time that these would take at best, of the time they did take; parts of both overlap,
and caches may hold what counts as memory.
`)
}
