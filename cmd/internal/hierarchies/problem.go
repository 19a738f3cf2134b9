package hierarchies

import (
	"context"
	"errors"
	"fmt"

	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/hbm"
	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/table"
)

// hierarchical is a run of a hierarchical regression, with its problem.
type hierarchical struct {
	*application.Asked[*regression.Record]
	regression *regression.Regression
	family     hbm.Family
	plates     bool // whether the run has a family of package hbm; else it has MarginalFamily
}

// newHierarchical reads the table and builds the posterior that a record describes. It writes no
// files; its errors are errors of the input.
func newHierarchical(ctx context.Context, run *application.Asked[*regression.Record]) (*hierarchical, error) {
	r, err := run.Record.Regression(ctx)
	switch {
	case errors.As(err, new(*table.MissingError)):
		return nil, cli.AdviseMissing(err)
	case errors.Is(err, table.ErrMixed):
		return nil, fmt.Errorf("%w\nfactor(…) in the formula takes the cells of a column as labels", err)
	case err != nil:
		return nil, err
	}
	family, plates, err := run.Record.PlateFamily()
	return &hierarchical{run, r, family, plates}, err
}

// check returns an error for invalid settings, and sets settings that were left open.
func (r *hierarchical) check() error {
	if !r.plates {
		return r.Record.FitConfig(r.regression).Validate()
	}
	if err := r.regression.CheckFamily(r.family, r.Record.Members); err != nil {
		return fmt.Errorf("--family %s: %w", r.family, err)
	}
	if r.Record.Amortize > 0 {
		r.Record.Shape = r.regression.Shape()
	}
	return r.Record.FamilyRun(r.family).Fit.Validate()
}

// PrintProblem prints a summary of the table, and the priors in words. With --json only warnings
// are printed, to standard error.
func (r *hierarchical) PrintProblem() {
	frame := r.regression.Frame
	if r.Output.Json {
		for _, line := range frame.Warnings {
			fmt.Fprintf(r.Stderr, "vti: %s\n", line)
		}
		return
	}
	lines := []string{frame.Formula.String()}
	for _, g := range frame.Groupings {
		if g.Smooth {
			lines = append(lines, fmt.Sprintf("%s: a curve of %s around the line of its column", g.Name, english.Count(len(g.Columns), "bend")))
		} else {
			lines = append(lines, english.Count(len(g.Levels), "group")+" of "+g.Name)
		}
	}
	if frame.DroppedRows > 0 {
		lines = append(lines, english.Count(frame.DroppedRows, "row")+" with missing values dropped")
	}
	if frame.Labels != nil && frame.Response.Binary() {
		lines = append(lines, fmt.Sprintf("response: %s is 0, %s is 1", frame.Labels[0], frame.Labels[1]))
	}
	notes := apply.To(frame.Warnings, func(note string) string { return "note: " + note })
	r.Introduce(fmt.Sprintf("%s: %d rows", frame.Path, frame.Rows()), lines, r.regression.Priors(), notes)
}
