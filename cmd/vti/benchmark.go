package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/spf13/cobra"

	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/english"
)

func (a *app) benchmarkCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "benchmark",
		Short:   "Repeat a published study, or measure times",
		Example: "  vti benchmark dag --out figure3\n  vti benchmark cardinality --out figure4\n  vti benchmark time --only hald,diabetes\n  vti benchmark hbm --seeds 5",
	}
	return group(cmd, a.benchmarkDagCommand(), a.benchmarkCardinalityCommand(), a.benchmarkTimeCommand(), a.benchmarkAmortizeCommand(), a.benchmarkHbmCommand())
}

// graphsBenchmark is what vti benchmark dag prints with --json.
type graphsBenchmark struct {
	Rows []dag.BenchmarkRow `json:"rows"`
}

func (a *app) benchmarkDagCommand() *cobra.Command {
	sizes := sizeList{16, 32, 64, 128, 256, 512, 1024}
	b := dag.Benchmark{DataSets: 10, Structures: []dag.Method{dag.Exact, dag.Made}, Simulation: dag.Simulation{Mechanism: dag.MLP}}
	var output outputFlags
	var shards shardFlags
	var dtype dtypes.DType
	cmd := &cobra.Command{
		Use:   "dag --out DIRECTORY",
		Short: "Repeat the paper's simulation study of graph discovery",
		Long: `Repeats figure 3 of Davies et al. (2025): 10 data sets of 10 nodes with network mechanisms, analysed
at 7 sizes with known noise and kind of mechanism and a uniform prior over graphs. The four scores
are computed as in the paper's code, also for greedy BIC and the empty graph. Two methods are
compared: sums over families, and one flow with a learned distribution over graphs (vti dag
--structure made), which takes two to three times as long; --structure selects one of them.

The directory gets a run for each data set, size and method, table.csv, figure.svg and figure.png.
Repeat the command to resume a study that was stopped. More --data-sets and other --sizes and
--structure extend the study. With --shard I/N, or in an array job --shards N, the runs are split
among N processes.`,
		Example: `  vti benchmark dag --out figure3
  vti benchmark dag --data-sets 3 --sizes 64,256,1024 --structure exact --out figure3-small`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// which a directory that was begun without --dtype does not name
			if dtype != dtypes.Float32 {
				b.DType = dtype
			}
			b.Sizes = sizes
			return a.benchmarkDag(cmd.Context(), b, shards, output)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Var(count{&b.DataSets, 1}, "data-sets", "data sets (seeds from --seed on)")
	flags.Var(parsed[sizeList]{&sizes, parseSizes("rows", 3)}, "sizes", "`rows` that are analysed of each data set, separated by commas")
	flags.Var(parsed[structureList]{(*structureList)(&b.Structures), parseStructures}, "structure", "`ways` that graphs are found, separated by commas: exact, node by node, and made")
	flags.Var(count{&b.Simulation.Nodes, 2}, "nodes", "nodes of the graphs (default 10)")
	flags.Var(parsed[dag.Mechanism]{&b.Simulation.Mechanism, dag.ParseMechanism}, "sem", "mechanisms: mlp or linear")
	flags.Var(count{&b.Steps, 1}, "steps", "training steps of a run (default that of vti dag)")
	registerFloatType(cmd, &dtype)
	shards.register(cmd)
	output.register(cmd, true)
	return cmd
}

// sizeList are numbers of rows, or of predictors.
type sizeList []int

func (s sizeList) String() string {
	var parts []string
	for _, rows := range s {
		parts = append(parts, strconv.Itoa(rows))
	}
	return strings.Join(parts, ",")
}

// parseSizes reads numbers of something.
func parseSizes(of string, least int) func(text string) (sizeList, error) {
	return func(text string) (list sizeList, err error) {
		for part := range strings.SplitSeq(text, ",") {
			size, err := strconv.Atoi(strings.TrimSpace(part))
			if err != nil || size < least {
				return nil, fmt.Errorf("expected numbers of %s, at least %d, separated by commas, found %q", of, least, part)
			}
			list = append(list, size)
		}
		return list, nil
	}
}

// structureList are ways that graphs are found.
type structureList []dag.Method

func (s structureList) String() string {
	var parts []string
	for _, m := range s {
		parts = append(parts, m.String())
	}
	return strings.Join(parts, ",")
}

// parseStructures reads ways that a benchmark can compare.
func parseStructures(text string) (list structureList, err error) {
	for part := range strings.SplitSeq(text, ",") {
		m, err := dag.ParseMethod(strings.TrimSpace(part))
		if err != nil || m != dag.Exact && m != dag.Made || slices.Contains(list, m) {
			return nil, fmt.Errorf("expected exact, made, or both separated by a comma, found %q", text)
		}
		list = append(list, m)
	}
	return list, nil
}

// benchmarkDag runs the study and prints its table.
func (a *app) benchmarkDag(ctx context.Context, b dag.Benchmark, shards shardFlags, output outputFlags) error {
	if output.out == "" {
		return errors.New("no directory was given: expected --out DIRECTORY")
	}
	b.Seed = output.seed
	own, err := shards.own()
	if err != nil {
		return err
	}
	own.Dir = filepath.Join(output.out, "pieces")
	if err := b.Check(output.out); err != nil {
		return err
	}
	device, err := gpu.OpenWith(gpu.Options{Kind: output.device, Plugin: output.plugin})
	if err != nil {
		return err
	}
	defer device.Close()
	shown := &progress{}
	if !output.quiet {
		shown = newProgress(a.stderr)
	}
	table, err := b.Run(ctx, device, output.out, own, func(text string) { shown.line(text, true) })
	shown.end()
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w\nto continue: give the same command again", err)
	}
	if err != nil {
		return failure{err}
	}
	if shards.given() {
		fmt.Fprintf(a.text, "shard %d of %d: %s made, %d of others found; the command without --shard makes the table\n", own.Index, own.Count, english.Count(own.Computed(), "run"), own.Read())
		return nil
	}
	if output.json {
		return a.describe("benchmark-graphs", graphsBenchmark{table})
	}
	rows := &grid{}
	rows.add("rows", "<method", "F1", "SHD", "Brier", "AUROC", "seconds", "trusted", "failed")
	for _, r := range table {
		seconds, trusted, failed := "", "", ""
		if finite(&r.Seconds) {
			seconds, trusted, failed = fmt.Sprintf("%.0f", float64(r.Seconds)), strconv.Itoa(r.Trusted), strconv.Itoa(r.Failed)
		}
		rows.add(strconv.Itoa(r.Rows), r.Method, plusMinus(&r.F1, &r.F1SE, 3), plusMinus(&r.SHD, &r.SHDSE, 1), plusMinus(&r.Brier, &r.BrierSE, 1),
			plusMinus(&r.AUROC, &r.AUROCSE, 3), seconds, trusted, failed)
	}
	rows.print(a.text)
	fmt.Fprintf(a.text, "\n%s holds table.csv, figure.svg, figure.png and the runs\n", output.out)
	return nil
}
