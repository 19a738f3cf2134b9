package graphs

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/internal/rundir"
)

type dagFlags struct {
	modelFlags
	flow   cli.Flow
	launch int
	time   cli.TimeLimit
}

// Register adds the flags to the command.
func (f *dagFlags) Register(cmd *cobra.Command) {
	f.registerModel(cmd)
	f.time.Register(cmd, "a sum, the first round of chains, and pilot runs; the answer then depends on the speed of the machine (default none)")
	f.Output.Register(cmd, true)
	f.RegisterResume(cmd)
}

func (f *dagFlags) registerModel(cmd *cobra.Command) {
	f.register(cmd, dag.BGe, dag.Linear, dag.Spline, dag.MLP, dag.Mixed)
	f.registerMethods(cmd)
	f.registerTraining(cmd)
}

// Describe returns the record of a new run with the settings and methods that the flags ask for.
func (f *dagFlags) Describe(flags *pflag.FlagSet) (*dag.Record, error) {
	record, err := f.modelFlags.Describe(flags)
	if err != nil {
		return nil, err
	}
	if record.Model.Mechanism == dag.AnyMechanism && record.Structure == dag.GraphFlow {
		// A given prior of the weights makes mechanisms of numeric nodes linear, the only mechanism
		// with a closed form on which flows can train.
		record.Model.PriorSD = cmp.Or(record.Model.PriorSD, 1)
	}
	if record.Flow, err = f.flow.Config(flags); err != nil {
		return nil, err
	}
	record.Limit, err = f.time.Limit()
	return record, err
}

func dagCommand(a *shell.App) *cobra.Command {
	return application.Answering(a, &cobra.Command{
		Use:   "dag TABLE",
		Short: "Discover graphs: which columns of a table depend on which",
		Long: `Computes the posterior over directed acyclic graphs whose nodes are the columns of a table (CSV or
Parquet, with a header row). An edge a->b makes column a a parent of column b. Given its parents, a
column is a linear function of them, a smooth function (--sem spline) or a small network (--sem
mlp), plus noise. Columns of text are categories, and tables may have both kinds (--sem mixed).

For up to 13 columns (14 with --max-parents or constraints), vti computes the log evidence of every
column given every set of parents. Sums over all graphs then give the probability of every edge and
graph. A run computes these sums a few times; each takes about 20 seconds of one core for 13
columns, and a minute for 14. With lines and splines the evidences are closed forms and the answer
is exact. With networks they come from sequential Monte Carlo.

Larger graphs, of up to 4096 columns, are sampled by Markov chains (--structure chains), which run
until they agree. With more than 128 columns the answer lists only pairs of columns that an edge
joins with a probability of at least 0.01, and total effects of pairs that a path joins with a
probability of at least one half. With networks, from 12 columns on, the chains use a list of sets
of parents, to which sets are added where they are probable.

--structure flow is the method of Davies et al. (2025). It trains one flow for the parameters of
mechanisms together with a distribution q(m) over orders of the columns and the edges along them. It
is for linear mechanisms and networks, and for any number of columns. The flow works column by
column, or with --undivided on all columns together, as published.

The answer comes with a verdict:

  trusted    the probabilities hold to within their standard errors
  doubtful   they may hold, but the computation does not show it
  failed     do not use them (exit status 3)

If the data cannot determine the direction of an edge, the answer gives the probabilities of both
directions, and of the equivalence class: the set of graphs that the data cannot tell apart. If only
the variances of the noise show a direction, it depends on the scale of the columns, which --scale
sets.

Everything is kept in a run directory: the settings (run.json), the answer (result.json, CSV
tables), the graph (graph.dot, .graphml, .dagitty, .bnlearn, .bif), a page with pictures
(report.html, figures), and the state from which --resume continues a run that was stopped or
killed: of training (posterior.vti), or the finished rounds of chains and runs of particles
(pieces). Exact sums keep no state; repeat the command.`,
		Example: `  vti dag data.csv
  vti dag sachs.csv --log --scale global --sem mlp --truth adjacency.csv    # takes minutes
  vti dag data.csv --forbid "income->age" --require "dose->response" --max-parents 3
  vti dag --resume runs/dag-20260131-120000
  vti dag query runs/dag-20260131-120000 "P(sick | do(region=1))"`,
	}, func() application.Question[*dag.Record] { return &dagFlags{} })
}

// Begin checks the input of a search for graphs, and returns its task.
func (f *dagFlags) Begin(ctx context.Context, run *application.Asked[*dag.Record]) (t shell.Task, err error) {
	record := run.Record
	if run.Resumed() && !record.Resumable() {
		return t, fmt.Errorf("%s is a run by sums over graphs, which cannot be resumed: give its command again, with another --out", run.Resume)
	}
	run.Renew(&record.Draws, f.record.Draws, &record.Limit, &f.time)
	d, err := newDiscovery(ctx, run)
	if err != nil {
		return t, err
	}
	if !run.Resumed() {
		if err := d.resolve(); err != nil {
			return t, err
		}
	}
	return d.search(f.launch)
}

