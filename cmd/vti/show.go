package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/transdim/vti"
	"github.com/transdim/vti/changepoint"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/mixture"
	"github.com/transdim/vti/order"
	runs "github.com/transdim/vti/run"
	"github.com/transdim/vti/varsel"
)

func showCommand(a *shell.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Print the answer of a finished run again",
		Long: `Prints the answer of a finished run again, from its directory. The priors are printed if the table
that it analysed still exists and has not changed.`,
		Example: `  vti show runs/varsel-20260131-120000`,
		Args:    oneRun,
		RunE:    func(cmd *cobra.Command, args []string) error { return showRun(a, cmd.Context(), args[0], asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object on standard output, and nothing else")
	return cmd
}

// showRun prints a finished run of any command.
func showRun(a *shell.App, ctx context.Context, dir string, asJSON bool) error {
	_, about, err := readHeader(dir)
	if err != nil {
		return err
	}
	var result shell.Judged
	var asked func() error
	switch about {
	case aboutVariables:
		run, err := varsel.OpenRun(dir)
		if err != nil {
			return err
		}
		result = run.Result
		asked = func() error {
			problem, err := run.Record.Problem()
			if err == nil {
				(&selection{App: a, record: run.Record, problem: problem}).printProblem()
			}
			return err
		}
	case aboutRegressions:
		run, err := regression.OpenRun(dir)
		if err != nil {
			return err
		}
		result = run.Result
		asked = func() error {
			r, err := run.Record.Regression(ctx)
			if err == nil {
				(&hierarchical{App: a, record: run.Record, regression: r}).printProblem()
			}
			return err
		}
	case aboutChanges:
		result, err = storedAnswer[changepoint.Result](dir)
	case aboutMixtures:
		result, err = storedAnswer[mixture.Result](dir)
	case aboutOrders:
		result, err = storedAnswer[order.Result](dir)
	default:
		run, err := dag.OpenRun(dir)
		if err != nil {
			return err
		}
		result = run.Result
		asked = func() error {
			d, err := discoveryOf(a, run.Record, cli.Output{})
			if err == nil {
				d.printProblem()
			}
			return err
		}
	}
	if err != nil {
		return err
	}
	if result.ExitStatus() != 0 {
		a.Status = shell.StatusUntrusted
	}
	if asJSON {
		return a.PrintJSON(result)
	}
	if asked == nil {
		return a.PrintAnswer(dir, nil)
	}
	return a.PrintAnswer(dir, func() {
		if err := asked(); err != nil {
			fmt.Fprintf(a.Text, "What was asked is not shown: %v\n\n", err)
		}
	})
}

// storedAnswer reads the result of a run.
func storedAnswer[R any](dir string) (shell.Judged, error) {
	stored := new(R)
	err := rundir.ReadResult(dir, stored)
	return any(stored).(shell.Judged), err
}

// listedRun is what vti runs says of one.
type listedRun struct {
	RunDir   string        `json:"run_dir"`
	Command  string        `json:"command"`
	Data     string        `json:"data"`
	Started  time.Time     `json:"started"`
	Finished bool          `json:"finished"`
	Seconds  *runs.Seconds `json:"seconds,omitempty"`
	// Verdict is that of the computation; "exact" where nothing is approximated, and absent while a
	// run has not finished.
	Verdict string `json:"verdict,omitempty"`
}

// listing is what vti runs prints as JSON.
type listing struct {
	Schema string      `json:"schema"`
	Runs   []listedRun `json:"runs"`
}

func runsCommand(a *shell.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "runs [DIRECTORY]",
		Short: "List the runs in a directory",
		Long:  `Lists the run directories in runs/, or in another directory, newest first.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("expected at most one directory, found %d arguments (see %s --help)", len(args), cmd.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "runs"
			if len(args) == 1 {
				dir = args[0]
			}
			return listRuns(a, dir, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object on standard output, and nothing else")
	return cmd
}

func listRuns(a *shell.App, dir string, asJSON bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there are no runs in %s: no such directory", dir)
		}
		return fmt.Errorf("there are no runs in %s: %w", dir, err)
	}
	list := []listedRun{}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if !entry.IsDir() || !rundir.Exists(filepath.Join(path, rundir.RecordFile)) {
			continue
		}
		header, _, err := readHeader(path)
		if err != nil {
			fmt.Fprintf(a.Stderr, "vti: %v\n", err)
			continue
		}
		one := listedRun{RunDir: path, Command: header.Command, Data: header.Data, Started: header.Started, Finished: header.Finished != nil, Seconds: header.Seconds}
		if one.Finished {
			if one.Verdict, err = verdictOf(path); err != nil {
				fmt.Fprintf(a.Stderr, "vti: %v\n", err)
				continue
			}
		}
		list = append(list, one)
	}
	slices.SortStableFunc(list, func(x, y listedRun) int { return y.Started.Compare(x.Started) })
	if asJSON {
		return a.PrintJSON(listing{shell.SchemaOf("runs"), list})
	}
	if len(list) == 0 {
		fmt.Fprintf(a.Text, "There are no runs in %s.\n", dir)
		return nil
	}
	table := &document.Grid{}
	table.Add("run", "<command", "<table", "<verdict", "<started", "time")
	for _, r := range list {
		verdict, seconds := r.Verdict, ""
		if !r.Finished {
			verdict = "not finished"
		}
		if r.Seconds != nil {
			seconds = document.TimeText(r.Seconds.Total)
		}
		table.Add(r.RunDir, r.Command, filepath.Base(r.Data), verdict, r.Started.Format("2006-01-02 15:04"), seconds)
	}
	table.Print(a.Text)
	return nil
}

// verdictOf reads the verdict of a finished run of any command.
func verdictOf(dir string) (string, error) {
	var result struct {
		Certificate, Diagnostics *struct {
			Verdict vti.Verdict `json:"verdict"`
		}
	}
	if err := rundir.ReadResult(dir, &result); err != nil {
		return "", err
	}
	switch {
	case result.Certificate != nil:
		return result.Certificate.Verdict.String(), nil
	case result.Diagnostics != nil:
		return result.Diagnostics.Verdict.String(), nil
	}
	return "exact", nil
}
