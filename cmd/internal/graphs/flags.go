package graphs

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/internal/apply"
)

// modelFlags holds the flags for the columns of the table, the mechanisms, the priors and the
// constraints.
type modelFlags struct {
	record           dag.Record // the settings that the flags ask for
	tiers, edgePrior string
	tier             []string
	na               string
	sigma            float64 // −1: unknown
	cli.Output
}

// register adds the flags to a command. If mechanisms are given, one of the flags chooses among
// them.
func (f *modelFlags) register(cmd *cobra.Command, mechanisms ...dag.Mechanism) {
	flags := cmd.Flags()
	flags.SortFlags = false
	columns, constraints, model := &f.record.Columns, &f.record.Constraints, &f.record.Model
	f.na = "refuse"
	cli.RegisterModels(cmd, &f.record.AllModels, "which graphs and equivalence classes results list: best, or all that were drawn")
	cli.Group(cmd, "Table", func() {
		flags.StringSliceVar(&columns.Exclude, "exclude", nil, "columns that are not used, separated by commas; every other column is a node")
		flags.StringVar(&columns.Intervened, "intervened", "", "`column` that names the node intervened on in each row (empty or NA: none); the mechanism of a node is fitted to the other rows, over which columns are centred for it")
		flags.StringVar(&columns.SoftIntervened, "soft-intervened", "", "`column` that names the node whose mechanism was changed in each row, with the same parents (empty or NA: none)")
		flags.StringSliceVar(&columns.Discrete, "discrete", nil, "numeric columns that are categories, separated by commas, or all; text columns are always categories")
		flags.StringSliceVar(&columns.Continuous, "continuous", nil, "columns of few distinct whole numbers that are measurements, not categories, separated by commas, or all")
		flags.StringArrayVar(&columns.Clamp, "clamp", nil, "`drug=PKA:low`: in rows where column drug is not zero, node PKA was set to its lowest level (or high, or a level by name; drug=PKA: to the measured value); may be repeated")
		flags.Var(cli.Name(&columns.Discretize), "discretize", "discretize numeric columns: terciles, quantiles:k, or hartemink:k")
		flags.BoolVar(&columns.Log, "log", false, "take logarithms of all columns first")
		cli.Named(cmd, &columns.Scaling, "scale",
			"standardize: centre and divide each column by its sd; global: centre, and one sd for all; center; or none", "standardize", "global", "center", "none")
		cli.OneWord(cmd, &f.na, "na", "rows with missing values: refuse; drop; or impute, by chains that draw missing cells together with graph and parameters (bge and categories), which assumes that cells are missing at random", "refuse", "drop", "impute")
	})
	cli.Group(cmd, "Constraints", func() {
		flags.StringArrayVar(&constraints.Forbid, "forbid", nil, "forbidden `edge` a->b, or several separated by commas; may be repeated")
		flags.StringArrayVar(&constraints.Require, "require", nil, "required `edge` a->b, or several separated by commas; may be repeated")
		flags.StringArrayVar(&f.tier, "tier", nil, "`nodes` of the next tier, separated by commas: no edge leads from a later tier to an earlier one (once for each tier, the first first)")
		flags.StringVar(&f.tiers, "tiers", "", "`file` with a line for each tier, in place of --tier")
		flags.StringSliceVar(&constraints.Exogenous, "exogenous", nil, "columns without parents, such as indicators of interventions with unknown targets, separated by commas")
		flags.Var(cli.Count(&constraints.MaxParents, 1), "max-parents", "largest number of parents of a node (default any)")
	})
	cli.Group(cmd, "Mechanisms and priors", func() {
		if len(mechanisms) > 0 {
			networks := slices.Contains(mechanisms, dag.MLP)
			usage := "mechanisms: bge, linear with the same evidence for all graphs of an equivalence class; linear, with independent normal weights"
			if slices.Contains(mechanisms, dag.Spline) {
				usage += "; spline, sums of smooth functions of single parents and, up to 20 columns, of two"
			}
			if networks {
				usage += "; mlp, networks with one hidden layer of ReLU units"
			}
			if slices.Contains(mechanisms, dag.Mixed) {
				usage += "; mixed, for numbers and categories in one table: linear with intercepts by level, and logistic"
			}
			cli.Named(cmd, &model.Mechanism, "sem",
				usage+"; auto: bge, or linear with --sigma or --prior-sd; mixed where there are both kinds of columns. Categories alone have tables of probabilities", apply.To(append([]dag.Mechanism{dag.AnyMechanism}, mechanisms...), dag.Mechanism.String)...)
			if networks {
				flags.Var(cli.Count(&model.Hidden, 1), "hidden", "mlp: hidden units of a node (default 10)")
				flags.BoolVar(&model.NoBias, "no-bias", false, "mlp: no bias in hidden and output units")
			}
		}
		flags.Var(cli.PositiveOr("unknown", &f.sigma), "sigma", "noise `scale` of all nodes, on the scaled columns, or unknown: one for each node. Equal noise is a strong assumption, which can identify directions (default unknown)")
		flags.Var(cli.Positive(&model.PriorSD), "prior-sd", "prior sd of a weight, on the scaled columns (default 1)")
		flags.Var(cli.Positive(&model.ImaginarySampleSize), "imaginary-sample-size", "categories: weight of the prior in rows, spread evenly over all combinations of values (default 1)")
		cli.Named(cmd, &model.Graphs, "graph-prior", "prior over graphs: sparse, uniform over the number of parents of a node and then over sets of that size; or uniform", "sparse\tfew edges are more probable than many", "uniform\tall graphs are equally probable")
		flags.Float64Var(&model.EdgePenalty, "edge-penalty", 0, "λ of the prior exp(−λ edges), instead of --graph-prior")
		flags.Var(cli.Positive(&model.ExpectedDegree), "expected-degree", "set λ by the mean `number` of parents of a node, ignoring acyclicity")
		flags.StringVar(&f.edgePrior, "edge-prior", "", "prior probability of each edge, ignoring acyclicity: `file` with a row for each cause and a column for each effect")
		flags.BoolVar(&model.Orders, "prior-orders", false, "prior over orders of the columns with edges along them, as in Davies et al. (2025), instead of a prior over graphs: a graph counts once for each of its topological orders")
		flags.StringVar(&f.record.Truth, "truth", "", "adjacency matrix to compare with: `file` with a row for each cause and a column for each effect")
	})
	cli.Group(cmd, "Answer", func() {
		flags.StringArrayVar(&f.record.Effects, "effect", nil, "print the total causal effect of the `pair` a->b, or of several separated by commas; may be repeated (default the most probable)")
	})
	cli.CompleteColumns(cmd, "exclude", "intervened", "exogenous")
}

