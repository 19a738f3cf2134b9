package application

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	runs "github.com/transdim/vti/run"
)

// Question is implemented by the flags of a command that makes runs whose records have type R.
type Question[R cli.Record] interface {
	cli.Flags[R]
	// Begin reads the table, checks the whole input of a run, and returns its task. It writes no
	// files; its errors are errors of the input.
	Begin(ctx context.Context, run *Asked[R]) (shell.Task, error)
}

// Asked is a run that is about to begin or to be resumed.
type Asked[R cli.Record] struct {
	*shell.App
	*shell.Job
	Record R
	Flags  *pflag.FlagSet // the flags of the command line
}

// Resumed reports whether the run is resumed.
func (r *Asked[R]) Resumed() bool { return r.Job.Resume != "" }

// Renew stores in the record of a resumed run the number of draws of its certificate and the limit
// of time, if flags give them. They do not change the training.
func (r *Asked[R]) Renew(draws *int, given int, limit *runs.Limit, time *cli.TimeLimit) {
	if r.Resumed() && r.Flags.Changed("certify-draws") {
		*draws = given
	}
	if r.Resumed() {
		time.Renew(r.Flags, limit)
	}
}

// Shown returns a run with the given record and directory, to be shown and not to be computed.
func Shown[R cli.Record](a *shell.App, dir string, record R) *Asked[R] {
	return &Asked[R]{App: a, Job: &shell.Job{Stored: record, Resume: dir}, Record: record}
}

// Answering makes cmd a command that answers a question about a table. The function fresh returns
// the flags of the command at their defaults.
func Answering[R interface {
	*T
	cli.Record
}, T any](a *shell.App, cmd *cobra.Command, fresh func() Question[R]) *cobra.Command {
	question := fresh()
	cmd.Args, cmd.ValidArgsFunction, cmd.Flags().SortFlags = cli.TableArgument, cli.CompleteTable, false
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		record, err := recordOf(cmd, args, fresh, question)
		if err != nil {
			return err
		}
		output := question.Common()
		run := &Asked[R]{a, &shell.Job{Output: *output, Stored: record, Resume: output.Resume}, record, cmd.Flags()}
		task, err := question.Begin(cmd.Context(), run)
		if err != nil {
			return err
		}
		return a.Execute(cmd.Context(), run.Job, task)
	}
	question.Register(cmd)
	return cmd
}

// recordOf returns the record of a new run, or the stored record of the run to resume.
func recordOf[R interface {
	*T
	cli.Record
}, T any](cmd *cobra.Command, args []string, fresh func() Question[R], question Question[R]) (R, error) {
	output := question.Common()
	if output.Resume == "" {
		record, err := question.Describe(cmd.Flags())
		if err == nil {
			region := record.Head().Region // a region is the only setting in a header
			*record.Head() = NewHeader(cmd, args[0])
			record.Head().Region = region
		}
		return record, err
	}
	record, err := runs.ReadRecord[T](output.Resume)
	if err != nil {
		return nil, err
	}
	return record, cli.CheckResume(cmd, args, R(record), output, func() cli.Flags[R] { return fresh() })
}

// NewHeader returns the header of the record for a new run of a command, on the table at path.
func NewHeader(cmd *cobra.Command, path string) runs.Header {
	return runs.Header{Command: cli.CommandName(cmd), Version: vti.Version, Data: path, Flags: cli.GivenFlags(cmd.Flags())}
}

// Introduce prints a title and the lines below it, unless the answer is JSON.
func (r *Asked[R]) Introduce(title string, lines ...[]string) {
	if r.Output.Json {
		return
	}
	fmt.Fprintln(r.Text, title)
	for _, line := range slices.Concat(lines...) {
		fmt.Fprintln(r.Text, "  "+line)
	}
	fmt.Fprintln(r.Text)
}
