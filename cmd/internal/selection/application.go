package selection

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"
	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/calibration"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/report"
	"github.com/transdim/vti/varsel"
)

// Application returns the application of variable selection.
func Application() *application.Application {
	return &application.Application{
		About: "variable selection",
		Page:  report.SelectionPage,
		Commands: []application.Command{
			{Name: "varsel", New: varselCommand, Studied: true, Again: application.Again(selectionAgain, "certify-draws", "chain-groups"), Asks: "Which predictors matter?",
				First: []string{"target", "exclude", "likelihood", "model-prior", "prior-sd"}},
			{Name: "exact", New: exactCommand, Studied: true},
			{Name: "rjmcmc varsel", New: rjmcmcVarselCommand, Studied: true},
			{Name: "amortize varsel", New: amortizeVarselCommand},
			{Name: "calibrate varsel", New: func(a *shell.App) *cobra.Command { return Calibrate(a, calibration.Ordinary) }},
			{Name: "simulate varsel", New: simulateVarselCommand},
		},
		Open: application.Opening[varsel.Result](newSelection),
		Compare: application.Comparing(varsel.OpenRun, varsel.Compare, func(x *varsel.StoredRun, c *varsel.Comparison) *report.Compared {
			return report.Selections(c, x.Result.Data.Predictors)
		}),
	}
}

func selectionAgain(ctx context.Context, r *application.Recertification, run *application.Asked[*varsel.Record]) (t shell.Task, err error) {
	s, err := newSelection(ctx, run)
	if err != nil {
		return t, err
	}
	run.Record.Draws = cmp.Or(r.Draws, run.Record.Draws)
	return s.training(1)
}