// Describe returns the record of a new run with the settings of the flags.
func (f *modelFlags) Describe(*pflag.FlagSet) (*dag.Record, error) {
	record := f.record
	record.Seed, record.Model.Sigma = f.Seed, max(f.sigma, 0)
	record.Columns.DropMissing, record.Columns.ImputeMissing = f.na == "drop", f.na == "impute"
	if record.Model.Mechanism != dag.MLP && (record.Model.Hidden != 0 || record.Model.NoBias) {
		return nil, fmt.Errorf("--hidden and --no-bias are for --sem mlp")
	}
	var err error
	record.Constraints.Tiers = tables.ParseTiers(f.tier)
	if f.tiers != "" {
		if len(f.tier) > 0 {
			return nil, fmt.Errorf("--tier and --tiers both name tiers: give one of them")
		}
		if record.Constraints.Tiers, err = tables.ReadTiers(f.tiers); err != nil {
			return nil, fmt.Errorf("--tiers: %w", err)
		}
	}
	if f.edgePrior != "" {
		if record.Model.EdgePrior, err = score.ReadEdgePrior(f.edgePrior); err != nil {
			return nil, fmt.Errorf("--edge-prior: %w", err)
		}
	}
	return &record, record.Model.Validate()
}

// registerMethods adds the flags that choose the method, and the flags for chains over graphs.
func (f *modelFlags) registerMethods(cmd *cobra.Command) {
	flags, record := cmd.Flags(), &f.record
	cli.Group(cmd, "Methods", func() {
		cli.Named(cmd, &record.Structure, "structure",
			"method: exact, sums over all graphs; chains, Markov chains over graphs; flow, one flow for the parameters of mechanisms with a learned q(m) over graphs; auto: exact where possible, for networks up to 11 columns, else chains", "auto", "exact", "chains", "flow")
		flags.BoolVar(&record.Undivided, "undivided", false, "structure flow: as published, one flow for the parameters of all columns together and q(m) a masked network over the digits of the order and the bits of edges")
		flags.BoolVar(&record.Cold, "cold", false, "structure flow: q(m) starts uniform, and not at graphs of short chains with linear mechanisms")
		flags.Var(cli.Count(&record.Chains, 2), "chains", "chains: number of chains, from random starts (default 6)")
		flags.Var(cli.Count(&record.Rounds, 1), "rounds", "chains: largest number of rounds, each twice as long as the last, until the chains agree (default 6)")
		flags.Var(cli.Count(&record.Candidates, 1), "candidates", "chains: number of likely parents of a node whose sets are summed over; affects speed, not the answer (default 12)")
		flags.Var(cli.Count(&record.Islands, 1), "islands", "particles: largest number of islands of 64 particles for important families (default by the number of rows)")
	})
}

