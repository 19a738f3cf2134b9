package hierarchies

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"
	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/calibration"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/report"
)

// Application returns the application of hierarchical regressions.
func Application() *application.Application {
	return &application.Application{
		About: "hierarchical regressions",
		Page:  report.RegressionPage,
		Commands: []application.Command{
			{Name: "hbm", New: hbmCommand, Studied: true, Again: application.Again(hierarchyAgain, "certify-draws", "chain-groups"), Asks: "Does an effect vary by group?",
				First: []string{"formula", "select=true", "likelihood", "model-prior", "sd-prior"}},
			{Name: regression.InferCommand, New: hbmInferCommand, Unrepeatable: "their family was trained by another run"},
			{Name: "calibrate hbm", New: func(a *shell.App) *cobra.Command { return Calibrate(a, calibration.Ordinary) }},
		},
		Open: application.Opening[regression.Result](newHierarchical),
		Compare: application.Comparing(regression.OpenRun, func(_ context.Context, x, y *regression.StoredRun) (*regression.Comparison, error) {
			return regression.Compare(x, y)
		},
			func(_ *regression.StoredRun, c *regression.Comparison) *report.Compared { return report.Regressions(c) }),
	}
}

func hierarchyAgain(ctx context.Context, r *application.Recertification, run *application.Asked[*regression.Record]) (t shell.Task, err error) {
	run.Record.CertifyDraws = cmp.Or(r.Draws, run.Record.CertifyDraws)
	h, err := newHierarchical(ctx, run)
	if err != nil {
		return t, err
	}
	if h.plates {
		return t, r.Unfit("with a family of flows: only --family marginal is certified again")
	}
	return h.training(1), nil
}
