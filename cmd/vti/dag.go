package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/console"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/internal/rundir"
	runs "github.com/transdim/vti/run"
)

// dagFlags are all flags of vti dag.
type dagFlags struct {
	model  dagModelFlags
	walks  dagWalkFlags
	fit    dagFitFlags
	output cli.Output
	resume string
}

func (f *dagFlags) Register(cmd *cobra.Command) {
	f.model.register(cmd, dag.BGe, dag.Linear, dag.MLP, dag.Mixed)
	f.walks.register(cmd)
	f.fit.register(cmd)
	f.output.Register(cmd, true)
	cli.RegisterResume(cmd, &f.resume)
	cli.Renamed(cmd, map[string]string{"draws": "certify-draws"})
}

// Describe turns the command line into the record of a new run, whose methods are those asked for.
func (f *dagFlags) Describe(flags *pflag.FlagSet, path string) (any, error) {
	record := &dag.Record{Header: runs.Header{Command: "dag", Version: vti.Version, Data: path}, Seed: f.output.Seed}
	if err := f.model.fill(record); err != nil {
		return nil, err
	}
	if err := f.fit.fill(flags, record); err != nil {
		return nil, err
	}
	f.walks.fill(record)
	if record.Model.Mechanism == dag.AnyMechanism && (record.Structure == dag.Made || record.Evidence == dag.Flow) {
		record.Model.Mechanism = dag.Linear // flows know no other closed form
	}
	return record, nil
}

func dagCommand(a *shell.App) *cobra.Command {
	f := &dagFlags{}
	cmd := &cobra.Command{
		Use:   "dag TABLE",
		Short: "Discover graphs: which columns of a table depend on which",
		Long: `Computes the posterior over directed acyclic graphs whose nodes are the columns of a table (CSV or
Parquet, with a header row): given its parents, a column is a linear function or a small network of
them plus noise; columns of text are categories, and tables may have both kinds (--sem mixed).

Up to 13 columns (at most 14 with --max-parents or constraints), the log evidence of every column
given every set of parents is computed, and sums over all graphs give the probability of every edge
and graph. A run computes these sums a few times; each takes about 20 seconds of one core for 13
columns, and a minute for 14. With linear mechanisms the evidences are closed forms and the answer
is exact; with networks they come from sequential Monte Carlo. Larger graphs, up to 128 columns with
linear mechanisms, are sampled by Markov chains (--structure chains), which run until they agree.
Two methods serve for comparison: --evidence flow obtains evidences from importance weights of one
flow for the parameters of all families, and --structure made, the method of the paper, trains one
flow over the parameters of all columns together with a distribution over orders and the edges along
them. The answer comes with a verdict:

  trusted    the probabilities hold to within their standard errors
  doubtful   they may hold, but the computation does not show it
  failed     do not use them (exit status 3)

If the data cannot determine the direction of an edge, the answer gives the probabilities of both
directions and of the equivalence class. Directions that only noise variances identify depend on the
scale of the columns, which --scale sets.

Everything is kept in a run directory: the settings (run.json), the answer (result.json, CSV
tables), the graph (graph.dot, .graphml, .dagitty, .bnlearn, .bif), a page with pictures
(report.html, figures), and the state from which --resume continues a run that was stopped or
killed: of training (posterior.vti), or of chains at the start of a round (chains.vti). Exact sums
keep no state; repeat the command.`,
		Example: `  vti dag data.csv
  vti dag sachs.csv --log --scale global --sem mlp --truth adjacency.csv    # takes minutes
  vti dag data.csv --forbid "income->age" --require "dose->response" --max-parents 3
  vti dag --resume runs/dag-20260131-120000
  vti dag query runs/dag-20260131-120000 "P(sick | do(region=1))"`,
		Args:              cli.TableArgument,
		ValidArgsFunction: cli.CompleteTable,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runDag(a, cmd, args, f)
		},
	}
	f.Register(cmd)
	cmd.AddCommand(dagQueryCommand(a))
	return cmd
}

// runDag runs or resumes a discovery.
func runDag(a *shell.App, cmd *cobra.Command, args []string, f *dagFlags) error {
	if f.resume != "" {
		return resumeDag(a, cmd, args, f)
	}
	described, err := f.Describe(cmd.Flags(), args[0])
	if err != nil {
		return err
	}
	record := described.(*dag.Record)
	d, err := newDiscovery(a, record, cmd.Flags(), f.output)
	if err != nil {
		return err
	}
	if record.Structure, err = d.problem.Resolve(record.Structure); err != nil {
		return err
	}
	if record.Structure == dag.Exact {
		if record.Evidence, err = d.problem.ResolveEvidence(record.Evidence); err != nil {
			return err
		}
	}
	if err := f.checkMethod(cmd.Flags(), record); err != nil {
		return err
	}
	var t shell.Task
	switch {
	case record.Structure == dag.Chains:
		t, err = d.walk()
	case record.Structure == dag.Exact && record.Evidence == dag.Particles:
		t = d.particles()
	case record.Structure == dag.Exact && record.Evidence == dag.ClosedForm:
		t = d.sum("dag")
	default:
		record.Flow = record.Flow.WithDefaults() // what they are may change
		t, err = d.training(f.fit.fit.launch)
	}
	if err != nil {
		return err
	}
	return a.Execute(cmd.Context(), &d.Job, t)
}

