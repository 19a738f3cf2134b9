package graphs

import (
	"context"
	"errors"
	"fmt"

	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/table"
)

// discovery is a run that searches for causal graphs, by any method, with its problem.
type discovery struct {
	*application.Asked[*dag.Record]
	problem *dag.Problem
	truth   *graph.Graph
}

// newDiscovery reads the table and builds the problem of a new or stored record. It writes no
// files; its errors are errors of the input.
func newDiscovery(_ context.Context, run *application.Asked[*dag.Record]) (*discovery, error) {
	record := run.Record
	problem, truth, err := record.Problem()
	var set *tables.AlwaysSetError
	switch {
	case errors.Is(err, table.ErrMixed):
		return nil, fmt.Errorf("%w\n--discrete takes the cells of a column as labels of categories", err)
	case errors.As(err, new(*table.MissingError)):
		return nil, cli.AdviseMissing(err, "--na impute draws the cells", "--exclude leaves columns out")
	case errors.As(err, &set):
		return nil, fmt.Errorf("%w\nleave it out of --intervened and --clamp; --exogenous %s says that it has no causes", err, set.Node)
	case err != nil:
		return nil, err
	}
	record.Model = problem.Model // store the defaults, which another version may change
	run.Paths = []*string{&record.Truth}
	return &discovery{run, problem, truth}, nil
}

// PrintProblem prints a summary of the table, and the priors in words.
func (d *discovery) PrintProblem() {
	data := d.problem.Data
	title := fmt.Sprintf("%s: %d rows, %d nodes", data.Path, data.Rows(), data.Nodes())
	if d.Record.Structure != dag.Chains && len(d.problem.Families) > 0 {
		title += fmt.Sprintf(", %d families of a node with its parents", len(d.problem.Families))
	}
	var missing []string
	if data.DroppedRows > 0 {
		missing = append(missing, english.Count(data.DroppedRows, "row")+" with missing values dropped")
	}
	if cells := data.MissingCells(); cells > 0 {
		missing = append(missing, fmt.Sprintf("%s %s drawn, as missing at random", english.Count(cells, "missing cell"), english.Form(cells, "is", "are")))
	}
	d.Introduce(title, data.Notes(), missing, d.problem.Priors())
}
