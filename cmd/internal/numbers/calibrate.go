package numbers

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/calibrate"
	"github.com/transdim/vti/changepoint"
	"github.com/transdim/vti/cmd/internal/calibration"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/mixture"
	"github.com/transdim/vti/order"
)

// classicStudy registers the flags of the calibration study of a command that needs no device, and
// makes cmd run it.
func classicStudy(a *shell.App, cmd *cobra.Command, source func(rows int) (calibrate.Source, error)) *cobra.Command {
	study := &calibration.Flags{}
	cmd.Args = cobra.NoArgs
	study.Register(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := cli.Refuse(cmd.Flags(), ": the table has the columns that it needs", "predictors"); err != nil {
			return err
		}
		return calibration.Run(a, cmd, study, func(*gpu.Device) (calibrate.Source, error) { return source(study.Rows) })
	}
	return cmd
}

func calibrateMixtureCommand(a *shell.App) *cobra.Command {
	options, sample := mixture.Options{}, mixture.SampleConfig{}
	cmd := classicStudy(a, &cobra.Command{
		Use:   "mixture --out DIRECTORY",
		Short: "Measure vti mixture",
		Long: `Draws mixtures of one column and tables of values from the priors of vti mixture, where midrange and
range of the column are 0 and 1 (the mean count 5), and runs it on each.`,
		Example: "  vti calibrate mixture --replicates 50 --max-components 6 --out studies/mixture",
	}, func(rows int) (calibrate.Source, error) {
		if options.Family == mixture.Multivariate {
			return nil, errors.New("--family: mixtures of several columns cannot be drawn")
		}
		return calibrate.Mixture{Options: options, Sample: sample, Rows: rows}, nil
	})
	flags := cmd.Flags()
	flags.Var(cli.Name(&options.Family), "family", "normal, student, or poisson")
	flags.Var(cli.Count(&options.MaxComponents, 1), "max-components", "largest number of components; the prior is uniform (default 30)")
	flags.Var(cli.Count(&sample.Sweeps, 1), "sweeps", "largest number of sweeps of each of the eight samplers (default 400000)")
	flags.Var(cli.Positive(&sample.Error), "error", "standard error of probabilities at which sampling ends (default 0.002)")
	return cmd
}

func calibrateChangepointsCommand(a *shell.App) *cobra.Command {
	options := changepoint.Options{}
	cmd := classicStudy(a, &cobra.Command{
		Use:   "changepoints --out DIRECTORY",
		Short: "Measure vti changepoints",
		Long: `Draws changes and series from the priors of vti changepoints, where mean and sd of the column are 0
and 1 (the mean count 5), and runs it on each.`,
		Example: "  vti calibrate changepoints --replicates 50 --model variance --out studies/variance",
	}, func(rows int) (calibrate.Source, error) {
		if options.Kind == changepoint.Events {
			return nil, errors.New("--model: events are not drawn")
		}
		return calibrate.Changes{Options: options, Rows: rows}, nil
	})
	cmd.Flags().Var(cli.Name(&options.Kind), "model", "mean, variance, both, slope, or rate; auto draws changes of the mean")
	cmd.Flags().Var(cli.Count(&options.MaxChanges, 1), "max-changes", "largest number of changes (default 30)")
	return cmd
}

func calibrateOrderCommand(a *shell.App) *cobra.Command {
	options := order.Options{Kind: order.Polynomial}
	cmd := classicStudy(a, &cobra.Command{
		Use:   "order --out DIRECTORY",
		Short: "Measure vti order",
		Long: `Draws polynomials or splines and values about them from the priors of vti order, and runs it on
each. Autoregressions cannot be drawn: Zellner's prior refers to the series itself.`,
		Example: "  vti calibrate order --replicates 50 --model spline --out studies/spline",
	}, func(rows int) (calibrate.Source, error) {
		if options.Kind == order.Autoregression {
			return nil, errors.New("--model: autoregressions are not drawn, as Zellner's prior refers to the series itself")
		}
		return calibrate.Orders{Options: options, Rows: rows}, nil
	})
	cmd.Flags().Var(cli.Name(&options.Kind), "model", "polynomial or spline")
	cmd.Flags().Var(cli.Count(&options.MaxOrder, 1), "max-order", "largest degree, or number of knots (default 8; spline 6)")
	cmd.Flags().Var(cli.Count(&options.Candidates, 1), "candidates", "spline: places at which knots may be (default 40)")
	return cmd
}