// resumeDag continues with a discovery that trains or has chains.
func resumeDag(a *shell.App, cmd *cobra.Command, args []string, f *dagFlags) error {
	record, err := dag.ReadRecord(f.resume)
	if err != nil {
		return err
	}
	if err := cli.CheckResume(cmd, args, f.resume, record, &record.Header, f.output, func() cli.Flags { return &dagFlags{} }); err != nil {
		return err
	}
	if !record.Resumable() {
		return fmt.Errorf("%s is a run by sums over graphs, which cannot be resumed: give its command again, with another --out", f.resume)
	}
	if cmd.Flags().Changed("certify-draws") { // no part of training
		record.Draws = f.fit.draws
	}
	d, err := discoveryOf(a, record, f.output)
	if err != nil {
		return err
	}
	d.Resume = f.resume
	var t shell.Task
	if record.Structure == dag.Chains {
		t, err = d.walk()
	} else {
		t, err = d.training(f.fit.fit.launch)
	}
	if err != nil {
		return err
	}
	return a.Execute(cmd.Context(), &d.Job, t)
}

// training is the task of a discovery that trains a flow.
func (d *discovery) training(stepsPerLaunch int) (shell.Task, error) {
	config := d.record.FitConfig(d.problem)
	if err := config.Validate(); err != nil {
		return shell.Task{}, err
	}
	return shell.Task{
		Name: "dag", Files: dag.Files(), Computes: true, Resumable: true, Intro: d.printProblem,
		Check: func(_ context.Context, at *shell.Session) error {
			check := config
			check.Checkpoint = filepath.Join(at.Dir, rundir.PosteriorFile)
			return dag.CheckCheckpoint(at.Device, d.problem, d.record.Structure, check)
		},
		Compute: func(ctx context.Context, at *shell.Session) (*shell.Conclusion, error) {
			config.Resume, config.StepsPerLaunch, config.LogEvery = at.Resume, stepsPerLaunch, console.ReportEvery(config.Steps)
			config.Progress = func(info vti.Info) {
				at.Shown.Line(console.TrainingLine(info, false), info.Step == info.Steps)
			}
			compute := dag.RunFlow
			if d.record.Structure == dag.Made {
				compute = dag.RunMade
			}
			result, err := compute(ctx, at.Device, d.problem, dag.RunConfig{
				Fit: config, Draws: d.record.Draws, Anneal: d.record.Anneal, Islands: d.record.Islands, Truth: d.truth, Dir: at.Dir,
				Status: func(text string) { at.Shown.Line(text, true) },
			})
			if err != nil {
				return nil, err
			}
			return d.conclude(result), nil
		},
	}, nil
}

// walk is the task of a discovery by chains over graphs.
func (d *discovery) walk() (shell.Task, error) {
	config := dag.ChainConfig{Chains: d.record.Chains, Rounds: d.record.Rounds, Candidates: d.record.Candidates, Seed: d.record.Seed}
	if err := config.Validate(); err != nil {
		return shell.Task{}, err
	}
	t := d.task("dag", func(ctx context.Context, at *shell.Session) (*dag.Result, error) {
		config.Resume, config.Shard = at.Resume && !at.Again, at.Shard
		return dag.RunGraphChains(ctx, d.problem, dag.GraphChainsConfig{Chains: config, Truth: d.truth, Dir: at.Dir, Status: at.Status})
	})
	t.Resumable = d.record.Resumable()
	return t, nil
}

// particles is the task of a discovery whose evidences come from particles.
func (d *discovery) particles() shell.Task {
	return d.task("dag", func(ctx context.Context, at *shell.Session) (*dag.Result, error) {
		return dag.RunParticles(ctx, d.problem, dag.ParticlesConfig{
			Islands: d.record.Islands, Seed: d.record.Seed, Truth: d.truth, Dir: at.Dir, Status: at.Status, Shard: at.Shard,
		})
	})
}

// sum is the task of a discovery that sums closed forms over all graphs.
func (d *discovery) sum(name string) shell.Task {
	return d.task(name, func(ctx context.Context, at *shell.Session) (*dag.Result, error) {
		pace := console.NewPace()
		return dag.RunExact(ctx, d.problem, dag.ExactConfig{
			Command: d.record.Command, Seed: d.record.Seed, Truth: d.truth, Dir: at.Dir, Status: at.Status,
			Progress: func(done, total int) {
				at.Shown.Line(fmt.Sprintf("family %d/%d  %s", done, total, pace.Text(done, total)), done == total)
			},
		})
	})
}

// task is that of a discovery that neither needs a device nor can be resumed.
func (d *discovery) task(name string, compute func(ctx context.Context, at *shell.Session) (*dag.Result, error)) shell.Task {
	return shell.Task{Name: name, Files: dag.Files(), Intro: d.printProblem, Compute: func(ctx context.Context, at *shell.Session) (*shell.Conclusion, error) {
		result, err := compute(ctx, at)
		if err != nil {
			return nil, err
		}
		return d.conclude(result), nil
	}}
}
