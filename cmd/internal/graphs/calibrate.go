package graphs

import (
	"github.com/spf13/cobra"
	"github.com/transdim/vti/calibrate"
	"github.com/transdim/vti/cmd/internal/calibration"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/gpu"
)

// Calibrate returns the command that calibrates vti dag. The argument lab may add further studies.
func Calibrate(a *shell.App, lab calibration.Laboratory[calibrate.Dag]) *cobra.Command {
	var study calibration.Flags
	var f dagFlags
	cmd := &cobra.Command{
		Use:   "dag --out DIRECTORY",
		Short: "Measure vti dag",
		Long: `Draws graphs, weights and tables from the priors of vti dag --scale none, whose flags it takes, and
runs vti dag on each: with bge mechanisms, with linear ones of known noise scale (--sem linear,
--sigma 1), or with mixed ones, where every second column is a category (--sem mixed).`,
		Example: "  vti calibrate dag --rows 60 --predictors 4 --out studies/dag",
		Args:    cobra.NoArgs,
	}
	choose := lab(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := cli.Refuse(cmd.Flags(), ": the table is drawn", "exclude", "intervened", "discrete", "continuous", "log", "scale", "na", "truth"); err != nil {
			return err
		}
		f.Output = study.Output
		record, err := f.Describe(cmd.Flags())
		if err != nil {
			return err
		}
		return calibration.Run(a, cmd, &study, func(device *gpu.Device) (calibrate.Source, error) {
			return choose(args, calibrate.Dag{Device: device, Record: *record, Rows: study.Rows, Nodes: study.Columns})
		})
	}
	study.Register(cmd)
	f.registerModel(cmd)
	return cmd
}
