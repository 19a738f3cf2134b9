package main

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/transdim/vti/changepoint"
	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/mixture"
	"github.com/transdim/vti/order"
	"github.com/transdim/vti/report"
	"github.com/transdim/vti/varsel"
)

// applications are all applications that vti has: only they are named here, and only here.
var applications = application.Registry{
	selections(), graphs(), hierarchies(), mixtures(), changes(), orders(),
}

// introduce prints what a run was asked.
func introduce(problem interface{ printProblem() }, err error) error {
	if err == nil {
		problem.printProblem()
	}
	return err
}

func selections() *application.Application {
	return &application.Application{
		About: "variable selection",
		Commands: []application.Command{
			{Name: "varsel", New: varselCommand, Studied: true, Again: selectionAgain},
			{Name: "exact", New: exactCommand, Studied: true},
			{Name: "rjmcmc varsel", New: rjmcmcVarselCommand, Studied: true},
			{Name: "amortize varsel", New: amortizeVarselCommand},
			{Name: "calibrate varsel", New: calibrateVarselCommand},
			{Name: "simulate varsel", New: simulateVarselCommand},
		},
		Open: application.Opening(varsel.OpenRun, func(a *shell.App, run *varsel.StoredRun) *application.Run {
			asked := func(context.Context) error { return introduce(newSelection(application.Shown(a, run.Dir, run.Record))) }
			return &application.Run{Result: run.Result, Asked: asked}
		}),
		Predictor: func(dir string) (application.Predictor, error) { return varsel.OpenRun(dir) },
		Compare: application.Comparing(varsel.OpenRun, func(ctx context.Context, x, y *varsel.StoredRun) (*application.Comparison, error) {
			c, err := varsel.Compare(ctx, x, y)
			return &application.Comparison{Result: c, Print: func(w io.Writer) { report.PrintSelections(w, c, x.Result.Data.Predictors) }}, err
		}),
	}
}

// selectionAgain certifies a selection again.
func selectionAgain(_ context.Context, r *application.Recertification) (*shell.Job, shell.Task, error) {
	run, err := application.Reopen[*varsel.Record](r, "certify-draws", "chain-groups")
	if err != nil {
		return nil, shell.Task{}, err
	}
	s, err := newSelection(run)
	if err != nil {
		return nil, shell.Task{}, err
	}
	run.Record.Draws = cmp.Or(r.Draws, run.Record.Draws)
	t, err := s.training(1)
	return run.Job, t, err
}

func graphs() *application.Application {
	return &application.Application{
		About: "graphs",
		Commands: []application.Command{
			{Name: "dag", New: dagCommand, Studied: true, Again: discoveryAgain},
			{Name: "dag query", New: dagQueryCommand},
			{Name: "exact dag", New: exactDagCommand, Studied: true},
			{Name: "rjmcmc dag", New: rjmcmcDagCommand, Studied: true},
			{Name: "calibrate dag", New: calibrateDagCommand},
			{Name: "simulate dag", New: simulateDagCommand},
		},
		Open: application.Opening(dag.OpenRun, func(a *shell.App, run *dag.StoredRun) *application.Run {
			asked := func(context.Context) error { return introduce(newDiscovery(application.Shown(a, run.Dir, run.Record))) }
			return &application.Run{Result: run.Result, Asked: asked}
		}),
		Formats: dag.GraphFormatNames(),
		Export: func(dir, format string, least float64) (string, error) {
			parsed, err := dag.ParseGraphFormat(format)
			if err != nil {
				return "", err
			}
			run, err := dag.OpenRun(dir)
			if err != nil {
				return "", err
			}
			return run.Export(parsed, least)
		},
		Compare: application.Comparing(dag.OpenRun, func(_ context.Context, x, y *dag.StoredRun) (*application.Comparison, error) {
			c, err := dag.Compare(x, y)
			return &application.Comparison{Result: c, Print: func(w io.Writer) { report.PrintGraphs(w, c) }}, err
		}),
	}
}

