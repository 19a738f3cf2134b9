package graphs

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/rundir"
)

// Simulated is the object that vti simulate dag prints as JSON.
type Simulated struct {
	Data  string `json:"data"`
	Truth string `json:"truth"`
	Rows  int    `json:"rows"`
	Nodes int    `json:"nodes"`
	Edges int    `json:"edges"`
}

func simulateDagCommand(a *shell.App) *cobra.Command {
	var s sem.Simulation
	var out, truth, known string
	var asJSON bool
	s.Mechanism = dag.MLP
	cmd := &cobra.Command{
		Use:   "dag --out FILE --truth FILE",
		Short: "Simulate a table for graph discovery",
		Long: `Writes a table (CSV) and the adjacency matrix of the graph behind it, as vti dag --truth reads it.
The same flags give the same files, and fewer rows are the first ones of more.

The design is that of Davies et al. (2025), appendix F.1: a uniformly random order of the nodes,
each edge along it with a given probability, mechanisms whose weights are uniform on ±[0.3, 0.7],
and normal noise.`,
		Example: `  vti simulate dag --seed 1 --out sim.csv --truth sim-truth.csv
  vti dag sim.csv --truth sim-truth.csv --sem mlp --no-bias --scale none --sigma 1
  vti simulate dag --graph child.bif --sem linear --out child.csv --truth child-truth.csv
  vti simulate dag --graph child.bif --sem categorical --out codes.csv --truth truth.csv`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			var err error
			switch {
			case s.Mechanism == dag.Categorical && known == "":
				return fmt.Errorf("--sem categorical needs the tables of a network: give --graph FILE.bif")
			case s.Mechanism == dag.Categorical:
				s.Network, err = graph.ReadBIF(known)
			case known != "":
				s.Names, s.Graph, err = graph.ReadGraph(known)
			}
			if err != nil {
				return fmt.Errorf("--graph: %w", err)
			}
			return simulateDag(a, s, out, truth, asJSON)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Var(cli.Count(&s.Nodes, 2), "nodes", "nodes of the graph (default 10)")
	flags.Var(cli.Count(&s.Rows, 1), "rows", "rows of the table (default 1024)")
	flags.Var(cli.Positive(&s.EdgeProbability), "edge-probability", "probability of each edge along the order (default 0.5)")
	flags.Var(cli.Positive(&s.ExpectedDegree), "expected-degree", "mean `number` of parents of a node, instead of --edge-probability")
	flags.StringVar(&known, "graph", "", "`file` of the graph to simulate from, instead of a random one: an adjacency matrix, or a network in BIF (*.bif), of which the arcs are used, and with --sem categorical the tables")
	cli.Named(cmd, &s.Mechanism, "sem", "mechanisms: mlp with one hidden layer of ReLU units, linear, categorical, the tables of --graph FILE.bif, or mixed, where every second node is a category", "linear", "mlp", "categorical", "mixed")
	flags.Var(cli.Count(&s.Hidden, 1), "hidden", "mlp: hidden units of a node (default 10)")
	flags.BoolVar(&s.Bias, "bias", false, "mlp: biases in hidden and output units")
	flags.Var(cli.Positive(&s.Noise), "noise", "standard deviation of the noise (default 1)")
	flags.Uint64Var(&s.Seed, "seed", 0, "random seed")
	flags.StringVarP(&out, "out", "o", "", "`file` for the table (required)")
	flags.StringVar(&truth, "truth", "", "`file` for the adjacency matrix (required)")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func sameFile(a, b string) bool {
	first, err := filepath.Abs(a)
	if err != nil {
		return a == b
	}
	second, err := filepath.Abs(b)
	return err == nil && first == second
}

// simulateDag writes the file of the table and the file of the true graph.
func simulateDag(a *shell.App, s sem.Simulation, out, truth string, asJSON bool) error {
	switch {
	case out == "" || truth == "":
		return errors.New("expected --out FILE for the table and --truth FILE for the adjacency matrix")
	case sameFile(out, truth):
		return fmt.Errorf("--out and --truth are both %s: expected two files", out)
	case s.Mechanism != dag.MLP && (s.Hidden != 0 || s.Bias):
		return errors.New("--hidden and --bias are for --sem mlp")
	}
	for _, path := range []string{out, truth} {
		if rundir.Exists(path) {
			return fmt.Errorf("%s exists already", path)
		}
	}
	data, err := sem.Simulate(s)
	if err != nil {
		return err
	}
	// Both files are created before either gets its name, so that both or neither are written.
	matrix, err := atomicfile.Create(truth)
	if err != nil {
		return shell.Failed(err)
	}
	defer matrix.Abort()
	if err := data.WriteTruth(matrix); err != nil {
		return shell.Failed(fmt.Errorf("writing %s: %w", truth, err))
	}
	if err := atomicfile.Write(out, data.WriteCSV); err != nil {
		return shell.Failed(err)
	}
	if err := matrix.Commit(); err != nil {
		return shell.Failed(err)
	}
	summary := Simulated{out, truth, len(data.Values), len(data.Names), data.Truth.Edges()}
	return a.Answer(asJSON, shell.Described{Schema: "simulate-graphs", Object: summary}, func() {
		fmt.Fprintf(a.Text, "%s: %s of %s; %s: %s\n", summary.Data, english.Count(summary.Rows, "row"), english.Count(summary.Nodes, "node"), summary.Truth, english.Count(summary.Edges, "edge"))
	})
}
