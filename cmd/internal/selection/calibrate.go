package selection

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/transdim/vti/calibrate"
	"github.com/transdim/vti/cmd/internal/calibration"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/table"
)

func calibrateVarselCommand(a *shell.App) *cobra.Command {
	var study calibration.Flags
	var f varselFlags
	ordinary := false
	cmd := &cobra.Command{
		Use:   "varsel [TABLE] --out DIRECTORY",
		Short: "Measure vti varsel",
		Long: `Draws models, coefficients, noise scales and responses from the priors of vti varsel, whose flags it
takes, for the predictors of a table or for simulated ones, and runs vti varsel on each. Priors that
refer to the mean and sd of the response use 0 and 1 instead.

With --ordinary it draws tables of 30 to 200 rows with one to eight predictors, correlations up to
0.95 and any likelihood. With --hard it draws difficult tables, under gaussian, robust, student,
logistic and poisson likelihoods unless --likelihood names one. Under those with a shape, precision
or dispersion, many have about as many coefficients as rows.`,
		Example: `  vti calibrate varsel --likelihood logistic --rows 60 --predictors 4 --out studies/logistic
  vti calibrate varsel testdata/diabetes.csv --target y --out studies/diabetes
  vti calibrate varsel --hard --replicates 500 --out studies/hard`,
		Args: cobra.MaximumNArgs(1),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f.Output = study.Output
		record, err := f.Describe(cmd.Flags())
		if err != nil {
			return err
		}
		if study.Hard || ordinary {
			if len(args) > 0 {
				return errors.New("--hard and --ordinary draw their own tables: leave the table out")
			}
			if err := calibration.Refuse(cmd.Flags(), "--hard and --ordinary choose it", "rows", "predictors"); err != nil {
				return err
			}
		}
		var only *likelihood.Kind
		if cmd.Flags().Changed("likelihood") {
			only = &record.Model.Likelihood
		}
		if ordinary && only != nil {
			return errors.New("--ordinary draws tables of every likelihood: leave --likelihood out")
		}
		if study.Hard {
			if only != nil && only.HasCategories() {
				return fmt.Errorf("--hard draws no responses of categories: got --likelihood %s; leave out --hard for tables from the priors", *only)
			}
			return calibration.Run(a, cmd, &study, func(device *gpu.Device) calibrate.Source {
				return calibrate.HardVarsel{Device: device, Record: *record, Only: only}
			})
		}
		if ordinary {
			if record.Design.Target == "" {
				record.Design.Target = "y"
			}
			return calibration.Run(a, cmd, &study, func(device *gpu.Device) calibrate.Source {
				return calibrate.OrdinaryVarsel{Device: device, Record: *record}
			})
		}
		source := calibrate.Varsel{Record: *record, Rows: study.Rows, Predictors: study.Columns}
		if source.Record.Design.Target == "" {
			source.Record.Design.Target = "y"
		}
		if len(args) > 0 {
			if source.Table, err = table.ReadFile(args[0]); err != nil {
				return err
			}
		}
		return calibration.Run(a, cmd, &study, func(device *gpu.Device) calibrate.Source {
			source.Device = device
			return source
		})
	}
	study.Register(cmd)
	f.register(cmd)
	f.registerTraining(cmd)
	cmd.Flags().BoolVar(&ordinary, "ordinary", false, "draw tables of many sizes, correlations and likelihoods")
	cmd.MarkFlagsMutuallyExclusive("hard", "ordinary")
	f.registerFrom(cmd)
	cmd.Flags().Var(cli.Count{Value: &f.record.Draws, Least: 1}, "certify-draws", "draws of certification, beyond a pilot run over every model (default 262144)")
	return cmd
}
