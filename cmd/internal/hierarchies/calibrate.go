package hierarchies

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/transdim/vti/calibrate"
	"github.com/transdim/vti/cmd/internal/calibration"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/likelihood"
)

func calibrateHbmCommand(a *shell.App) *cobra.Command {
	var study calibration.Flags
	var f hbmFlags
	groups := 8
	cmd := &cobra.Command{
		Use:   "hbm --out DIRECTORY",
		Short: "Measure vti hbm",
		Long: `Draws regressions y ~ x + (1 | g) from the priors of vti hbm, whose flags it takes, and runs it on
each, with any family. Priors that refer to the mean and sd of the response use 0 and 1 instead.
With --hard it draws difficult tables, with gaussian, logistic and poisson responses unless
--likelihood names one.`,
		Example: "  vti calibrate hbm --rows 60 --groups 8 --out studies/hbm\n  vti calibrate hbm --family pavi-f --out studies/hbm-pavi-f\n  vti calibrate hbm --hard --replicates 500 --out studies/hard-hbm",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if groups > study.Rows {
				return fmt.Errorf("--groups: got %d, want at most the %d rows", groups, study.Rows)
			}
			if err := calibration.Refuse(cmd.Flags(), "the regression is "+calibrate.HbmFormula, "formula", "levels", "se", "select", "na", "amortize", "predictors"); err != nil {
				return err
			}
			f.Output, f.record.Frame.Formula = study.Output, calibrate.HbmFormula
			record, err := f.Describe(cmd.Flags())
			if err != nil {
				return err
			}
			if study.Hard && record.Frame.Response == likelihood.StudentKind {
				return errors.New("--hard compares with exact answers, and there are none for --likelihood student; leave out --hard for ranks of what tables are drawn from")
			}
			// of few coordinates
			if err := f.chooseFlow(cmd.Flags(), record, cosmic.Spline); err != nil {
				return err
			}
			return calibration.Run(a, cmd, &study, func(device *gpu.Device) calibrate.Source {
				source := calibrate.Hbm{Device: device, Record: *record, Rows: study.Rows, Groups: groups, Hard: study.Hard}
				if study.Hard && !cmd.Flags().Changed("likelihood") { // many of these are integrated without training
					g := likelihood.GaussianKind
					source.Responses = []likelihood.Kind{g, g, g, likelihood.LogisticKind, likelihood.PoissonKind}
				}
				return source
			})
		},
	}
	study.Register(cmd)
	cmd.Flags().Var(cli.Count{Value: &groups, Least: 2}, "groups", "groups of generated tables")
	f.registerModel(cmd)
	return cmd
}