// resolve chooses the methods that flags left open. It returns an error for flags of other methods.
func (d *discovery) resolve() (err error) {
	record := d.Record
	if record.Structure, err = d.problem.Resolve(record.Structure); err != nil {
		return err
	}
	if record.Structure == dag.GraphFlow {
		if err := d.problem.CheckGraphFlow(record.Undivided); err != nil {
			return err
		}
	}
	return checkMethod(d.Flags, record)
}

// search returns the task that searches for graphs by the methods of the record.
func (d *discovery) search(stepsPerLaunch int) (shell.Task, error) {
	switch record := d.Record; {
	case record.Particles():
		return d.particles(), nil
	case record.Structure == dag.Chains:
		return d.walk()
	case record.Structure == dag.Exact:
		return d.sum("dag"), nil
	}
	d.Record.Flow = d.Record.Flow.WithDefaults() // store the defaults, which another version may change
	return d.training(stepsPerLaunch)
}

func (d *discovery) training(stepsPerLaunch int) (shell.Task, error) {
	config := d.Record.FitConfig(d.problem)
	if err := config.Validate(); err != nil {
		return shell.Task{}, err
	}
	return shell.Task{
		Name: "dag", Files: dag.Files(), Computes: true, Resumable: true, Intro: d.PrintProblem,
		Check: func(_ context.Context, session *shell.Session) error {
			check := config
			check.Checkpoint = filepath.Join(session.Dir, rundir.PosteriorFile)
			return d.Record.CheckCheckpoint(session.Device, d.problem, check)
		},
		Compute: func(ctx context.Context, session *shell.Session) (shell.Judged, error) {
			return dag.RunGraphFlow(ctx, session.Device, d.problem, dag.RunConfig{
				Fit: session.Training(config, stepsPerLaunch, false), Draws: d.Record.Draws, Islands: d.Record.Islands,
				Undivided: d.Record.Undivided, Cold: d.Record.Cold,
				Truth: d.truth, Dir: session.Dir, Status: session.Said,
			})
		},
	}, nil
}

// walk returns the task that runs chains over graphs.
func (d *discovery) walk() (shell.Task, error) {
	config := dag.ChainConfig{Chains: d.Record.Chains, Rounds: d.Record.Rounds, Candidates: d.Record.Candidates, Seed: d.Record.Seed, MaxTime: d.Record.MaxTime()}
	if err := config.Validate(); err != nil {
		return shell.Task{}, err
	}
	t := d.task("dag", func(ctx context.Context, session *shell.Session) (*dag.Result, error) {
		config.Shard = session.Shard
		if session.Again { // all processes that share a certificate must have the same settings
			config.MaxTime = 0
		}
		return dag.RunGraphChains(ctx, d.problem, dag.GraphChainsConfig{Chains: config, Truth: d.truth, Dir: session.Dir, Resume: session.Resume && !session.Again, Status: session.Status})
	})
	t.Resumable = d.Record.Resumable()
	return t, nil
}

func (d *discovery) particles() shell.Task {
	t := d.task("dag", func(ctx context.Context, session *shell.Session) (*dag.Result, error) {
		return dag.RunParticles(ctx, d.problem, dag.ParticlesConfig{
			Chains: d.Record.Structure == dag.Chains, Islands: d.Record.Islands, Seed: d.Record.Seed, Truth: d.truth, Dir: session.Dir, Status: session.Status, Shard: session.Shard,
			MaxTime: d.Record.MaxTime(), Resume: session.Resume && !session.Again,
		})
	})
	t.Resumable = true
	return t
}

// sum returns the task that sums closed-form scores over all graphs.
func (d *discovery) sum(name string) shell.Task {
	return d.task(name, func(ctx context.Context, session *shell.Session) (*dag.Result, error) {
		return dag.RunExact(ctx, d.problem, dag.ExactConfig{
			Command: d.Record.Command, Seed: d.Record.Seed, Truth: d.truth, Dir: session.Dir, Status: session.Status,
			Progress: session.Counting("family"),
		})
	})
}

// task returns the task of a computation that neither needs a device nor can be resumed.
func (d *discovery) task(name string, compute func(ctx context.Context, session *shell.Session) (*dag.Result, error)) shell.Task {
	return shell.Task{Name: name, Files: dag.Files(), Intro: d.PrintProblem, Compute: func(ctx context.Context, session *shell.Session) (shell.Judged, error) {
		return compute(ctx, session)
	}}
}
