package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/transdim/vti"
	"github.com/transdim/vti/mixture"
	runs "github.com/transdim/vti/run"
)

// mixtureFlags are all flags of vti mixture.
type mixtureFlags struct {
	options                                                      mixture.Options
	concentration, meanSD, precisionShape, scaleShape, scaleRate positive
	sweeps                                                       int
	standardError                                                positive
	output                                                       outputFlags
}

func (f *mixtureFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flagGroup(cmd, "Data and model", func() {
		flags.StringVar(&f.options.Column, "column", "", "`column` of values")
		flags.Var(count{&f.options.MaxComponents, 1}, "max-components", "most components; their number is uniform (default 30)")
	})
	flagGroup(cmd, "Priors (those of Richardson and Green 1997; R is the range of the column)", func() {
		flags.Var(&f.concentration, "concentration", "of the Dirichlet prior of weights (default 1)")
		flags.Var(&f.meanSD, "mean-sd", "prior sd of a mean, in units of R (default 1)")
		flags.Var(&f.precisionShape, "precision-shape", "shape α of the Gamma(α, β) prior of precisions 1/σ² (default 2)")
		flags.Var(&f.scaleShape, "scale-shape", "shape of the Gamma prior of β (default 0.2)")
		flags.Var(&f.scaleRate, "scale-rate", "rate of the Gamma prior of β, in units of 1/R² (default 10)")
	})
	flagGroup(cmd, "Sampling", func() {
		flags.Var(count{&f.sweeps, 1}, "sweeps", "most sweeps of each of the eight samplers (default 400000)")
		flags.Var(&f.standardError, "error", "standard error of a probability that ends sampling (default 0.002)")
	})
	f.output.register(cmd, false)
	flagGroup(cmd, outputGroup, func() {
		flags.Uint64Var(&f.output.seed, "seed", 0, "root of all randomness: the same seed gives the same numbers")
	})
	completeColumns(cmd, "column")
}

// record describes a run.
func (f *mixtureFlags) record(path string) *mixture.Record {
	f.options.Concentration, f.options.MeanSD, f.options.PrecisionShape = float64(f.concentration), float64(f.meanSD), float64(f.precisionShape)
	f.options.ScaleShape, f.options.ScaleRate = float64(f.scaleShape), float64(f.scaleRate)
	return &mixture.Record{
		Header: runs.Header{Command: "mixture", Version: vti.Version, Data: path}, Options: f.options,
		Sweeps: f.sweeps, Error: float64(f.standardError), Seed: f.output.seed,
	}
}

func (a *app) mixtureCommand() *cobra.Command {
	f := &mixtureFlags{}
	cmd := &cobra.Command{
		Use:   "mixture TABLE --column COLUMN",
		Short: "Find how many components a mixture of normals has",
		Long: `Computes the posterior of the number of components of a normal mixture, of their weights, means and
standard deviations, of the density, and to which component every row belongs.

Two methods that work in different spaces sample it: reversible-jump chains over mixtures, whose
components split, merge, are born and die (Richardson and Green 1997), and samplers of clusters of
rows that sum over the number of components (Miller and Harrison 2018). Sampling ends when both know
every probability to within --error. Only where they agree is the answer trusted.

Components are in the order of their means, so that labels cannot switch: component 1 is the one with
the smallest mean. Where two means are nearly equal the order says little.`,
		Example: `  vti mixture galaxies.csv --column velocity
  vti mixture enzyme.csv --column activity --max-components 10 --error 0.001`,
		Args:              tableArgument,
		ValidArgsFunction: completeTable,
		RunE: func(cmd *cobra.Command, args []string) error {
			record := f.record(args[0])
			record.Flags = givenFlags(cmd.Flags())
			problem, err := record.Problem()
			if err != nil {
				return err
			}
			record.Options = problem.Options // with its defaults: what they are may change
			j := &job{output: f.output, stored: record, header: &record.Header}
			return a.execute(cmd.Context(), j, a.mixtureTask(problem, record, f.output))
		},
	}
	f.register(cmd)
	return cmd
}

