package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/transdim/vti"
)

// Exit statuses.
const (
	statusOK          = 0
	statusFailure     = 1   // anything that is not one of the others
	statusUsage       = 2   // bad usage or bad input; nothing was written
	statusUntrusted   = 3   // there is an answer, and it is not to be believed
	statusInterrupted = 130 // Ctrl-C
)

// app is what the commands share.
type app struct {
	stdout, stderr io.Writer
	text           *textWriter // standard output, for readers
	status         int         // of the process when no error is returned
	dir            string      // of the run, once there is one
	empty          string      // the directory of a run that was refused, to be removed if empty
	stack          bool        // --stack: a defect prints its stack
}

// failure is an error of something that was asked for correctly. All other errors of a command are
// the user's to mend.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

// run executes one command line and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (status int) {
	printed := &checkedWriter{Writer: stdout}
	a := &app{stdout: printed, stderr: stderr, text: newTextWriter(printed, stdout)}
	defer func() {
		if value := recover(); value != nil {
			status = a.defect(value)
		}
	}()
	root := a.rootCommand()
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return flagError(cmd, args, err) })
	root.SetArgs(args)
	root.SetOut(printed)
	root.SetErr(stderr)
	err := errors.Join(root.ExecuteContext(ctx), a.text.end())
	if printed.err != nil { // whatever came of it
		err = failure{fmt.Errorf("writing to standard output: %w", printed.err)}
	}
	if err == nil {
		return a.status
	}
	text := err.Error()
	status = statusUsage
	switch {
	case errors.Is(err, context.Canceled):
		status = statusInterrupted
		// The user knows why.
		text = strings.ReplaceAll(text, ": "+context.Canceled.Error(), "")
		text = strings.ReplaceAll(text, context.Canceled.Error(), "stopped")
		text = strings.Join(slices.Compact(strings.Split(text, "\n")), "\n") // several may have been
	case errors.As(err, new(failure)):
		status = statusFailure
	}
	fmt.Fprintf(stderr, "vti: %s\n", text)
	return status
}

// defect reports a panic in one line, and its stack on request.
func (a *app) defect(value any) (status int) {
	line := strings.Join(strings.Fields(fmt.Sprint(value)), " ")
	if a.dir != "" {
		line += "; the run is in " + a.dir
	}
	if a.stack {
		fmt.Fprintf(a.stderr, "vti: a defect of vti, please report it: %s\n%s", line, debug.Stack())
		return statusFailure
	}
	fmt.Fprintf(a.stderr, "vti: a defect of vti, please report it: %s; --stack prints where\n", line)
	return statusFailure
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

// Groups of commands in the help.
const (
	answerGroup = "answer"
	useGroup    = "use"
	checkGroup  = "check"
)

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "vti",
		Short: "Which model do the data support, and whether to trust the answer",
		Long: `vti answers questions of structure about a table: which predictors matter (varsel), which columns
depend on which (dag), which effects vary by group (hbm --select).

Each answer is a model. vti computes the posterior probability of every model, and of every part of
one, with the parameters averaged over models, and says whether its own answer can be trusted.`,
		Example: `  vti varsel testdata/diabetes.csv --target y
  vti dag data.csv
  vti hbm testdata/radon.csv --formula "log_radon ~ floor + (1 + floor | county)" --select
  vti varsel --help`,
		Version:       vti.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.PersistentFlags().BoolVar(&a.stack, "stack", false, "print the stack trace after an internal error")
	root.SetVersionTemplate(versionText())
	root.AddGroup(&cobra.Group{ID: answerGroup, Title: "Answer a question about a table:"}, &cobra.Group{ID: useGroup, Title: "Use an answer:"}, &cobra.Group{ID: checkGroup, Title: "Check and compare answers:"})
	add := func(group string, commands ...*cobra.Command) {
		for _, command := range commands {
			command.GroupID = group
			root.AddCommand(command)
		}
	}
	add(answerGroup, a.varselCommand(), a.dagCommand(), a.hbmCommand(), a.exactCommand(), a.rjmcmcCommand())
	add(answerGroup, a.changepointsCommand(), a.mixtureCommand(), a.orderCommand(), a.amortizeCommand())
	add(useGroup, a.runsCommand(), a.showCommand(), a.reportCommand(), a.predictCommand(), a.effectsCommand(), a.exportCommand())
	add(checkGroup, a.checkCommand(), a.looCommand(), a.compareCommand(), a.simulateCommand(), a.benchmarkCommand(), a.calibrateCommand())
	add(checkGroup, a.certifyCommand(), a.studyCommand())
	add("", a.devicesCommand(), a.versionCommand())
	setHelp(root)
	return root
}
