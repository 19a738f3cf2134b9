package selection

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/table"
	"github.com/transdim/vti/varsel"
	"github.com/transdim/vti/varsel/design"
)

// selection is a run of variable selection, by any method, with its problem.
type selection struct {
	*application.Asked[*varsel.Record]
	problem *varsel.Problem
}

// newSelection reads the table and builds the problem of a new or stored record. It writes no
// files; its errors are errors of the input.
func newSelection(_ context.Context, run *application.Asked[*varsel.Record]) (*selection, error) {
	record := run.Record
	if run.Resumed() {
		problem, err := record.Problem()
		return &selection{run, problem}, err
	}
	d, err := record.ReadDesign()
	var missing *table.MissingError
	switch {
	case errors.Is(err, table.ErrMixed):
		return nil, fmt.Errorf("%w\n--factor takes the cells of a predictor as labels", err)
	case errors.As(err, &missing):
		advice := []string{"--exclude leaves columns out"}
		if missing.Genotypes {
			advice = slices.Insert(advice, 0, "--na mean replaces missing genotypes by the mean of their marker")
		}
		return nil, cli.AdviseMissing(err, advice...)
	case errors.Is(err, design.ErrDegenerate):
		return nil, fmt.Errorf("%w\n--drop-degenerate leaves them out", err)
	case err != nil:
		return nil, err
	}
	record.Model = record.Model.ForMany(len(d.Predictors), run.Flags.Changed("max-size"))
	problem, err := record.ProblemOf(d)
	if err != nil {
		return nil, err
	}
	if record.InclusionPrior != nil {
		run.Paths = append(run.Paths, &record.InclusionPrior.File)
	}
	record.Model = problem.Model // store the defaults, which another version may change
	return &selection{run, problem}, nil
}

// PrintProblem prints a summary of the table, the rows and columns that were left out, and the
// likelihood and priors in words. With --json it prints only the omissions, to standard error.
func (s *selection) PrintProblem() {
	omissions := s.omissions()
	if s.Output.Json && !s.Output.Quiet {
		for _, line := range omissions {
			fmt.Fprintln(s.Stderr, "  "+line)
		}
	}
	design, rows := s.problem.Design, fmt.Sprintf("%d rows", s.problem.Design.Rows())
	if design.Statistics != nil {
		rows = fmt.Sprintf("statistics of %d rows, which were not seen", design.Rows())
	}
	title := fmt.Sprintf("%s: %s, target %s, %s to select from", design.Path, rows, design.Target, english.Count(len(design.Predictors), "predictor"))
	var levels []string
	if len(design.Levels) == 2 && design.Likelihood.Binary() {
		levels = []string{fmt.Sprintf("%s: 0 is %q, 1 is %q", design.Target, design.Levels[0], design.Levels[1])}
	}
	s.Introduce(title, omissions, levels, s.problem.Priors())
}

// omissions returns lines on the rows and columns of the table that were left out.
func (s *selection) omissions() (lines []string) {
	d := s.problem.Design
	if d.DroppedRows > 0 {
		lines = append(lines, english.Count(d.DroppedRows, "row")+" with missing values dropped")
	}
	if d.FilledCells > 0 {
		lines = append(lines, english.Count(d.FilledCells, "missing genotype")+" replaced by the mean of the marker")
	}
	return append(lines, apply.To(d.Dropped, func(c design.Dropped) string { return fmt.Sprintf("%s left out: it %s", c.Name, c.Reason) })...)
}
