package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/english"
	runs "github.com/transdim/vti/run"
	"github.com/transdim/vti/table"
	"github.com/transdim/vti/varsel"
	"github.com/transdim/vti/varsel/design"
)

// selection is a run of variable selection, by whatever method: its record and its problem.
type selection struct {
	*app
	job
	record  *varsel.Record
	problem *varsel.Problem
}

// newSelection reads the table and builds the problem that a record describes. Nothing is written:
// its errors are of the input.
func (a *app) newSelection(record *varsel.Record, flags *pflag.FlagSet, output outputFlags) (*selection, error) {
	data, err := record.Table()
	if err != nil {
		return nil, err
	}
	d, err := varsel.NewDesign(data, record.Design)
	switch {
	case errors.Is(err, table.ErrMixed):
		return nil, fmt.Errorf("%w\n--factor takes the cells of a predictor as labels", err)
	case errors.As(err, new(*table.MissingError)):
		return nil, adviseMissing(err, "--exclude leaves columns out")
	case errors.Is(err, design.ErrDegenerate):
		return nil, fmt.Errorf("%w\n--drop-degenerate leaves them out", err)
	case err != nil:
		return nil, err
	}
	record.Flags = givenFlags(flags)
	record.Model = record.Model.ForMany(len(d.Predictors), flags.Changed("max-size"))
	problem, err := varsel.NewProblem(d, record.Model)
	if err != nil {
		return nil, err
	}
	problem.AllModels = record.AllModels
	record.Model = problem.Model // with its defaults: what they are may change
	return &selection{a, job{output: output, stored: record, header: &record.Header}, record, problem}, nil
}

// openSelection reads a run directory to resume it; nothing is written.
func (a *app) openSelection(dir string, output outputFlags) (*selection, error) {
	record, err := varsel.ReadRecord(dir)
	if err != nil {
		return nil, err
	}
	return &selection{a, job{output: output, stored: record, header: &record.Header, resume: dir}, record, nil}, nil
}

// newVarselRecord describes a run of a command on a table.
func newVarselRecord(command, path string, data *dataFlags) *varsel.Record {
	return &varsel.Record{Header: runs.Header{Command: command, Version: vti.Version, Data: path}, Design: data.design, Model: data.model, AllModels: bool(data.models)}
}

// conclude is what a run of variable selection ends with.
func (s *selection) conclude(result *varsel.Result) *conclusion {
	return &conclusion{result, result.Seconds, func(w io.Writer) { printSelection(w, result) }}
}

// printProblem says what was read, what was left out, and the likelihood and priors in words. With
// --json the part about what was left out goes to standard error.
func (s *selection) printProblem() {
	if s.output.json {
		if !s.output.quiet {
			s.printDropped(s.stderr)
		}
		return
	}
	design := s.problem.Design
	fmt.Fprintf(s.text, "%s: %d rows, target %s, %s to select from\n", design.Path, design.Rows(), design.Target, english.Count(len(design.Predictors), "predictor"))
	s.printDropped(s.text)
	if len(design.Levels) == 2 && design.Likelihood.Binary() {
		fmt.Fprintf(s.text, "  %s: 0 is %q, 1 is %q\n", design.Target, design.Levels[0], design.Levels[1])
	}
	for _, line := range s.problem.Priors() {
		fmt.Fprintln(s.text, "  "+line)
	}
	fmt.Fprintln(s.text)
}

func (s *selection) printDropped(w io.Writer) {
	design := s.problem.Design
	if design.DroppedRows > 0 {
		fmt.Fprintf(w, "  %s with missing values dropped\n", english.Count(design.DroppedRows, "row"))
	}
	for _, dropped := range design.Dropped {
		fmt.Fprintf(w, "  %s left out: it %s\n", dropped.Name, dropped.Reason)
	}
}
