package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/table"
)

// hierarchical is a run of a hierarchical regression: its record and its problem.
type hierarchical struct {
	*shell.App
	shell.Job
	record     *regression.Record
	regression *regression.Regression
}

// newHierarchical reads the table and builds the posterior that a record describes. Nothing is
// written: its errors are of the input.
func newHierarchical(a *shell.App, ctx context.Context, record *regression.Record, output cli.Output) (*hierarchical, error) {
	r, err := record.Regression(ctx)
	switch {
	case errors.As(err, new(*table.MissingError)):
		return nil, adviseMissing(err)
	case errors.Is(err, table.ErrMixed):
		return nil, fmt.Errorf("%w\nfactor(…) in the formula takes the cells of a column as labels", err)
	case err != nil:
		return nil, err
	}
	return &hierarchical{a, shell.Job{Output: output, Stored: record, Header: &record.Header}, record, r}, nil
}

// check reports what is wrong with the settings. Those that were left open are known afterwards.
func (r *hierarchical) check() error {
	family, ok, err := r.record.PlateFamily()
	if err != nil {
		return err
	}
	if !ok {
		return r.record.FitConfig(r.regression).Validate()
	}
	if err := r.regression.CheckFamily(family, r.record.Members); err != nil {
		return fmt.Errorf("--family %s: %w", family, err)
	}
	if r.record.Amortize > 0 {
		r.record.Shape = r.regression.Shape()
	}
	return r.record.FamilyRun(family).Fit.Validate()
}

// conclude is what a regression ends with.
func (r *hierarchical) conclude(result *regression.Result) *shell.Conclusion {
	return &shell.Conclusion{Result: result, Seconds: result.Seconds}
}

// printProblem says what was read, and the priors in words. With --json only warnings are printed,
// to standard error.
func (r *hierarchical) printProblem() {
	frame := r.regression.Frame
	if r.Output.Json {
		for _, line := range frame.Warnings {
			fmt.Fprintf(r.Stderr, "vti: %s\n", line)
		}
		return
	}
	fmt.Fprintf(r.Text, "%s: %d rows\n  %s\n", frame.Path, frame.Rows(), frame.Formula)
	for _, g := range frame.Groupings {
		if g.Smooth {
			fmt.Fprintf(r.Text, "  %s: a curve of %s around the line of its column\n", g.Name, english.Count(len(g.Columns), "bend"))
			continue
		}
		fmt.Fprintf(r.Text, "  %s of %s\n", english.Count(len(g.Levels), "group"), g.Name)
	}
	if frame.DroppedRows > 0 {
		fmt.Fprintf(r.Text, "  %s with missing values dropped\n", english.Count(frame.DroppedRows, "row"))
	}
	if frame.Labels != nil && frame.Response.Binary() {
		fmt.Fprintf(r.Text, "  response: %s is 0, %s is 1\n", frame.Labels[0], frame.Labels[1])
	}
	for _, line := range r.regression.Priors() {
		fmt.Fprintln(r.Text, "  "+line)
	}
	for _, line := range frame.Warnings {
		fmt.Fprintln(r.Text, "  note: "+line)
	}
	fmt.Fprintln(r.Text)
}
