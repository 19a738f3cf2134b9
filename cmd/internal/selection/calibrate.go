package selection

import (
	"cmp"

	"github.com/spf13/cobra"
	"github.com/transdim/vti/calibrate"
	"github.com/transdim/vti/cmd/internal/calibration"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/table"
)

// Calibrate returns the command that calibrates vti varsel. The argument lab may add further
// studies.
func Calibrate(a *shell.App, lab calibration.Laboratory[calibrate.Varsel]) *cobra.Command {
	var study calibration.Flags
	var f varselFlags
	cmd := &cobra.Command{
		Use:   "varsel [TABLE] --out DIRECTORY",
		Short: "Measure vti varsel",
		Long: `Draws models, coefficients, noise scales and responses from the priors of vti varsel, whose flags it
takes, for the predictors of a table or for simulated ones, and runs vti varsel on each. Priors that
refer to the mean and sd of the response use 0 and 1 instead.`,
		Example: `  vti calibrate varsel --likelihood logistic --rows 60 --predictors 4 --out studies/logistic
  vti calibrate varsel testdata/diabetes.csv --target y --out studies/diabetes`,
		Args: cobra.MaximumNArgs(1),
	}
	choose := lab(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f.Output = study.Output
		record, err := f.Describe(cmd.Flags())
		if err != nil {
			return err
		}
		record.Design.Target = cmp.Or(record.Design.Target, "y")
		source := calibrate.Varsel{Record: *record, Rows: study.Rows, Predictors: study.Columns}
		if len(args) > 0 {
			if source.Table, err = table.ReadRegion(args[0], record.Region); err != nil {
				return err
			}
		}
		return calibration.Run(a, cmd, &study, func(device *gpu.Device) (calibrate.Source, error) {
			source.Device = device
			return choose(args, source)
		})
	}
	study.Register(cmd)
	f.register(cmd)
	f.registerTraining(cmd)
	f.registerFrom(cmd)
	cmd.Flags().Var(cli.Count(&f.record.Draws, 1), "certify-draws", "draws of certification, beyond a pilot run over every model (default 262144)")
	return cmd
}
