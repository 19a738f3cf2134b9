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

// Question is the question in the flags of a command that makes runs with records of type R.
type Question[R cli.Record] interface {
	cli.Flags[R]
	// Begin reads the table, checks everything about a run and describes it. Nothing is written
	// yet: its errors are of the input.
	Begin(ctx context.Context, run *Asked[R]) (shell.Task, error)
}

// Asked is a run that is about to begin, or to go on.
type Asked[R cli.Record] struct {
	*shell.App
	*shell.Job
	Record R
	Flags  *pflag.FlagSet // of the command line
}

// Resumed reports whether the run goes on.
func (r *Asked[R]) Resumed() bool { return r.Job.Resume != "" }

// Shown is the run of a record in a directory, which is only shown.
func Shown[R cli.Record](a *shell.App, dir string, record R) *Asked[R] {
	return &Asked[R]{App: a, Job: &shell.Job{Stored: record, Resume: dir}, Record: record}
}

// Answering makes cmd a command that answers a question about a table. fresh returns its flags,
// none of which is set.
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

// recordOf is the record of a new run, or the record of the run to resume.
func recordOf[R interface {
	*T
	cli.Record
}, T any](cmd *cobra.Command, args []string, fresh func() Question[R], question Question[R]) (R, error) {
	output := question.Common()
	if output.Resume == "" {
		record, err := question.Describe(cmd.Flags())
		if err == nil {
			*record.Head() = NewHeader(cmd, args[0])
		}
		return record, err
	}
	record, err := runs.ReadRecord[T](output.Resume)
	if err != nil {
		return nil, err
	}
	return record, cli.CheckResume(cmd, args, R(record), output, func() cli.Flags[R] { return fresh() })
}

// NewHeader is the header of the record of a new run of a command on a table.
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
