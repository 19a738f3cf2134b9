package answers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/internal/document"
	"github.com/transdim/vti/internal/rundir"
	runs "github.com/transdim/vti/run"
)

// Show returns the command vti show.
func Show(a *shell.App, all application.Registry) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Print the answer of a finished run again",
		Long: `Prints the answer of a finished run again, from its directory. The priors are printed if the table
that it analysed still exists and has not changed.`,
		Example: `  vti show runs/varsel-20260131-120000`,
		Args:    cli.Arguments(1, 1, "one run directory"),
		RunE:    func(cmd *cobra.Command, args []string) error { return showRun(a, cmd.Context(), all, args[0], asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object on standard output, and nothing else")
	return cmd
}

// showRun prints the answer of a finished run of any command.
func showRun(a *shell.App, ctx context.Context, all application.Registry, dir string, asJSON bool) error {
	stored, err := all.Read(dir)
	if err != nil {
		return err
	}
	run, err := stored.Open(a, dir)
	if err != nil {
		return err
	}
	if run.Result.ExitStatus() != 0 {
		a.Status = shell.StatusUntrusted
	}
	if asJSON {
		return a.PrintJSON(run.Result)
	}
	if run.Asked == nil {
		return a.PrintAnswer(dir, stored.Page, nil)
	}
	return a.PrintAnswer(dir, stored.Page, func() {
		problem, err := run.Asked(ctx)
		if err != nil {
			fmt.Fprintf(a.Text, "What was asked is not shown: %v\n\n", err)
			return
		}
		problem.PrintProblem()
	})
}

// listedRun is an entry in the list of vti runs.
type listedRun struct {
	RunDir   string        `json:"run_dir"`
	Command  string        `json:"command"`
	Data     string        `json:"data"`
	Started  time.Time     `json:"started"`
	Finished bool          `json:"finished"`
	Seconds  *runs.Seconds `json:"seconds,omitempty"`
	// Verdict is the verdict on the computation. It is "exact" if nothing is approximated, and
	// empty while a run has not finished.
	Verdict string `json:"verdict,omitempty"`
}

// Listing is the object that vti runs prints as JSON.
type Listing struct {
	Runs []listedRun `json:"runs"`
}

// Runs returns the command vti runs.
func Runs(a *shell.App, all application.Registry) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "runs [DIRECTORY]",
		Short: "List the runs in a directory",
		Long:  `Lists the run directories in runs/, or in another directory, newest first.`,
		Args:  cli.Arguments(0, 1, "at most one directory"),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "runs"
			if len(args) == 1 {
				dir = args[0]
			}
			return listRuns(a, all, dir, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object on standard output, and nothing else")
	return cmd
}

func listRuns(a *shell.App, all application.Registry, dir string, asJSON bool) error {
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
		stored, err := all.Read(path)
		if err != nil {
			fmt.Fprintf(a.Stderr, "vti: %v\n", err)
			continue
		}
		header := stored.Header
		one := listedRun{RunDir: path, Command: header.Command, Data: header.Data, Started: header.Started, Finished: header.Finished != nil, Seconds: header.Seconds}
		if one.Finished {
			if one.Verdict, err = application.VerdictOf(path); err != nil {
				fmt.Fprintf(a.Stderr, "vti: %v\n", err)
				continue
			}
		}
		list = append(list, one)
	}
	slices.SortStableFunc(list, func(x, y listedRun) int { return y.Started.Compare(x.Started) })
	return a.Answer(asJSON, shell.Described{Schema: "runs", Object: Listing{list}}, func() { printRuns(a.Text, dir, list) })
}

func printRuns(w io.Writer, dir string, list []listedRun) {
	if len(list) == 0 {
		fmt.Fprintf(w, "There are no runs in %s.\n", dir)
		return
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
	table.Print(w)
}
