package application

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/report"
)

// Application is a kind of question that the engine answers.
type Application struct {
	// About is the subject of its runs, in messages: "graphs".
	About string
	// Commands are all commands that belong to it.
	Commands []Command
	// Open opens a finished run of one of its commands.
	Open func(a *shell.App, dir string) (*Run, error)
	// Page shows their answers, and opens those that predict a response.
	Page report.Page
	// Formats are the formats of Export for a finished run, beside ArviZ; least is the smallest
	// probability written.
	Formats []string
	Export  func(dir, format string, least float64) (text string, err error)
	// Compare compares two finished runs; nil if nothing does.
	Compare func(ctx context.Context, dirA, dirB string) (*Comparison, error)
}

// Command is a command of an application.
type Command struct {
	// Name is its place in the tree of commands, such as "exact dag". Records of its runs have it.
	Name string
	New  func(a *shell.App) *cobra.Command
	// Asks is its question in words, for forms, and First the flags that a form begins with,
	// perhaps with a value; the others are folded, by their groups. Without them a form has its
	// short description, and begins with the flags of the first group.
	Asks  string
	First []string
	// Studied reports whether a study can repeat it.
	Studied bool
	// Again returns how a run of it is certified again; nil if it cannot be.
	Again func(ctx context.Context, r *Recertification) (*shell.Job, shell.Task, error)
	// Unrepeatable is why it cannot be repeated on a part of its table, if it cannot.
	Unrepeatable string
}

// Run is a finished run, opened.
type Run struct {
	Result shell.Judged
	// Asked reads the problem again, and prints the question; nil if that takes more than the run
	// keeps.
	Asked func(ctx context.Context) (interface{ PrintProblem() }, error)
}

// Comparison is the comparison of two runs.
type Comparison struct {
	// Result is the value that --json prints.
	Result interface{ Write(dir string) error }
	*report.Compared
}

// Comparing opens two runs, and compares them.
func Comparing[R any](open func(dir string) (R, error), compare func(ctx context.Context, a, b R) (*Comparison, error)) func(ctx context.Context, dirA, dirB string) (*Comparison, error) {
	return func(ctx context.Context, dirA, dirB string) (*Comparison, error) {
		a, err := open(dirA)
		if err != nil {
			return nil, err
		}
		b, err := open(dirB)
		if err != nil {
			return nil, err
		}
		return compare(ctx, a, b)
	}
}

// Opening returns a function that opens a run and makes it a Run by tell.
func Opening[R any](open func(dir string) (R, error), tell func(a *shell.App, run R) *Run) func(a *shell.App, dir string) (*Run, error) {
	return func(a *shell.App, dir string) (*Run, error) {
		run, err := open(dir)
		if err != nil {
			return nil, err
		}
		return tell(a, run), nil
	}
}

// OpenResult opens a run that keeps nothing beside its result.
func OpenResult[P interface {
	*R
	shell.Judged
}, R any](_ *shell.App, dir string) (*Run, error) {
	result := P(new(R))
	return &Run{Result: result}, rundir.ReadResult(dir, result)
}
