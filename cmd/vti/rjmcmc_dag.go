package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/rjmcmc"
	runs "github.com/transdim/vti/run"
)

// rjmcmcDagFlags are all flags of vti rjmcmc dag.
type rjmcmcDagFlags struct {
	model  dagModelFlags
	chains chainFlags
	output cli.Output
	resume string
}

func (f *rjmcmcDagFlags) Register(cmd *cobra.Command) {
	f.model.register(cmd)
	f.chains.register(cmd)
	f.output.Register(cmd, true)
	cli.RegisterResume(cmd, &f.resume)
}

// Describe turns the command line into the record of a new run.
func (f *rjmcmcDagFlags) Describe(_ *pflag.FlagSet, path string) (any, error) {
	record := &dag.Record{
		Header: runs.Header{Command: "rjmcmc dag", Version: vti.Version, Data: path}, Seed: f.output.Seed,
		Chains: f.chains.chains, Iterations: f.chains.iterations, BurnIn: f.chains.burnIn, Thin: f.chains.thin, Temperatures: f.chains.temperatures,
	}
	f.model.model.Mechanism = dag.Linear
	return record, f.model.fill(record)
}

func rjmcmcDagCommand(a *shell.App) *cobra.Command {
	f := &rjmcmcDagFlags{}
	cmd := &cobra.Command{
		Use:   "dag TABLE",
		Short: "Discover graphs by reversible-jump MCMC, with linear mechanisms",
		Long: `Samples the posterior of vti dag --sem linear by reversible-jump MCMC: chains that change the order of the
nodes and the edges along it and move the parameters of all mechanisms. They use nothing of the structure
that vti dag rests on, which makes them a check of it, for up to about 6 nodes; R-hat and the effective
sample size show whether they have mixed.`,
		Example:           "  vti rjmcmc dag data.csv --iterations 5000",
		Args:              cli.TableArgument,
		ValidArgsFunction: cli.CompleteTable,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return rjmcmcDag(a, cmd, args, f) }
	f.Register(cmd)
	return cmd
}

// rjmcmcDag runs or resumes chains over graphs and parameters.
func rjmcmcDag(a *shell.App, cmd *cobra.Command, args []string, f *rjmcmcDagFlags) error {
	d, err := beginSampledDiscovery(a, cmd, args, f)
	if err != nil {
		return err
	}
	if err := d.problem.CheckReversibleJump(); err != nil {
		return err
	}
	r := d.record
	config := chainConfig(r.Chains, r.Iterations, r.BurnIn, r.Thin, r.Temperatures, r.Seed)
	if err := config.Validate(); err != nil {
		return err
	}
	return a.Execute(cmd.Context(), &d.Job, d.sampling(config))
}

// beginSampledDiscovery checks everything about a new run, or about one to resume.
func beginSampledDiscovery(a *shell.App, cmd *cobra.Command, args []string, f *rjmcmcDagFlags) (*discovery, error) {
	if f.resume == "" {
		record, err := f.Describe(cmd.Flags(), args[0])
		if err != nil {
			return nil, err
		}
		return newDiscovery(a, record.(*dag.Record), cmd.Flags(), f.output)
	}
	record, err := dag.ReadRecord(f.resume)
	if err != nil {
		return nil, err
	}
	if err := cli.CheckResume(cmd, args, f.resume, record, &record.Header, f.output, func() cli.Flags { return &rjmcmcDagFlags{} }); err != nil {
		return nil, err
	}
	d, err := discoveryOf(a, record, f.output)
	if err == nil {
		d.Resume = f.resume
	}
	return d, err
}

// sampling is the task of a discovery by reversible jumps.
func (d *discovery) sampling(config rjmcmc.Config) shell.Task {
	t := d.task("rjmcmc-dag", func(ctx context.Context, at *shell.Session) (*dag.Result, error) {
		config.Resume = at.Resume
		config.Progress = chainProgress(at.Shown, d.problem.LogJacobian())
		return dag.RunReversibleJump(ctx, at.Device, d.problem, config, d.truth, at.Dir)
	})
	t.Computes, t.Resumable = true, true
	return t
}
