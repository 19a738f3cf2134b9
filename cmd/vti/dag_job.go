package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/rundir"
)

// dagJob is one run of graph discovery from its record to its answer.
type dagJob struct {
	*app
	output  outputFlags
	record  *dag.Record
	problem *dag.Problem
	truth   *dag.Graph
	device  *gpu.Device
	dir     string
}

// newDagJob reads the table and builds the problem that the record describes. Nothing is written: its errors are of the input.
func (a *app) newDagJob(record *dag.Record, output outputFlags) (*dagJob, error) {
	problem, truth, err := record.Problem()
	if err != nil {
		return nil, err
	}
	record.Model = problem.Model // with its defaults: what they are may change
	return &dagJob{app: a, output: output, record: record, problem: problem, truth: truth}, nil
}

// resumedDiscovery reads a run directory and checks that it can go on; nothing is written.
func (a *app) resumedDiscovery(cmd *cobra.Command, args []string, f *dagFlags) (*dagJob, error) {
	var other []string
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		switch flag.Name {
		case "resume", "json", "quiet", "pjrt-plugin", "steps-per-launch":
		default:
			other = append(other, "--"+flag.Name)
		}
	})
	if len(args) > 0 {
		other = append(other, args[0])
	}
	if len(other) > 0 {
		return nil, fmt.Errorf("--resume takes everything from %s: leave out %s", filepath.Join(f.resume, rundir.RecordFile), strings.Join(other, ", "))
	}
	record, err := dag.ReadRecord(f.resume)
	if err != nil {
		return nil, err
	}
	if record.Command != "dag" {
		return nil, fmt.Errorf("%s is a run of vti %s, which cannot be resumed by vti dag", f.resume, record.Command)
	}
	if record.Structure == dag.Chains || record.Evidence == dag.Particles {
		return nil, fmt.Errorf("%s is a run without training, which cannot be resumed: give its command again", f.resume)
	}
	kind, err := gpu.ParseKind(record.Device)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(f.resume, rundir.RecordFile), err)
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
	// A run killed before its first checkpoint starts again; any other checkpoint must be readable and of this run.
	if err := dag.CheckCheckpoint(j.device, j.problem, record.Structure, config); err != nil && !errors.Is(err, fs.ErrNotExist) {
		j.device.Close()
		return nil, err
	}
	return j, nil
}

// open opens the device.
func (j *dagJob) open(kind gpu.Kind) error {
	var err error
	if j.device, err = gpu.OpenWith(gpu.Options{Kind: kind, Plugin: j.output.plugin}); err != nil {
		return err
	}
	j.record.Device, j.record.Backend = j.device.Kind().String(), j.device.String()
	return nil
}

// start makes the run directory and writes the record to it. Everything that can be wrong with the input has been checked by now.
func (j *dagJob) start(name string) error {
	now := time.Now()
	var err error
	if j.dir, err = rundir.Make(j.output.out, name, now); err != nil {
		return err
	}
	for _, path := range []*string{&j.record.Data, &j.record.Truth} {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return failure{err}
		}
	}
	j.record.Started = now.Round(time.Second)
	if err := j.record.Write(j.dir); err != nil {
		return failure{err}
	}
	return nil
}

// finish completes the record, prints the answer and sets the exit status.
func (j *dagJob) finish(result *dag.Result) error {
	now := time.Now().Round(time.Second)
	j.record.Finished, j.record.Seconds = &now, &result.Seconds
	if err := j.record.Write(j.dir); err != nil {
		return failure{err}
	}
	if result.ExitStatus() != 0 {
		j.status = statusUntrusted
	}
	if j.output.json {
		return j.printJSON(result)
	}
	printDag(j.stdout, result)
	return nil
}

// progress is where the job reports what it is doing.
func (j *dagJob) progress() *progress {
	if j.output.quiet {
		return &progress{}
	}
	return newProgress(j.stderr)
}

// stopped puts an error of a run into words.
func (j *dagJob) stopped(err error, resumable bool) error {
	return stoppedRun(err, "dag", j.dir, resumable)
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
		fmt.Fprintf(j.stdout, "  %d rows with missing values dropped\n", data.DroppedRows)
	}
	for _, line := range j.problem.Priors() {
		fmt.Fprintln(j.stdout, "  "+line)
	}
	fmt.Fprintln(j.stdout)
}
