package studies

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/console"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/study"
)

// studyRunFlags holds the flags that select the tasks to run and the way they are run.
type studyRunFlags struct {
	jobs   int
	index  int
	shards cli.Shards
	failed bool
	quiet  bool
}

func studyRunCommand(a *shell.App, read planFunc) *cobra.Command {
	var f studyRunFlags
	cmd := &cobra.Command{
		Use:   "run PLAN",
		Short: "Run the tasks of a study that are not done",
		Long: `Runs tasks in parallel, each as a process of its own. A task that crashes is restarted up to twice
with other random seeds; a task that was killed is restarted up to twice with the same seed. A task
that fails is reported and recorded as failed, and is run again only with --failed.

In an array job SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX is the index of the task or, with
--shards N, of the shard.`,
		Example: `  vti study run eqtl.toml --jobs 4
  vti study run eqtl.toml --index 17
  vti study run eqtl.toml --shard 0/40`,
		Args: planArgument,
		RunE: read.run(func(cmd *cobra.Command, plan *study.Plan) error {
			selection, err := f.selection(cmd, plan)
			if err != nil {
				return err
			}
			return runStudy(a, cmd.Context(), plan, selection, f)
		}),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Var(cli.Count(&f.jobs, 1), "jobs", "number of parallel processes (default the number of cores, or fewer if memory requires it by the pilot tasks)")
	flags.IntVar(&f.index, "index", 0, "run only one task, from 0")
	f.shards.Register(cmd)
	flags.Lookup("shard").Usage = "run every N-th task starting at task I, as `I/N`"
	flags.BoolVar(&f.failed, "failed", false, "run failed tasks again")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress on standard error")
	cmd.MarkFlagsMutuallyExclusive("index", "shard", "shards")
	return cmd
}

// selection returns the tasks that the flags select, or that the scheduler of a cluster assigns to
// this process.
func (f *studyRunFlags) selection(cmd *cobra.Command, plan *study.Plan) (study.Selection, error) {
	if f.shards.Given() {
		part, err := f.shards.Own()
		if err != nil {
			return study.Selection{}, err
		}
		return study.Shard(part.Index, part.Count), nil
	}
	index, from := f.index, "--index"
	if !cmd.Flags().Changed("index") {
		var found bool
		var err error
		if index, from, found, err = study.FromScheduler(); err != nil || !found {
			return study.Selection{}, err
		}
	}
	s, err := study.One(index, plan.Tasks())
	if err != nil {
		return s, fmt.Errorf("%s: %w", from, err)
	}
	return s, nil
}

func runStudy(a *shell.App, ctx context.Context, plan *study.Plan, selection study.Selection, f studyRunFlags) error {
	start, err := launcher(a)
	if err != nil {
		return err
	}
	shown := console.NewProgress(a.Stderr, f.quiet)
	pace := console.NewPace()
	ended := 0
	end, err := plan.Run(ctx, study.RunConfig{Launcher: start, Selection: selection, Jobs: f.jobs, Again: f.failed, Report: func(p study.Progress) {
		ended++
		if p.Error != "" {
			shown.End()
			fmt.Fprintf(a.Stderr, "vti: task %d (%s): %s\n", p.Task.Index, p.Task.Name, strings.TrimSpace(p.Error))
		}
		over := p.Done + p.Failed
		shown.Line(fmt.Sprintf("%d/%s  %d failed  %s", over, english.Count(p.Total, "task"), p.Failed, pace.Text(ended, ended+p.Total-over)), over == p.Total)
	}})
	shown.End()
	fmt.Fprintf(a.Text, "%s: %d done, %d failed, %d missing; %d had ended before\n", english.Count(end.Total, "task"), end.Done, end.Failed, end.Total-end.Done-end.Failed, end.Found)
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%w\nto continue: give the same command again", err)
	case err != nil:
		return shell.Failed(err)
	case end.Failed > 0:
		return shell.Failed(fmt.Errorf("%s failed: vti study status %s says why, and vti study run with --failed tries them again", english.Count(end.Failed, "task"), rundir.Quoted(plan.Path())))
	}
	return nil
}
