package hierarchies

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/transdim/vti/calibrate"
	"github.com/transdim/vti/cmd/internal/calibration"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
)

// Calibrate returns the command that calibrates vti hbm. The argument lab may add further studies.
func Calibrate(a *shell.App, lab calibration.Laboratory[calibrate.Hbm]) *cobra.Command {
	var study calibration.Flags
	var f hbmFlags
	groups := 8
	cmd := &cobra.Command{
		Use:   "hbm --out DIRECTORY",
		Short: "Measure vti hbm",
		Long: `Draws regressions y ~ x + (1 | g) from the priors of vti hbm, whose flags it takes, and runs it on
each, with any family. Priors that refer to the mean and sd of the response use 0 and 1 instead.`,
		Example: "  vti calibrate hbm --rows 60 --groups 8 --out studies/hbm\n  vti calibrate hbm --family pavi-f --out studies/hbm-pavi-f",
		Args:    cobra.NoArgs,
	}
	choose := lab(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if groups > study.Rows {
			return fmt.Errorf("--groups: got %d, want at most the %d rows", groups, study.Rows)
		}
		if err := cli.Refuse(cmd.Flags(), ": the regression is "+calibrate.HbmFormula, "formula", "levels", "se", "select", "na", "amortize", "predictors"); err != nil {
			return err
		}
		f.Output, f.record.Frame.Formula = study.Output, calibrate.HbmFormula
		record, err := f.Describe(cmd.Flags())
		if err != nil {
			return err
		}
		// the flow has few coordinates, which suits a spline
		if err := f.chooseFlow(cmd.Flags(), record, cosmic.Spline); err != nil {
			return err
		}
		return calibration.Run(a, cmd, &study, func(device *gpu.Device) (calibrate.Source, error) {
			return choose(args, calibrate.Hbm{Device: device, Record: *record, Rows: study.Rows, Groups: groups})
		})
	}
	study.Register(cmd)
	cmd.Flags().Var(cli.Count(&groups, 2), "groups", "groups of generated tables")
	f.registerModel(cmd)
	return cmd
}
