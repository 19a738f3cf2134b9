package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/transdim/vti"
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/internal/rundir"
)

// dagFlags are all flags of vti dag.
type dagFlags struct {
	model  dagModelFlags
	walks  dagWalkFlags
	fit    dagFitFlags
	output outputFlags
	resume string
}

func (a *app) dagCommand() *cobra.Command {
	f := &dagFlags{}
	cmd := &cobra.Command{
		Use:   "dag TABLE",
		Short: "Discover graphs: which columns of a table depend on which",
		Long: `Computes the posterior over directed acyclic graphs whose nodes are the columns of a table (CSV or
Parquet, with a header row): given its parents, a column is a linear function or a small network of
them plus noise.

Up to 13 columns (more with --max-parents or constraints, and at most 14) every column gets a log
evidence with every set of parents, and sums over all graphs give the probability of every edge and
graph. They are made a few times in a run: for 13 columns each takes about 20 seconds of one core, for 14 a
minute. With linear mechanisms these evidences are closed forms, and the answer is exact; with networks
they come from particles that are tempered from the prior to the posterior. To compare, --evidence flow
trains one flow for the parameters of all families, whose importance weights give the evidences. Larger
graphs, up to 128 columns with linear mechanisms, are found by Markov
chains over graphs (--structure chains), which run until they agree. To compare, --structure made does as
the paper does: one flow over the parameters of all columns and a network that draws an order and the
edges along it, weighed together. The answer comes with a verdict:

  trusted    the probabilities hold to within their standard errors
  doubtful   they may hold, but weights, particles or chains do not prove it
  failed     do not use them (exit status 3)

Often the data cannot tell the direction of an edge: then the answer gives both directions, and what
is known of the equivalence class. Directions that only noise variances tell depend on the scale of
the columns, which --scale chooses.

Everything is kept in a run directory: the settings (run.json), the answer (result.json, CSV tables),
the graph (graph.dot, graph.svg, graph.png), and of a run that trains a flow the state of training
(posterior.vti), from which it goes on with --resume when it was stopped or killed. Runs by chains or
particles train nothing: give their command again.`,
		Example: `  vti dag data.csv
  vti dag sachs.csv --log --scale global --sem mlp --truth adjacency.csv    # networks: minutes, not seconds
  vti dag data.csv --forbid "income->age" --require "dose->response" --max-parents 3
  vti dag --resume runs/dag-20260131-120000`,
		Args:              tableArgument,
		ValidArgsFunction: completeTable,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.dag(cmd, args, f)
		},
	}
	f.model.register(cmd, true)
	f.walks.register(cmd)
	f.fit.register(cmd)
	f.output.register(cmd, true)
	cmd.Flags().StringVar(&f.resume, "resume", "", "continue the run in `directory`; needs no TABLE and no other flag")
	return cmd
}

// dag runs or resumes a discovery.
func (a *app) dag(cmd *cobra.Command, args []string, f *dagFlags) error {
	if f.resume != "" {
		j, err := a.resumedDiscovery(cmd, args, f)
		if err != nil {
			return err
		}
		defer j.device.Close()
		return j.train(cmd.Context(), true, f.fit.fit.launch)
	}
	record := &dag.Record{Header: rundir.Header{Command: "dag", Version: vti.Version, Data: args[0]}, Seed: f.output.seed}
	if err := f.model.fill(record); err != nil {
		return err
	}
	if err := f.fit.fill(cmd.Flags(), record); err != nil {
		return err
	}
	f.walks.fill(record)
	j, err := a.newDagJob(record, f.output)
	if err != nil {
		return err
	}
	if record.Structure, err = j.problem.Resolve(f.walks.method); err != nil {
		return err
	}
	if record.Structure == dag.Exact {
		if record.Evidence, err = j.problem.ResolveEvidence(f.walks.evidence); err != nil {
			return err
		}
	}
	if err := f.checkMethod(cmd.Flags(), record); err != nil {
		return err
	}
	switch {
	case record.Structure == dag.Chains:
		return j.walk(cmd.Context())
	case record.Evidence == dag.Particles:
		return j.particles(cmd.Context())
	case record.Evidence == dag.ClosedForm:
		return j.sum(cmd.Context())
	}
	record.Flow = record.Flow.WithDefaults() // what they are may change
	if err := record.FitConfig(j.problem).Validate(); err != nil {
		return err
	}
	if err := j.open(f.output.device); err != nil {
		return err
	}
	defer j.device.Close()
	if err := j.start("dag"); err != nil {
		return err
	}
	return j.train(cmd.Context(), false, f.fit.fit.launch)
}