// discoveryAgain certifies a discovery again.
func discoveryAgain(_ context.Context, r *application.Recertification) (*shell.Job, shell.Task, error) {
	run, err := application.Reopen[*dag.Record](r, "chains", "rounds")
	if err != nil {
		return nil, shell.Task{}, err
	}
	record := run.Record
	switch particles := record.Structure == dag.Exact && record.Evidence == dag.Particles; {
	case particles:
		if err := r.Misplaced("chains", "rounds"); err != nil {
			return nil, shell.Task{}, err
		}
	case record.Structure != dag.Chains:
		return nil, shell.Task{}, r.Unfit("neither by chains over graphs nor by particles: give its command again")
	}
	record.Chains, record.Rounds = cmp.Or(r.Chains, record.Chains), cmp.Or(r.Rounds, record.Rounds)
	d, err := newDiscovery(run)
	if err != nil {
		return nil, shell.Task{}, err
	}
	t, err := d.search(1)
	return run.Job, t, err
}

func hierarchies() *application.Application {
	return &application.Application{
		About: "hierarchical regressions",
		Commands: []application.Command{
			{Name: "hbm", New: hbmCommand, Studied: true, Again: hierarchyAgain},
			{Name: regression.InferCommand, New: hbmInferCommand, Unrepeatable: "their family was trained by another run"},
			{Name: "calibrate hbm", New: calibrateHbmCommand},
		},
		Open: application.Opening(regression.OpenRun, func(a *shell.App, run *regression.StoredRun) *application.Run {
			asked := func(ctx context.Context) error {
				return introduce(newHierarchical(ctx, application.Shown(a, run.Dir, run.Record)))
			}
			return &application.Run{Result: run.Result, Asked: asked}
		}),
		Predictor: func(dir string) (application.Predictor, error) { return regression.OpenRun(dir) },
		Compare: application.Comparing(regression.OpenRun, func(_ context.Context, x, y *regression.StoredRun) (*application.Comparison, error) {
			c, err := regression.Compare(x, y)
			return &application.Comparison{Result: c, Print: func(w io.Writer) { report.PrintRegressions(w, c) }}, err
		}),
	}
}

// hierarchyAgain certifies a regression again.
func hierarchyAgain(ctx context.Context, r *application.Recertification) (*shell.Job, shell.Task, error) {
	run, err := application.Reopen[*regression.Record](r, "certify-draws", "chain-groups")
	if err != nil {
		return nil, shell.Task{}, err
	}
	if _, plates, err := run.Record.PlateFamily(); err != nil || plates {
		return nil, shell.Task{}, errors.Join(err, r.Unfit("with a family of flows: only --family marginal is certified again"))
	}
	run.Record.CertifyDraws = cmp.Or(r.Draws, run.Record.CertifyDraws)
	h, err := newHierarchical(ctx, run)
	if err != nil {
		return nil, shell.Task{}, err
	}
	return run.Job, h.training(1), nil
}

func mixtures() *application.Application {
	const about = "components of a mixture"
	return &application.Application{
		About: about,
		Commands: []application.Command{
			{Name: "mixture", New: mixtureCommand},
			{Name: "rjmcmc mixture", New: rjmcmcMixtureCommand},
			{Name: "calibrate mixture", New: calibrateMixtureCommand},
		},
		Open:    application.OpenResult[*mixture.Result],
		Compare: compareNumbered(about, openMixture),
	}
}

func changes() *application.Application {
	const about = "changes of a series"
	return &application.Application{
		About: about,
		Commands: []application.Command{
			{Name: "changepoints", New: changepointsCommand},
			{Name: "calibrate changepoints", New: calibrateChangepointsCommand},
		},
		Open:    application.OpenResult[*changepoint.Result],
		Compare: compareNumbered(about, openChanges),
	}
}

func orders() *application.Application {
	const about = "the order of a model"
	return &application.Application{
		About: about,
		Commands: []application.Command{
			{Name: "order", New: orderCommand},
			{Name: "calibrate order", New: calibrateOrderCommand},
		},
		Open:    application.OpenResult[*order.Result],
		Compare: compareNumbered(about, openOrder),
	}
}
