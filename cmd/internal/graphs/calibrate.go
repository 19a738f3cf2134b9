package graphs

import (
	"github.com/spf13/cobra"
	"github.com/transdim/vti/calibrate"
	"github.com/transdim/vti/cmd/internal/calibration"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/gpu"
)

func calibrateDagCommand(a *shell.App) *cobra.Command {
	var study calibration.Flags
	var f dagFlags
	cmd := &cobra.Command{
		Use:   "dag --out DIRECTORY",
		Short: "Measure vti dag",
		Long: `Draws graphs, weights and tables from the priors of vti dag --scale none, whose flags it takes, and
runs vti dag on each: with bge mechanisms, with linear ones of known noise scale (--sem linear,
--sigma 1), or with mixed ones, where every second column is a category (--sem mixed; the exact answer
is for at most 3 columns and categories of two levels). With --hard it draws nasty tables with bge and
linear mechanisms, unknown noise scales and categories instead, mixed ones with --sem mixed, or with
--sem mlp, for which there is no exact answer.`,
		Example: "  vti calibrate dag --rows 60 --predictors 4 --out studies/dag\n  vti calibrate dag --hard --replicates 500 --out studies/hard-dag",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := calibration.Refuse(cmd.Flags(), "the table is drawn", "exclude", "intervened", "discrete", "continuous", "log", "scale", "na", "truth"); err != nil {
				return err
			}
			f.Output = study.Output
			record, err := f.Describe(cmd.Flags())
			if err != nil {
				return err
			}
			return calibration.Run(a, cmd, &study, func(device *gpu.Device) calibrate.Source {
				if study.Hard {
					return calibrate.HardDag{Device: device, Record: *record}
				}
				return calibrate.Dag{Device: device, Record: *record, Rows: study.Rows, Nodes: study.Columns}
			})
		},
	}
	study.Register(cmd)
	f.registerModel(cmd)
	return cmd
}