// train runs the discovery and prints the answer.
func (j *dagJob) train(ctx context.Context, resume bool, stepsPerLaunch int) error {
	j.printProblem()
	shown := j.progress()
	config := j.record.FitConfig(j.problem)
	config.Resume, config.StepsPerLaunch = resume, stepsPerLaunch
	config.LogEvery = reportEvery(config.Steps)
	config.Progress = func(info vti.Info) {
		shown.line(trainingLine(info, false), info.Step == info.Steps)
	}
	run := dag.Run
	if j.record.Structure == dag.Made {
		run = dag.RunMade
	}
	result, err := run(ctx, j.device, j.problem, dag.RunConfig{
		Fit: config, Draws: j.record.Draws, Anneal: j.record.Anneal, Truth: j.truth, Dir: j.dir,
		Status: func(text string) { shown.line(text, true) },
	})
	shown.end()
	if err != nil {
		return j.stopped(err, true)
	}
	return j.finish(result)
}

// walk runs chains over graphs and prints the answer.
func (j *dagJob) walk(ctx context.Context) error {
	config := dag.ChainConfig{Chains: j.record.Chains, Rounds: j.record.Rounds, Candidates: j.record.Candidates, Seed: j.record.Seed}
	if err := config.Validate(); err != nil {
		return err
	}
	if err := j.start("dag"); err != nil {
		return err
	}
	j.printProblem()
	shown := j.progress()
	result, err := dag.RunGraphChains(ctx, j.problem, dag.GraphChainsConfig{
		Chains: config, Truth: j.truth, Dir: j.dir, Status: func(text string) { shown.line(text, false) },
	})
	shown.end()
	if err != nil {
		return j.stopped(err, false)
	}
	return j.finish(result)
}

// particles estimates evidences by particles and prints the answer.
func (j *dagJob) particles(ctx context.Context) error {
	if err := j.start("dag"); err != nil {
		return err
	}
	j.printProblem()
	shown := j.progress()
	result, err := dag.RunParticles(ctx, j.problem, dag.ParticlesConfig{
		Islands: j.record.Islands, Seed: j.record.Seed, Truth: j.truth, Dir: j.dir, Status: func(text string) { shown.line(text, false) },
	})
	shown.end()
	if err != nil {
		return j.stopped(err, false)
	}
	return j.finish(result)
}

// sum sums closed forms over all graphs and prints the answer.
func (j *dagJob) sum(ctx context.Context) error {
	if err := j.start(strings.ReplaceAll(j.record.Command, " ", "-")); err != nil {
		return err
	}
	j.printProblem()
	shown, pace := j.progress(), newPace()
	result, err := dag.RunExact(ctx, j.problem, dag.ExactConfig{
		Command: j.record.Command, Seed: j.record.Seed, Truth: j.truth, Dir: j.dir,
		Progress: func(done, total int) {
			shown.line(fmt.Sprintf("family %d/%d  %s", done, total, pace.text(done, total)), done == total)
		},
		Status: func(text string) { shown.line(text, false) },
	})
	shown.end()
	if err != nil {
		return j.stopped(err, false)
	}
	return j.finish(result)
}

// exactDagCommand is vti exact dag.
func (a *app) exactDagCommand() *cobra.Command {
	var model dagModelFlags
	var output outputFlags
	cmd := &cobra.Command{
		Use:   "dag TABLE",
		Short: "Discover graphs exactly, with linear mechanisms",
		Long: `Computes the same answer as vti dag --sem linear, with the same priors, from scores in closed form; an
unknown noise scale is integrated numerically. The sums over graphs are exact, for up to 14 columns (20 with
--prior-orders): 13 columns take about 20 seconds of one core, 14 a minute, and fewer much less.`,
		Example: `  vti exact dag data.csv
  vti exact dag data.csv --sigma 1 --scale center --json`,
		Args:              tableArgument,
		ValidArgsFunction: completeTable,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		record := &dag.Record{Header: rundir.Header{Command: "exact dag", Version: vti.Version, Data: args[0]}, Seed: output.seed}
		if err := model.fill(record); err != nil {
			return err
		}
		j, err := a.newDagJob(record, output)
		if err != nil {
			return err
		}
		if err := j.problem.CheckExact(); err != nil {
			return err
		}
		return j.sum(cmd.Context())
	}
	model.register(cmd, false)
	output.register(cmd, false)
	cmd.Flags().Uint64Var(&output.seed, "seed", 0, "root of all randomness: of the graphs drawn, and of the draws of parameters")
	return cmd
}
