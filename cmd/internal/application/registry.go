package application

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/predict"
	"github.com/transdim/vti/report"
	runs "github.com/transdim/vti/run"
)

// Registry is a list of applications, in the order in which help and messages list them.
type Registry []*Application

// Below returns the commands whose names consist of the given words and one more word, with their
// subcommands. Below("calibrate"), for example, returns all commands of vti calibrate.
func (r Registry) Below(a *shell.App, words string) (made []*cobra.Command) {
	for _, application := range r {
		for _, command := range application.Commands {
			if last := strings.LastIndex(command.Name, " "); command.Name[:max(last, 0)] == words {
				cmd := command.New(a)
				cmd.AddCommand(r.Below(a, command.Name)...)
				made = append(made, cmd)
			}
		}
	}
	return made
}

// Choice makes cmd a command that only groups other commands: the commands of applications below
// it, and the argument others.
func (r Registry) Choice(a *shell.App, cmd *cobra.Command, others ...*cobra.Command) *cobra.Command {
	return cli.Choice(cmd, append(r.Below(a, cmd.Name()), others...)...)
}

// Studied returns the names of the commands that vti study can run on many tables.
func (r Registry) Studied() (names []string) {
	for _, application := range r {
		for _, command := range application.Commands {
			if command.Studied {
				names = append(names, command.Name)
			}
		}
	}
	return names
}

// Stored describes a run in a directory: the header of its record, and the command that made it.
type Stored struct {
	Dir    string
	Header runs.Header
	*Application
	Command *Command
}

// Check returns an error if the run in a directory is a run of another application.
func (a *Application) Check(dir string) error {
	var header runs.Header
	if err := rundir.ReadRecord(dir, &header); err != nil {
		return err
	}
	if a.command(header.Command) == nil {
		return fmt.Errorf("%s is a run of vti %s: expected one about %s", dir, header.Command, a.About)
	}
	return nil
}

// command returns the command with the given name, or nil.
func (a *Application) command(name string) *Command {
	for k := range a.Commands {
		if a.Commands[k].Name == name {
			return &a.Commands[k]
		}
	}
	return nil
}

// find returns the application of a command, and the command itself. Both are nil if no application
// has the command.
func (r Registry) find(command string) (*Application, *Command) {
	for _, application := range r {
		if found := application.command(command); found != nil {
			return application, found
		}
	}
	return nil, nil
}

// Page returns the page of the runs of a command.
func (r Registry) Page(command string) report.Page {
	application, _ := r.find(command)
	return application.Page
}

// Read reads the header of the record of a run, and finds its application.
func (r Registry) Read(dir string) (*Stored, error) {
	s := &Stored{Dir: dir}
	if err := rundir.ReadRecord(dir, &s.Header); err != nil {
		return nil, err
	}
	if s.Application, s.Command = r.find(s.Header.Command); s.Application == nil {
		return nil, fmt.Errorf("%s is a run of vti %s, which this version does not know", dir, s.Header.Command)
	}
	return s, nil
}

// ReadAll reads several runs and checks that they are runs of one application.
func (r Registry) ReadAll(dirs ...string) (all []*Stored, err error) {
	for _, dir := range dirs {
		s, err := r.Read(dir)
		if err != nil {
			return nil, err
		}
		if all = append(all, s); s.Application != all[0].Application {
			return nil, fmt.Errorf("%s is about %s and %s about %s: there is nothing to compare", dirs[0], all[0].About, dir, s.About)
		}
	}
	return all, nil
}

// Compare compares two runs.
func (r Registry) Compare(ctx context.Context, dirA, dirB string) (*Comparison, error) {
	runs, err := r.ReadAll(dirA, dirB)
	if err != nil {
		return nil, err
	}
	if runs[0].Application.Compare == nil {
		return nil, fmt.Errorf("runs of vti %s are not compared", runs[0].Header.Command)
	}
	return runs[0].Application.Compare(ctx, dirA, dirB)
}

// ReadPredictor opens a run that can predict a response.
func (r Registry) ReadPredictor(dir string) (report.Predictor, error) {
	s, err := r.Read(dir)
	if err != nil {
		return nil, err
	}
	return s.predictor()
}

func (s *Stored) predictor() (report.Predictor, error) {
	if s.Page.Predictor == nil {
		return nil, fmt.Errorf("%s is a run of vti %s, about %s: it predicts no response of rows", s.Dir, s.Header.Command, s.About)
	}
	return s.Page.Predictor(s.Dir)
}

// OwnRows returns the rows that a run was fitted to.
func (s *Stored) OwnRows() (*predict.Rows, error) {
	run, err := s.predictor()
	if err != nil {
		return nil, err
	}
	return run.Rows(nil)
}

// Exporter returns the application that writes its runs in the given format, or nil.
func (r Registry) Exporter(format string) *Application {
	for _, application := range r {
		if slices.Contains(application.Formats, format) {
			return application
		}
	}
	return nil
}

// Formats returns the export formats that only one application offers.
func (r Registry) Formats() (names []string) {
	for _, application := range r {
		names = append(names, application.Formats...)
	}
	return names
}

// VerdictOf returns the verdict in the result of a run. It is "exact" if the result has none.
func VerdictOf(dir string) (string, error) {
	var result struct {
		Certificate, Diagnostics *struct {
			Verdict vti.Verdict `json:"verdict"`
		}
	}
	if err := rundir.ReadResult(dir, &result); err != nil {
		return "", err
	}
	if judged := cmp.Or(result.Certificate, result.Diagnostics); judged != nil {
		return judged.Verdict.String(), nil
	}
	return "exact", nil
}
