package application

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/report"
	runs "github.com/transdim/vti/run"
)

// Application describes a kind of question that vti answers, such as the selection of variables,
// with the commands that answer it.
type Application struct {
	// About is the subject of the application's runs in messages, such as "graphs".
	About string
	// Commands lists all commands of the application.
	Commands []Command
	// Open opens a finished run of one of the application's commands.
	Open func(a *shell.App, dir string) (*Run, error)
	// Page makes the pages of the application's runs, and opens runs that predict a response.
	Page report.Page
	// Formats are the formats, in addition to ArviZ's, in which Export writes a finished run. The
	// argument least of Export is the smallest probability that is written.
	Formats []string
	Export  func(dir, format string, least float64) (text string, err error)
	// Compare compares two finished runs. It is nil if runs of the application cannot be compared.
	Compare func(ctx context.Context, dirA, dirB string) (*Comparison, error)
}

// Command is a command of an application.
type Command struct {
	// Name is the name of the command with the names of its parents, such as "exact dag". The
	// records of its runs contain it.
	Name string
	New  func(a *shell.App) *cobra.Command
	// Asks is the question of the command in words, for its form in the browser. First holds the
	// flags at the beginning of the form, perhaps with values; other flags are folded, by their
	// groups. If both are empty the form shows the short description of the command, and begins
	// with the flags of the first group.
	Asks  string
	First []string
	// Studied reports whether vti study can run the command on many tables.
	Studied bool
	// Again returns the job and the task that certify a run of the command again. It is nil if runs
	// cannot be certified again.
	Again func(ctx context.Context, r *Recertification) (*shell.Job, shell.Task, error)
	// Unrepeatable is the reason why runs of the command cannot be repeated on a part of their
	// table; "" if they can.
	Unrepeatable string
}

// Run is a finished run that has been opened.
type Run struct {
	Result shell.Judged
	// Asked reads the problem of the run again, so that its summary can be printed. Asked is nil if
	// this needs other data than the run directory has.
	Asked func(ctx context.Context) (interface{ PrintProblem() }, error)
}

// Comparison is the result of comparing two runs.
type Comparison struct {
	// Result is the object that --json prints.
	Result interface{ Write(dir string) error }
	*report.Compared
}

// Comparing returns a function that opens two runs by calling open, and calls compare with them.
// The function tell returns the comparison for a reader.
func Comparing[R any, C interface{ Write(dir string) error }](open func(dir string) (R, error), compare func(ctx context.Context, a, b R) (C, error), tell func(a R, c C) *report.Compared,
) func(ctx context.Context, dirA, dirB string) (*Comparison, error) {
	return func(ctx context.Context, dirA, dirB string) (*Comparison, error) {
		a, err := open(dirA)
		if err != nil {
			return nil, err
		}
		b, err := open(dirB)
		if err != nil {
			return nil, err
		}
		c, err := compare(ctx, a, b)
		if err != nil {
			return nil, err
		}
		return &Comparison{c, tell(a, c)}, nil
	}
}

// Opening returns a function that opens a run whose result has type R and whose record has type T.
// The function ask reads the problem of a run again.
func Opening[R any, Result interface {
	*R
	shell.Judged
}, T any, Record interface {
	*T
	cli.Record
}, Problem interface{ PrintProblem() }](ask func(ctx context.Context, run *Asked[Record]) (Problem, error)) func(a *shell.App, dir string) (*Run, error) {
	return func(a *shell.App, dir string) (*Run, error) {
		stored, err := runs.ReadStored[T, R](dir)
		return &Run{Result(stored.Result), func(ctx context.Context) (interface{ PrintProblem() }, error) {
			return ask(ctx, Shown(a, dir, Record(stored.Record)))
		}}, err
	}
}

// OpenResult opens a run when only its result is needed.
func OpenResult[P interface {
	*R
	shell.Judged
}, R any](_ *shell.App, dir string) (*Run, error) {
	result := P(new(R))
	return &Run{Result: result}, rundir.ReadResult(dir, result)
}
