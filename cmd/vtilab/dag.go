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

	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/lab/graphs"
)

func dagCommand(a *shell.App) *cobra.Command {
	sizes := sizeList{16, 32, 64, 128, 256, 512, 1024}
	b := graphs.Study{DataSets: 10, Structures: []dag.Method{dag.Exact, dag.GraphFlow}, Simulation: sem.Simulation{Mechanism: dag.MLP}}
	var output cli.Output
	var shards cli.Shards
	var dtype dtypes.DType
	cmd := &cobra.Command{
		Use:   "dag --out DIRECTORY",
		Short: "Repeat the simulation study of graph discovery of Davies et al. (2025)",
		Long: `Repeats figure 3 of Davies et al. (2025): 10 data sets of 10 nodes with network mechanisms, each
analysed at 7 numbers of rows. The analysis knows the noise and the kind of mechanism, and its
prior over graphs is uniform. The study compares two methods: sums over graphs by the evidence of
each node given each set of parents, and one flow with a learned distribution over graphs (vti dag
--structure flow). --structure selects one of them. Four scores are computed as in the code of that
paper, also for greedy BIC and the empty graph.

The directory gets a run for each data set, number of rows and method, and the files table.csv,
figure.svg and figure.png. Repeat the command to resume a study that was stopped. Give it with more
--data-sets, other --sizes or another --structure to extend the study. With --shard I/N, or in an
array job --shards N, the runs are split among N processes.`,
		Example: `  vtilab dag --out figure3
  vtilab dag --data-sets 3 --sizes 64,256,1024 --structure exact --out figure3-small`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// The settings of the study leave out the default type, so that directories of earlier
			// versions can be continued.
			if dtype != dtypes.Float32 {
				b.DType = dtype
			}
			b.Sizes = sizes
			return runGraphs(a, cmd.Context(), b, shards, output)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Var(cli.Count(&b.DataSets, 1), "data-sets", "data sets (seeds from --seed on)")
	flags.Var(parsed[sizeList]{Value: &sizes, Parse: parseSizes("rows", 3)}, "sizes", "`rows` that are analysed of each data set, separated by commas")
	flags.Var(parsed[structureList]{Value: (*structureList)(&b.Structures), Parse: parseStructures}, "structure", "`ways` that graphs are found, separated by commas: exact, by evidences of families, and flow")
	flags.Var(cli.Count(&b.Simulation.Nodes, 2), "nodes", "nodes of the graphs (default 10)")
	flags.Var(cli.Name(&b.Simulation.Mechanism), "sem", "mechanisms: mlp or linear")
	flags.Var(cli.Count(&b.Steps, 1), "steps", "training steps of a run (default that of vti dag)")
	cli.RegisterFloatType(cmd, &dtype)
	shards.Register(cmd)
	output.Register(cmd, true)
	return cmd
}

// sizeList is a flag that takes numbers of rows, or of predictors.
type sizeList []int

func (s sizeList) String() string {
	var parts []string
	for _, rows := range s {
		parts = append(parts, strconv.Itoa(rows))
	}
	return strings.Join(parts, ",")
}

// parseSizes returns a function that parses a list of sizes. unit is the name of a size in errors,
// and least is the smallest size allowed.
func parseSizes(unit string, least int) func(text string) (sizeList, error) {
	return func(text string) (list sizeList, err error) {
		for part := range strings.SplitSeq(text, ",") {
			size, err := strconv.Atoi(strings.TrimSpace(part))
			if err != nil || size < least {
				return nil, fmt.Errorf("expected numbers of %s, at least %d, separated by commas, found %q", unit, least, part)
			}
			list = append(list, size)
		}
		return list, nil
	}
}

// structureList is a flag that takes methods of search for graphs.
type structureList []dag.Method

func (s structureList) String() string {
	var parts []string
	for _, m := range s {
		parts = append(parts, m.String())
	}
	return strings.Join(parts, ",")
}

// parseStructures parses a list of methods that a benchmark can compare.
func parseStructures(text string) (list structureList, err error) {
	for part := range strings.SplitSeq(text, ",") {
		var m dag.Method
		if err := m.UnmarshalText([]byte(strings.TrimSpace(part))); err != nil || m != dag.Exact && m != dag.GraphFlow || slices.Contains(list, m) {
			return nil, fmt.Errorf("expected exact, flow, or both separated by a comma, found %q", text)
		}
		list = append(list, m)
	}
	return list, nil
}

// runGraphs runs the study and prints its table.
func runGraphs(a *shell.App, ctx context.Context, b graphs.Study, shards cli.Shards, output cli.Output) error {
	if output.Out == "" {
		return errors.New("no directory was given: expected --out DIRECTORY")
	}
	b.Seed = output.Seed
	part, err := shards.Own()
	if err != nil {
		return err
	}
	part.Dir = filepath.Join(output.Out, "pieces")
	if err := b.Check(output.Out); err != nil {
		return err
	}
	device, err := gpu.OpenWith(gpu.Options{Kind: output.Device, Plugin: output.Plugin})
	if err != nil {
		return err
	}
	defer device.Close()
	shown := progress(a, output.Quiet)
	table, err := b.Run(ctx, device, output.Out, part, func(text string) { shown.Line(text, true) })
	shown.End()
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w\nto continue: give the same command again", err)
	}
	if err != nil {
		return shell.Failed(err)
	}
	if shards.Given() {
		fmt.Fprintf(a.Text, "shard %d of %d: %s made, %d of others found; the command without --shard makes the table\n", part.Index, part.Count, english.Count(part.Computed(), "run"), part.Read())
		return nil
	}
	if output.Json {
		return a.PrintJSON(map[string]any{"rows": table})
	}
	rows := &document.Grid{}
	rows.Add("rows", "<method", "F1", "SHD", "Brier", "AUROC", "seconds", "trusted", "failed")
	for _, r := range table {
		seconds, trusted, failed := "", "", ""
		if document.Finite(&r.Seconds) {
			seconds, trusted, failed = fmt.Sprintf("%.0f", float64(r.Seconds)), strconv.Itoa(r.Trusted), strconv.Itoa(r.Failed)
		}
		rows.Add(strconv.Itoa(r.Rows), r.Method, document.PlusMinus(&r.F1, &r.F1SE, 3), document.PlusMinus(&r.SHD, &r.SHDSE, 1), document.PlusMinus(&r.Brier, &r.BrierSE, 1),
			document.PlusMinus(&r.AUROC, &r.AUROCSE, 3), seconds, trusted, failed)
	}
	rows.Print(a.Text)
	fmt.Fprintf(a.Text, "\n%s holds table.csv, figure.svg, figure.png and the runs\n", output.Out)
	return nil
}