// checkMethod returns an error if a flag was given that belongs to another method than the one in
// the record.
func checkMethod(flags *pflag.FlagSet, record *dag.Record) error {
	walks := []string{"chains", "rounds", "candidates"}
	training := []string{"flow", "flow-layers", "flow-blocks", "flow-hidden", "flow-bins", "steps", "batch", "dtype", "certify-draws", "device", "pjrt-plugin"}
	used, networks := "--structure "+record.Structure.String(), record.Model.Mechanism == dag.MLP
	if networks {
		used += " --sem mlp"
	}
	why := " does not go with " + used + ", which this run has"
	switch {
	case record.Structure == dag.Chains && !networks:
		return cli.Refuse(flags, why, append(training, "islands")...)
	case record.Structure == dag.GraphFlow:
		walks = append(walks, "max-time")
		if !record.Undivided { // evidences are then closed forms, or computed by particles
			walks = append(walks, "certify-draws")
		}
		if !networks || record.Undivided {
			walks = append(walks, "islands")
		}
		return cli.Refuse(flags, why, walks...)
	}
	if err := cli.Refuse(flags, why, append(training, "undivided", "cold")...); err != nil {
		return fmt.Errorf("%w; --structure flow trains a flow", err)
	}
	if networks {
		return cli.Refuse(flags, why, walks...)
	}
	return cli.Refuse(flags, why, append(walks, "islands")...)
}

func (f *dagFlags) registerTraining(cmd *cobra.Command) {
	flags, record := cmd.Flags(), &f.record
	f.flow.Flow = "affine"
	cli.Group(cmd, "Training of a flow (--structure flow)", func() {
		f.flow.Register(cmd, "affine, spline or diag; or affine-paper, spline-paper or diag-paper, in the sizes of Davies et al. (2025)", "default 5; diag 2; mlp node by node 3", "default 2", "default 32")
		flags.Var(cli.Count(&record.Steps, 1), "steps", "training steps (default 1000; mlp 600)")
		flags.Var(cli.Count(&record.Batch, 2), "batch", "graphs that are drawn per training step (default 64; mlp 32; undivided 256)")
		cli.RegisterFloatType(cmd, &record.DType)
		cli.RegisterLaunch(cmd, &f.launch)
	})
	cli.RegisterCertifyDraws(cmd, &record.Draws, "of an undivided flow (default 131072; mlp 16384)")
}
