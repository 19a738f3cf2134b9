package main

import (
	"fmt"

	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/predict"
	runs "github.com/transdim/vti/run"
	"github.com/transdim/vti/table"
	"github.com/transdim/vti/varsel"
)

// question is what a run is about.
type question string

// The questions.
const (
	aboutGraphs      question = "graphs"
	aboutRegressions question = "hierarchical regressions"
	aboutVariables   question = "variable selection"
	aboutChanges     question = "changes of a series"
	aboutMixtures    question = "components of a mixture"
	aboutOrders      question = "the order of a model"
)

// readHeader reads what all records begin with, and says what the run is about.
func readHeader(dir string) (runs.Header, question, error) {
	var header runs.Header
	if err := rundir.ReadRecord(dir, &header); err != nil {
		return header, "", err
	}
	switch header.Command {
	case "dag", "exact dag", "rjmcmc dag":
		return header, aboutGraphs, nil
	case "hbm", regression.InferCommand:
		return header, aboutRegressions, nil
	case "changepoints":
		return header, aboutChanges, nil
	case "mixture", "rjmcmc mixture":
		return header, aboutMixtures, nil
	case "order":
		return header, aboutOrders, nil
	case "varsel", "exact", "rjmcmc varsel":
		return header, aboutVariables, nil
	}
	return header, "", fmt.Errorf("%s is a run of vti %s, which this version does not know", dir, header.Command)
}

// predictor is a finished run that says what it expects of rows: of its own, or of a new table.
type predictor interface {
	Rows(fresh *table.Table) (*predict.Rows, error)
}

// openPredictor opens a run that predicts a response.
func openPredictor(dir string) (predictor, error) {
	header, about, err := readHeader(dir)
	if err != nil {
		return nil, err
	}
	switch about {
	case aboutVariables:
		return varsel.OpenRun(dir)
	case aboutRegressions:
		return regression.OpenRun(dir)
	}
	return nil, fmt.Errorf("%s is a run of vti %s, about %s: it predicts no response of rows", dir, header.Command, about)
}
