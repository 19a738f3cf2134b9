package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/rundir"
)

// dagJob is one run of graph discovery from its record to its answer.
type dagJob struct {
	job
	record  *dag.Record
	problem *dag.Problem
	truth   *graph.Graph
}

// newDagJob reads the table and builds the problem that the record describes. Nothing is written:
// its errors are of the input.
func (a *app) newDagJob(record *dag.Record, output outputFlags) (*dagJob, error) {
	problem, truth, err := record.Problem()
	if err != nil {
		return nil, err
	}
	record.Model = problem.Model // with its defaults: what they are may change
	return &dagJob{job{app: a, output: output, header: &record.Header, write: record.Write}, record, problem, truth}, nil
}

// resumedDiscovery reads a run directory and checks that it can go on; nothing is written.
func (a *app) resumedDiscovery(cmd *cobra.Command, args []string, f *dagFlags) (*dagJob, error) {
	if err := onlyResume(cmd, args, f.resume); err != nil {
		return nil, err
	}
	record, err := dag.ReadRecord(f.resume)
	if err != nil {
		return nil, err
	}
	if record.Structure == dag.Chains || record.Evidence == dag.Particles || record.Evidence == dag.ClosedForm {
		return nil, fmt.Errorf("%s is a run without training, which cannot be resumed: give its command again, with another --out", f.resume)
	}
	kind, err := resumedKind(&record.Header, "dag", f.resume)
	if err != nil {
		return nil, err
	}
	j, err := a.newDagJob(record, f.output)
	if err != nil {
		return nil, err
	}
	j.dir = f.resume
	if err := j.open(kind); err != nil {
		return nil, err
	}
	config := record.FitConfig(j.problem)
	config.Checkpoint = filepath.Join(j.dir, rundir.PosteriorFile)
	// A run killed before its first checkpoint starts again; any other checkpoint must be readable
	// and of this run.
	if err := dag.CheckCheckpoint(j.device, j.problem, record.Structure, config); err != nil && !errors.Is(err, fs.ErrNotExist) {
		j.device.Close()
		return nil, err
	}
	return j, nil
}

// start makes the run directory and writes the record to it.
func (j *dagJob) start(name string) error { return j.job.start(name, &j.record.Truth) }

// finish completes the record, prints the answer and sets the exit status.
func (j *dagJob) finish(result *dag.Result) error {
	j.record.Seconds = &result.Seconds
	return j.job.finish(result, func() { printDag(j.stdout, result) })
}

// printProblem says what was read, and the priors in words.
func (j *dagJob) printProblem() {
	if j.output.json {
		return
	}
	data := j.problem.Data
	fmt.Fprintf(j.stdout, "%s: %d rows, %d nodes", data.Path, data.Rows(), data.Nodes())
	if j.record.Structure != dag.Chains && len(j.problem.Families) > 0 {
		fmt.Fprintf(j.stdout, ", %d families of a node with its parents", len(j.problem.Families))
	}
	fmt.Fprintln(j.stdout)
	if data.DroppedRows > 0 {
		rows := "rows"
		if data.DroppedRows == 1 {
			rows = "row"
		}
		fmt.Fprintf(j.stdout, "  %d %s with missing values dropped\n", data.DroppedRows, rows)
	}
	for _, line := range j.problem.Priors() {
		fmt.Fprintln(j.stdout, "  "+line)
	}
	fmt.Fprintln(j.stdout)
}
