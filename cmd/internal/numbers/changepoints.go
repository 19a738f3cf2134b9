package numbers

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/changepoint"
	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	runs "github.com/transdim/vti/run"
)

type changepointFlags struct{ asking[changepoint.Record] }

// Register adds the flags to the command.
func (f *changepointFlags) Register(cmd *cobra.Command) {
	flags, options := cmd.Flags(), &f.record.Options
	cli.Group(cmd, "Data", func() {
		flags.StringVar(&options.Time, "time", "", "`column` of times (a series without it is in the order of the rows; events need it)")
		flags.StringVar(&options.Value, "value", "", "`column` of values; without it every row is an event")
		flags.Var(cli.Optional(&options.From), "from", "events: start of the observation window")
		flags.Var(cli.Optional(&options.To), "to", "events: end of the observation window")
		flags.BoolVar(&options.Uneven, "uneven", false, "accept a series whose times are not evenly spaced")
	})
	cli.Group(cmd, "Model", func() {
		cli.Named(cmd, &options.Kind, "model", "what changes: mean, variance, both, slope, rate of counts, or events; auto is mean, and events without --value", changepoint.KindNames()...)
		flags.Var(cli.Count(&options.MaxChanges, 1), "max-changes", "largest number of changes (default 30)")
		flags.Var(cli.Positive(&options.MeanChanges), "mean-changes", "prior mean of the number of changes, which is Poisson (default 3)")
		cli.Named(cmd, &options.Places, "places", "prior of positions: uniform, or spaced, which avoids short segments; auto is uniform, but spaced for events", "uniform\tchanges can be anywhere", "spaced\tchanges are seldom close together")
		flags.Var(cli.Count(&options.Shortest, 1), "shortest", "smallest number of rows in a segment (default 1; variance and both 2)")
		flags.Var(cli.Positive(&options.LevelSD), "level-sd", "mean, slope: prior sd of a level, in units of the sd of the column (default 1)")
		flags.Var(cli.Positive(&options.RateShape), "rate-shape", "rate, events: shape of the Gamma prior of rates (default 1)")
		flags.Var(cli.Positive(&options.RateExposure), "rate-exposure", "rate, events: rate of that prior, in rows or units of time (default: its mean is the overall rate)")
	})
	f.RegisterSampler(cmd, &f.record.Seed, "of draws; probabilities of changes are sums and do not depend on it")
	cli.CompleteColumns(cmd, "time", "value")
}

func changepointsCommand(a *shell.App) *cobra.Command {
	return application.Answering(a, &cobra.Command{
		Use:   "changepoints TABLE --time COLUMN",
		Short: "Find how many change points a series or a rate of events has, and where",
		Long: `Finds where a series changes (in its mean, its variance, both, its slope, or the rate of counts),
or where the rate of events changes whose times are given. The answer is the posterior of the
number and positions of changes, and of the levels between them.

Probabilities are exact sums over all numbers and positions of changes, by forward and backward
recursions (Fearnhead 2006); only the posterior draws are sampled. 5,000 rows take minutes. The
prior of events is the prior of Green (1995).`,
		Example: `  vti changepoints coal.csv --time date --from 1851 --to 1963
  vti changepoints nile.csv --time year --value flow
  vti changepoints counts.csv --time week --value cases --model rate`,
	}, func() application.Question[*changepoint.Record] { return &changepointFlags{} })
}

// Begin reads the table of a search for changes, checks the input, and returns the task.
func (f *changepointFlags) Begin(_ context.Context, run *application.Asked[*changepoint.Record]) (t shell.Task, err error) {
	problem, err := runs.Read(run.Record, changepoint.NewProblem)
	if err != nil {
		return t, err
	}
	run.Record.Options = problem.Options // store the defaults, which another version may change
	return shell.Task{
		Name: "changepoints", Files: changepoint.Files(), Intro: func() {
			run.Introduce(changesTitle(problem), problem.Notes, problem.Priors())
		},
		Compute: func(ctx context.Context, session *shell.Session) (shell.Judged, error) {
			return changepoint.Run(ctx, problem, changepoint.RunConfig{Seed: run.Record.Seed, Dir: session.Dir, Status: session.Status})
		},
	}, nil
}

func changesTitle(p *changepoint.Problem) string {
	o := p.Options
	title := fmt.Sprintf("events, by %s", o.Time)
	if o.Kind != changepoint.Events {
		title = fmt.Sprintf("rows of %s", o.Value)
		if o.Time != "" {
			title += ", by " + o.Time
		}
	}
	return fmt.Sprintf("%s: %d %s; model %s", p.Path, p.Rows(), title, o.Kind)
}
