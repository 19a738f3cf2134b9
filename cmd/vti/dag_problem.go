package main

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/table"
)

// discovery is a run of graph discovery, by whatever method: its record and its problem.
type discovery struct {
	*shell.App
	shell.Job
	record  *dag.Record
	problem *dag.Problem
	truth   *graph.Graph
}

// newDiscovery reads the table and builds the problem that a record describes. Nothing is written:
// its errors are of the input.
func newDiscovery(a *shell.App, record *dag.Record, flags *pflag.FlagSet, output cli.Output) (*discovery, error) {
	record.Flags = cli.GivenFlags(flags)
	return discoveryOf(a, record, output)
}

// discoveryOf is the run of a record, new or stored.
func discoveryOf(a *shell.App, record *dag.Record, output cli.Output) (*discovery, error) {
	problem, truth, err := record.Problem()
	var set *tables.AlwaysSetError
	switch {
	case errors.Is(err, table.ErrMixed):
		return nil, fmt.Errorf("%w\n--discrete takes the cells of a column as labels of categories", err)
	case errors.As(err, new(*table.MissingError)):
		return nil, adviseMissing(err, "--na impute draws the cells", "--exclude leaves columns out")
	case errors.As(err, &set):
		return nil, fmt.Errorf("%w\nleave it out of --intervened and --clamp; --exogenous %s says that it has no causes", err, set.Node)
	case err != nil:
		return nil, err
	}
	record.Model = problem.Model // with its defaults: what they are may change
	own := shell.Job{Output: output, Stored: record, Header: &record.Header, Paths: []*string{&record.Truth}}
	return &discovery{a, own, record, problem, truth}, nil
}

// conclude is what a run of graph discovery ends with.
func (d *discovery) conclude(result *dag.Result) *shell.Conclusion {
	return &shell.Conclusion{Result: result, Seconds: result.Seconds}
}

// printProblem says what was read, and the priors in words.
func (d *discovery) printProblem() {
	if d.Output.Json {
		return
	}
	data := d.problem.Data
	fmt.Fprintf(d.Text, "%s: %d rows, %d nodes", data.Path, data.Rows(), data.Nodes())
	if d.record.Structure != dag.Chains && len(d.problem.Families) > 0 {
		fmt.Fprintf(d.Text, ", %d families of a node with its parents", len(d.problem.Families))
	}
	fmt.Fprintln(d.Text)
	for _, note := range data.Notes() {
		fmt.Fprintln(d.Text, "  "+note)
	}
	if data.DroppedRows > 0 {
		fmt.Fprintf(d.Text, "  %s with missing values dropped\n", english.Count(data.DroppedRows, "row"))
	}
	if cells := data.MissingCells(); cells > 0 {
		fmt.Fprintf(d.Text, "  %s %s drawn, as missing at random\n", english.Count(cells, "missing cell"), english.Form(cells, "is", "are"))
	}
	for _, line := range d.problem.Priors() {
		fmt.Fprintln(d.Text, "  "+line)
	}
	fmt.Fprintln(d.Text)
}
