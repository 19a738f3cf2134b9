package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	status         int    // of the process when no error is returned
	dir            string // of the run, once there is one
}

// failure is an error of something that was asked for correctly. All other errors of a command are
// the user's to mend.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

// run executes one command line and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	a := &app{stdout: stdout, stderr: stderr}
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return a.status
	}
	text := err.Error()
	status := statusUsage
	switch {
	case errors.Is(err, context.Canceled):
		status = statusInterrupted
		// The user knows why.
		text = strings.ReplaceAll(text, ": "+context.Canceled.Error(), "")
		text = strings.ReplaceAll(text, context.Canceled.Error(), "stopped")
	case errors.As(err, new(failure)):
		status = statusFailure
	}
	fmt.Fprintf(stderr, "vti: %s\n", text)
	return status
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "vti",
		Short: "Which model do the data support, and whether to trust the answer",
		Long: `vti answers questions of structure about a table: which predictors matter (varsel), which columns
depend on which (dag), which effects vary by group (hbm --select).

Each answer is a model. vti computes the posterior probability of every model, and of every part of
one, with the parameters averaged over models, and tells whether its own answer can be trusted.`,
		Example:       "  vti varsel testdata/diabetes.csv --target y\n  vti dag data.csv\n  vti hbm testdata/radon.csv --formula \"log_radon ~ floor + (1 + floor | county)\" --select\n  vti varsel --help",
		Version:       vti.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w (see %s --help)", err, cmd.CommandPath())
	})
	root.SetVersionTemplate(versionText())
	root.AddCommand(a.varselCommand(), a.dagCommand(), a.hbmCommand(), a.exactCommand(), a.rjmcmcCommand(), a.compareCommand(), a.simulateCommand(), a.benchmarkCommand(), a.calibrateCommand(), a.devicesCommand(), a.versionCommand())
	return root
}