// mixtureTask is the task of a mixture.
func (a *app) mixtureTask(problem *mixture.Problem, record *mixture.Record, output outputFlags) task {
	return task{
		name: "mixture", files: mixture.Files(),
		intro: func() {
			if output.json {
				return
			}
			fmt.Fprintf(a.text, "%s: %d values of %s\n", problem.Path, problem.Rows(), problem.Options.Column)
			for _, line := range slices.Concat(problem.Notes, problem.Priors()) {
				fmt.Fprintln(a.text, "  "+line)
			}
			fmt.Fprintln(a.text)
		},
		compute: func(ctx context.Context, at *session) (*conclusion, error) {
			config := mixture.RunConfig{Dir: at.dir, Sample: mixture.SampleConfig{
				Seed: record.Seed, Sweeps: record.Sweeps, Error: record.Error,
				Progress: func(sweeps int, se float64) {
					at.status(fmt.Sprintf("%d sweeps, standard error %.4f", sweeps, se))
				},
			}}
			result, err := mixture.Run(ctx, problem, config)
			if err != nil {
				return nil, err
			}
			return &conclusion{result, result.Seconds, func(w io.Writer) { printMixture(w, result) }}, nil
		},
	}
}

// Advice that goes with a verdict.
var mixtureVerdictText = map[vti.Verdict]string{
	vti.Trusted:  "two methods agree; the probabilities below hold to within their standard errors.",
	vti.Doubtful: "the answer may be right, but the two methods do not show it. Try more --sweeps.",
	vti.Failed:   "do not use these numbers. Try more --sweeps, or fewer --max-components.",
}

// printMixture prints an answer for a reader.
func printMixture(w io.Writer, r *mixture.Result) {
	c := r.Certificate
	printVerdict(w, c.Verdict, mixtureVerdictText[c.Verdict], c.Reasons)
	fmt.Fprintf(w, "  reversible jump: R-hat %.3f, %.0f effective draws; partitions: R-hat %.3f, %.0f effective draws; %d sweeps of each of %d samplers\n",
		float64(c.Jumps.RHat), float64(c.Jumps.ESS), float64(c.Partitions.RHat), float64(c.Partitions.ESS), c.Jumps.Sweeps, c.Jumps.Samplers+c.Partitions.Samplers)
	fmt.Fprintf(w, "  they differ by at most %.1f standard errors; the largest standard error is %.4f\n\n", float64(c.Difference), float64(c.LargestSE))
	printModelCheck(w, r.ModelCheck)

	fmt.Fprintf(w, "Number of components: %.2f expected; occupied are those that have rows\n", float64(r.Expected))
	counts := &grid{}
	counts.add("components", "probability", "by jumps", "by partitions", "occupied")
	for _, k := range r.Counts {
		if k.Probability >= 0.0005 || k.Occupied >= 0.0005 || k.Components == r.Given.Components {
			counts.add(fmt.Sprint(k.Components), probability(k.Probability, k.SE), probability(k.Jumps, 0),
				probability(k.Partitions, 0), probability(k.Occupied, 0))
		}
	}
	counts.print(w)
	fmt.Fprintf(w, "\nGiven %d: medians in the order of the means; %.2f components without rows expected\n", r.Given.Components, float64(r.Given.Empty))
	members := make([]int, r.Given.Components)
	for _, row := range r.Rows {
		members[row.Component-1]++
	}
	components := &grid{}
	components.add("component", "weight", "<95% interval", "|mean", "<95% interval", "|sd", "<95% interval", "|rows")
	for j, one := range r.Given.List {
		cells := []string{fmt.Sprint(j + 1)}
		for _, s := range []mixture.Summary{one.Weight, one.Mean, one.SD} {
			cells = append(cells, short(s.Median), interval(s.Q025, s.Q975))
		}
		components.add(append(cells, fmt.Sprint(members[j]))...)
	}
	components.print(w)
	fmt.Fprintf(w, "\nComputation: %s.\n", timeText(r.Seconds.Total))
	printMeanings(w, wordRHat, wordDraws)
}
