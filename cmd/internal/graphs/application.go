package graphs

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"
	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/calibration"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/dag"
	"github.com/transdim/vti/report"
)

// Application returns the application that searches for causal graphs.
func Application() *application.Application {
	return &application.Application{
		About: "graphs",
		Page:  report.GraphPage,
		Commands: []application.Command{
			{Name: "dag", New: dagCommand, Studied: true, Again: application.Again(discoveryAgain, "chains", "rounds"), Asks: "Which columns depend on which?",
				First: []string{"exclude", "discrete", "continuous", "tier", "require", "forbid", "graph-prior"}},
			{Name: "dag query", New: dagQueryCommand},
			{Name: "exact dag", New: exactDagCommand, Studied: true},
			{Name: "rjmcmc dag", New: rjmcmcDagCommand, Studied: true},
			{Name: "calibrate dag", New: func(a *shell.App) *cobra.Command { return Calibrate(a, calibration.Ordinary) }},
			{Name: "simulate dag", New: simulateDagCommand},
		},
		Open:    application.Opening[dag.Result](newDiscovery),
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
		Compare: application.Comparing(dag.OpenRun, func(_ context.Context, x, y *dag.StoredRun) (*dag.Comparison, error) { return dag.Compare(x, y) },
			func(_ *dag.StoredRun, c *dag.Comparison) *report.Compared { return report.Graphs(c) }),
	}
}

func discoveryAgain(ctx context.Context, r *application.Recertification, run *application.Asked[*dag.Record]) (t shell.Task, err error) {
	record := run.Record
	switch {
	case record.Particles():
		if err := r.Misplaced("chains", "rounds"); err != nil {
			return t, err
		}
	case record.Structure != dag.Chains:
		return t, r.Unfit("neither by chains over graphs nor by particles: give its command again")
	}
	record.Chains, record.Rounds = cmp.Or(r.Chains, record.Chains), cmp.Or(r.Rounds, record.Rounds)
	d, err := newDiscovery(ctx, run)
	if err != nil {
		return t, err
	}
	return d.search(1)
}
