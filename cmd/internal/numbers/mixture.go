package numbers

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/mixture"
	runs "github.com/transdim/vti/run"
)

type mixtureFlags struct{ asking[mixture.Record] }

// Register adds the flags to the command.
func (f *mixtureFlags) Register(cmd *cobra.Command) {
	flags, record, options := cmd.Flags(), &f.record, &f.record.Options
	cli.Group(cmd, "Data and model", func() {
		flags.StringSliceVar(&options.Columns, "column", nil, "`column` of values; several for a multivariate mixture (a,b)")
		flags.Var(cli.Count(&options.MaxComponents, 1), "max-components", "largest number of components; the prior is uniform (default 30)")
		cli.Named(cmd, &options.Family, "family", "normal, student, poisson (counts), or multivariate, which normal means for several columns", mixture.FamilyNames()...)
	})
	cli.Group(cmd, "Priors (those of Richardson and Green 1997; R is the range of the column)", func() {
		flags.Var(cli.Positive(&options.Concentration), "concentration", "concentration of the Dirichlet prior of weights (default 1)")
		flags.Var(cli.Positive(&options.MeanSD), "mean-sd", "prior sd of a mean, in units of R (default 1)")
		flags.Var(cli.Positive(&options.PrecisionShape), "precision-shape", "shape α of the Gamma(α, β) prior of precisions 1/σ² (default 2)")
		flags.Var(cli.Positive(&options.ScaleShape), "scale-shape", "shape of the Gamma prior of β (default 0.2)")
		flags.Var(cli.Positive(&options.ScaleRate), "scale-rate", "rate of the Gamma prior of β, in units of 1/R² (default 10)")
		flags.Var(cli.Positive(&options.DF), "df", "student: degrees of freedom (default 4)")
		flags.Var(cli.Positive(&options.RateShape), "rate-shape", "poisson: shape of the Gamma prior of rates (default 1)")
		flags.Var(cli.Positive(&options.RateExposure), "rate-exposure", "poisson: rate of that prior (default: its mean is the mean count)")
	})
	cli.Group(cmd, "Sampling", func() {
		flags.Var(cli.Count(&record.Sweeps, 1), "sweeps", "largest number of sweeps of each of the eight samplers (default 400000)")
		flags.Var(cli.Positive(&record.Error), "error", "standard error of probabilities at which sampling ends (default 0.002)")
	})
	f.RegisterSampler(cmd, &record.Seed, "the same seed gives the same numbers")
	cli.CompleteColumns(cmd, "column")
}

func mixtureCommand(a *shell.App) *cobra.Command {
	return application.Answering(a, &cobra.Command{
		Use:   "mixture TABLE --column COLUMN",
		Short: "Find how many components a mixture has",
		Long: `Computes the posterior of the number of components of a mixture, of their weights and parameters, of
the density, and the component of every row. Components are normal, Student t, Poisson for counts,
or normal distributions of several columns.

Two methods that work in different spaces sample this posterior: reversible-jump chains over
mixtures, whose components split, merge, are born and die (Richardson and Green 1997), and samplers
of clusters of rows that sum over the number of components (Miller and Harrison 2018). Sampling ends
when the standard errors of all probabilities of both are below --error. The answer is trusted only
if the two agree.

Components are ordered by their means, so that labels cannot switch: component 1 has the smallest
mean. If two means are nearly equal, the order says little. With several columns there is no order,
and draws are relabelled so that they agree best on the rows (Stephens 2000).`,
		Example: `  vti mixture galaxies.csv --column velocity
  vti mixture cases.csv --column count --family poisson
  vti mixture iris.csv --column petal_length,petal_width
  vti mixture enzyme.csv --column activity --max-components 10 --error 0.001`,
	}, func() application.Question[*mixture.Record] { return &mixtureFlags{} })
}

// Begin reads the table of a mixture, checks the input, and returns the task.
func (f *mixtureFlags) Begin(_ context.Context, run *application.Asked[*mixture.Record]) (t shell.Task, err error) {
	record := run.Record
	problem, err := runs.Read(&record.Asked, mixture.NewProblem)
	if err != nil {
		return t, err
	}
	record.Options = problem.Options // store the defaults, which another version may change
	return shell.Task{
		Name: "mixture", Files: mixture.Files(), Intro: func() {
			title := fmt.Sprintf("%s: %d rows of %s", problem.Path, problem.Rows(), strings.Join(problem.Options.Columns, ", "))
			run.Introduce(title, problem.Notes, problem.Priors())
		},
		Compute: func(ctx context.Context, session *shell.Session) (shell.Judged, error) {
			config := mixture.RunConfig{Dir: session.Dir, Sample: mixture.SampleConfig{
				Seed: record.Seed, Sweeps: record.Sweeps, Error: record.Error,
				Progress: func(sweeps int, se float64) {
					session.Status(fmt.Sprintf("%d sweeps, standard error %.4f", sweeps, se))
				},
			}}
			return mixture.Run(ctx, problem, config)
		},
	}, nil
}
