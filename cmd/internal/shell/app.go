package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/console"
	"github.com/transdim/vti/internal/memory"
	"github.com/transdim/vti/report"
	"github.com/transdim/vti/study"
)

// Exit statuses.
const (
	StatusOK          = 0
	StatusFailure     = 1   // any other error
	StatusUsage       = 2   // bad usage or bad input; nothing was written
	StatusUntrusted   = 3   // there is an answer that must not be used
	StatusInterrupted = 130 // Ctrl-C
)

// App is the state that the commands of a program share.
type App struct {
	Stdout, Stderr io.Writer
	Text           *console.Writer // standard output for text, with long lines folded
	Status         int             // the exit status of the process if no error is returned
	Dir            string          // the directory of the run, once there is one
	empty          string          // directory of a run that was refused, to be removed if it is empty
	Stack          bool            // whether a panic prints its stack (--stack)
	program        Program
	// Pages returns the page with which the reports of a command's finished runs are made.
	Pages func(command string) report.Page
}

// Program returns the root command of a command line.
type Program func(*App) *cobra.Command

// Main runs the command line of the process, and exits.
func Main(root Program) {
	stopWatch := watchMemory(memory.Total(), func() {
		outOfMemory(os.Stderr, memory.Total())
		os.Exit(StatusFailure)
	})
	ctx, stop := interruptible(os.Stderr)
	status := Run(ctx, root, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	stopWatch()
	study.ReportPeak()
	os.Exit(status)
}

// Again runs another command line of the same program in this process.
func (a *App) Again(ctx context.Context, args []string, stdout, stderr io.Writer) (status int) {
	return Run(ctx, a.program, args, stdout, stderr)
}

// Commands returns the root command of the program.
func (a *App) Commands() *cobra.Command { return a.program(&App{program: a.program}) }

// failure marks an error that is not a mistake in the command line or the input, such as a full
// disk. Other errors of a command are mistakes that the user can correct.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

// Failed marks an error that is not a mistake in the command line or the input. It returns nil for
// nil.
func Failed(err error) error {
	if err == nil {
		return nil
	}
	return failure{err}
}

// Run executes one command line and returns the exit status.
func Run(ctx context.Context, root Program, args []string, stdout, stderr io.Writer) (status int) {
	printed := &checkedWriter{Writer: stdout}
	a := &App{Stdout: printed, Stderr: stderr, Text: console.NewWriter(printed, stdout), program: root}
	defer func() {
		if value := recover(); value != nil {
			status = a.Defect(value)
		}
	}()
	cmd := root(a)
	cmd.SetFlagErrorFunc(func(command *cobra.Command, err error) error { return cli.FlagError(command, args, err) })
	cmd.SetArgs(args)
	cmd.SetOut(printed)
	cmd.SetErr(stderr)
	err := errors.Join(cmd.ExecuteContext(ctx), a.Text.End())
	if printed.err != nil { // an answer that cannot be printed is a failure
		err = Failed(fmt.Errorf("writing to standard output: %w", printed.err))
	}
	if err == nil {
		return a.Status
	}
	text := err.Error()
	status = StatusUsage
	switch {
	case errors.Is(err, context.Canceled):
		status = StatusInterrupted
		// after Ctrl-C the user knows the reason
		text = strings.ReplaceAll(text, ": "+context.Canceled.Error(), "")
		text = strings.ReplaceAll(text, context.Canceled.Error(), "stopped")
		text = strings.Join(slices.Compact(strings.Split(text, "\n")), "\n") // several goroutines may report the same error
	case errors.As(err, new(failure)):
		status = StatusFailure
	}
	fmt.Fprintf(stderr, "%s: %s\n", cmd.Name(), text)
	return status
}

// Defect reports a panic in one line, with its stack if the user asked for it.
func (a *App) Defect(value any) (status int) {
	line := strings.Join(strings.Fields(fmt.Sprint(value)), " ")
	if a.Dir != "" {
		line += "; the run is in " + a.Dir
	}
	where := "; --stack prints where\n"
	if a.Stack {
		where = "\n" + string(debug.Stack())
	}
	fmt.Fprintf(a.Stderr, "vti: a defect of vti, please report it: %s%s", line, where)
	return StatusFailure
}

// checkedWriter remembers the first error of its writer.
type checkedWriter struct {
	io.Writer
	err error
}

func (w *checkedWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if w.err == nil {
		w.err = err
	}
	return n, err
}
