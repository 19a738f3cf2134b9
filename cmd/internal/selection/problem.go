package selection

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/cli"
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
func newSelection(run *application.Asked[*varsel.Record]) (*selection, error) {
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
	if s.Output.Json {
		if !s.Output.Quiet {
			s.printDropped(s.Stderr)
		}
		return
	}
	design, rows := s.problem.Design, fmt.Sprintf("%d rows", s.problem.Design.Rows())
	if design.Statistics != nil {
		rows = fmt.Sprintf("statistics of %d rows, which were not seen", design.Rows())
	}
	fmt.Fprintf(s.Text, "%s: %s, target %s, %s to select from\n", design.Path, rows, design.Target, english.Count(len(design.Predictors), "predictor"))
	s.printDropped(s.Text)
	if len(design.Levels) == 2 && design.Likelihood.Binary() {
		fmt.Fprintf(s.Text, "  %s: 0 is %q, 1 is %q\n", design.Target, design.Levels[0], design.Levels[1])
	}
	for _, line := range s.problem.Priors() {
		fmt.Fprintln(s.Text, "  "+line)
	}
	fmt.Fprintln(s.Text)
}

func (s *selection) printDropped(w io.Writer) {
	design := s.problem.Design
	if design.DroppedRows > 0 {
		fmt.Fprintf(w, "  %s with missing values dropped\n", english.Count(design.DroppedRows, "row"))
	}
	if design.FilledCells > 0 {
		fmt.Fprintf(w, "  %s replaced by the mean of the marker\n", english.Count(design.FilledCells, "missing genotype"))
	}
	for _, dropped := range design.Dropped {
		fmt.Fprintf(w, "  %s left out: it %s\n", dropped.Name, dropped.Reason)
	}
}
