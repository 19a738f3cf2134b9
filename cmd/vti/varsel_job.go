package main

import (
	"errors"
	"fmt"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/varsel"
)

// varselJob is one run of variable selection, by whatever method.
type varselJob struct {
	job
	record  *varsel.Record
	problem *varsel.Problem
}

// newVarselJob reads the table and builds the problem that the record describes. Nothing is
// written: its errors are of the input.
func (a *app) newVarselJob(record *varsel.Record, given givenPrior, output outputFlags) (*varselJob, error) {
	data, err := record.Table()
	if err != nil {
		return nil, err
	}
	design, err := varsel.NewDesign(data, record.Design)
	switch {
	case errors.Is(err, varsel.ErrMissingValues):
		return nil, fmt.Errorf("%w\n--na drop leaves these rows out", err)
	case errors.Is(err, varsel.ErrDegenerate):
		return nil, fmt.Errorf("%w\n--drop-degenerate leaves them out", err)
	case err != nil:
		return nil, err
	}
	record.Model = record.Model.ForMany(len(design.Predictors), given.models, given.size)
	problem, err := varsel.NewProblem(design, record.Model)
	if err != nil {
		return nil, err
	}
	record.Model = problem.Model // with its defaults: what they are may change
	return a.varselJobOf(record, problem, output), nil
}

// varselJobOf is the job of a record whose problem is known.
func (a *app) varselJobOf(record *varsel.Record, problem *varsel.Problem, output outputFlags) *varselJob {
	return &varselJob{job{app: a, output: output, header: &record.Header, write: record.Write}, record, problem}
}

// newVarselRecord describes a run of a command on a table.
func newVarselRecord(command, path string, data *dataFlags) *varsel.Record {
	return &varsel.Record{Header: rundir.Header{Command: command, Version: vti.Version, Data: path}, Design: data.design, Model: data.model}
}

// finish completes the record, prints the answer and sets the exit status.
func (j *varselJob) finish(result *varsel.Result) error {
	j.record.Seconds = &result.Seconds
	return j.job.finish(result, func() { printResult(j.stdout, j.problem, result) })
}
