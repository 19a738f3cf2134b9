package selection

import (
	"encoding/csv"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/varsel"
	"github.com/transdim/vti/varsel/design"
	"github.com/transdim/vti/varsel/exact"
)

// dataFlags holds the flags for the columns of the table, the likelihood and the priors.
type dataFlags struct {
	record        varsel.Record // the settings that the flags ask for
	sigma, sigma1 float64       // −1: unknown
	groups        []string
	formula       string
	maxSize       int // −1: none
	inclusion     string
	cli.Output
}

func (f *dataFlags) register(cmd *cobra.Command) {
	flags, columns, model := cmd.Flags(), &f.record.Design, &f.record.Model
	flags.SortFlags = false
	cli.Group(cmd, "Table", func() {
		flags.StringVarP(&columns.Target, "target", "t", "", "column of the response (required without a formula)")
		flags.StringVarP(&f.formula, "formula", "f", "", "`formula`: response ~ terms to select from, instead of the columns of the table, such as y ~ poly(x, 2) + z*w")
		flags.StringSliceVar(&columns.Always, "always", nil, "columns, or terms of the formula, that are in every model, separated by commas")
		flags.StringSliceVar(&columns.Exclude, "exclude", nil, "columns that are not used")
		flags.StringSliceVar(&columns.Factors, "factor", nil, "numeric columns whose values are labels; text columns are always factors")
		flags.StringArrayVar(&f.groups, "group", nil, "columns that enter together, as `NAME=COLUMN,COLUMN`; may be repeated")
		flags.StringSliceVar(&columns.Interactions, "interactions", nil, "products of pairs of numeric predictors, as --interactions=`a:b,c:d`; without a value, of all pairs")
		flags.Lookup("interactions").NoOptDefVal = design.AllInteractions
		cli.Named(cmd, &model.Heredity, "heredity", "parents that an interaction needs in the model: strong (both), weak (one) or none", "strong", "weak", "none")
		flags.StringVar(&columns.Trials, "trials", "", "logistic: `column` with the number of trials; the response is then the number of successes. Every trial is a row: predictors have mean 0 and sd 1 over trials, and log evidences those of the counts, with log C(n, k)")
		flags.StringSliceVar(&columns.Levels, "levels", nil, "cumulative-logit, cumulative-probit: `labels` of the response from the lowest to the highest, separated by commas; numbers have an order of their own. categorical: labels or numbers, of which coefficients compare the others with the first")
		flags.StringVar(&columns.Censored, "censored", "", "exponential, weibull: `column` that is 1 where the time is censored (the response is a lower bound), else 0")
		flags.StringVar(&columns.Offset, "offset", "", "`column`, or log(column), added to the linear predictor with coefficient 1, such as log(exposure); default priors of continuous responses scale with sd(y - offset)")
		flags.BoolVar(&columns.NoIntercept, "no-intercept", false, "leave out the intercept, for tables that have a column of ones (--always x0)")
		flags.BoolVar(&columns.NoStandardize, "no-standardize", false, "do not standardize predictors and response; the prior of coefficients is then in the units of the table")
		cli.Named(cmd, &columns.NA, "na", "missing values: refuse, drop their rows, or mean: replace missing genotypes by the mean of the marker, and drop rows with others", "refuse", "drop", "mean")
		flags.Var(cli.Name(&f.record.Region), "region", "of a file of genotypes (.bed, .vcf): `chromosome:from-to`, the positions of the markers to read, both ends included, such as 6:31000000-32000000")
		flags.BoolVar(&columns.DropDegenerate, "drop-degenerate", false, "leave out constant and duplicated predictors instead of refusing them")
	})
	cli.Group(cmd, "Likelihood and priors", func() {
		flags.VarP(cli.Name(&model.Likelihood), "likelihood", "l", "gaussian, robust, student, logistic, poisson, negbinomial, zero-inflated-poisson, hurdle-poisson, gamma, lognormal, beta, exponential, weibull, cumulative-logit, cumulative-probit or categorical")
		flags.Var(cli.PositiveOr("unknown", &f.sigma), "sigma", "noise `scale` of gaussian and student, in units of the response, or unknown (default unknown)")
		flags.Var(cli.PositiveOr("unknown", &f.sigma1), "sigma1", "robust: noise `scale` of inliers, or unknown: then it is inferred, with sigma2/sigma1 fixed (default 1)")
		flags.Var(cli.Positive(&model.Sigma2), "sigma2", "robust: scale of the outliers (default 10)")
		flags.Var(cli.Positive(&model.Outlier), "outlier", "robust: `proportion` of outliers (default 0.1)")
		flags.Var(cli.Positive(&model.Degrees), "df", "student: degrees of freedom (default 4)")
		flags.Var(cli.Positive(&model.SlabScale), "prior-sd", "prior sd of a coefficient that is in the model, on standardised columns (default 1.5)")
		cli.Named(cmd, &model.Slab, "slab", "gaussian: `prior` of the coefficients in a model: normal, or N(0, g σ² (X'X)⁻¹) with g given by g:n, g:p^2, g:max(n,p^2), g:NUMBER, unit-information (g:n), zellner-siow, hyper-g or hyper-g/n", "normal\tnormal, with the sd of --prior-sd", "g:n\tZellner's g-prior with g = n", "g:max(n,p^2)\tthe benchmark prior, g = max(n, p²)",
			"unit-information\tas much information as one row", "zellner-siow\tCauchy, as Zellner and Siow", "hyper-g\tthe hyper-g prior", "hyper-g/n\tthe hyper-g/n prior")
		cli.Named(cmd, &model.Prior, "model-prior", "betabinomial:a,b (common inclusion probability), uniform (over models), bernoulli:π or expected:s (size)", "betabinomial:1,1\tany number of predictors can matter, each number equally probable",
			"uniform\tall combinations of predictors are equally probable", "bernoulli:0.2\teach predictor matters with probability #",
			"expected:3\tI expect about # predictors to matter")
		flags.Var(cli.CountOr("none", &f.maxSize), "max-size", "largest `number` of predictors in a model, or none (default none up to 64 predictors, then 20)")
		cli.Named(cmd, &model.Codes, "codes", "encoding of models: bits, lists (with a maximum size), or auto", "auto", "bits", "lists")
	})

	cli.CompleteColumns(cmd, "target", "always", "exclude", "factor", "trials", "censored", "offset")
	cli.RegisterModels(cmd, &f.record.AllModels, "which models results and models.csv list: best, or all that were evaluated")
	cli.Group(cmd, cli.OutputGroup, func() {
		flags.Var(cli.Positive(&f.record.Credible), "credible", "`probability` with which a credible set of correlated predictors holds one of the model (default 0.95)")
	})
	cli.CompleteLikelihoods(cmd, likelihood.Kinds())
}

// registerInclusion registers the flag for the file of prior inclusion probabilities of predictors.
func (f *dataFlags) registerInclusion(cmd *cobra.Command) {
	cli.Group(cmd, "Likelihood and priors", func() {
		cmd.Flags().StringVar(&f.inclusion, "inclusion-prior", "", "`file` of prior inclusion probabilities, in place of --model-prior: a table with columns predictor and probability, and a row for each predictor; a row named * is for all others")
	})
}

// Describe returns a record with the table, the likelihood and the priors that the flags ask for.
// Flags that contradict each other are an error.
func (f *dataFlags) Describe(flags *pflag.FlagSet) (*varsel.Record, error) {
	record := f.record
	design, model := &record.Design, &record.Model
	for _, text := range f.groups {
		group, err := parseGroup(text)
		if err != nil {
			return nil, err
		}
		design.Groups = append(design.Groups, group)
	}
	if f.formula != "" {
		var err error
		if *design, err = design.WithFormula(f.formula); err != nil {
			return nil, err
		}
	}
	for flag, kind := range map[string]likelihood.Kind{
		"sigma1": likelihood.RobustKind, "sigma2": likelihood.RobustKind, "outlier": likelihood.RobustKind, "df": likelihood.StudentKind,
	} {
		if flags.Changed(flag) && model.Likelihood != kind {
			return nil, fmt.Errorf("--%s is for --likelihood %s; this one is %s", flag, kind, model.Likelihood)
		}
	}
	switch kind := model.Likelihood; {
	case flags.Changed("sigma") && kind != likelihood.GaussianKind && kind != likelihood.StudentKind:
		return nil, fmt.Errorf("--sigma is for --likelihood gaussian and student; this one is %s", kind)
	case design.Trials != "" && !kind.Binary():
		return nil, fmt.Errorf("--trials is for --likelihood logistic; this one is %s", kind)
	case design.Levels != nil && !kind.HasCategories():
		return nil, fmt.Errorf("--levels is for --likelihood %s, %s and %s; this one is %s", likelihood.CumulativeLogitKind, likelihood.CumulativeProbitKind, likelihood.CategoricalKind, kind)
	case design.Censored != "" && !kind.Survival():
		return nil, fmt.Errorf("--censored is for --likelihood %s and %s; this one is %s", likelihood.ExponentialKind, likelihood.WeibullKind, kind)
	case flags.Changed("prior-sd") && model.Slab != (exact.Slab{}):
		return nil, fmt.Errorf("--prior-sd is for --slab normal; this one is %s", model.Slab)
	case flags.Changed("heredity") && len(design.Interactions) == 0 && f.formula == "":
		return nil, errors.New("--heredity is for --interactions; there are none")
	}
	record.Seed, design.Likelihood = f.Seed, model.Likelihood
	model.Sigma, model.Sigma1, model.UnknownSigma1 = max(f.sigma, 0), max(f.sigma1, 0), f.sigma1 < 0
	model.Prior.MaxSize = max(f.maxSize, 0)
	if f.inclusion != "" {
		if flags.Changed("model-prior") {
			return nil, errors.New("--inclusion-prior and --model-prior: want one of them")
		}
		record.InclusionPrior = &varsel.InclusionFile{File: f.inclusion}
		model.Prior.Kind = varsel.InclusionPrior
	}
	if err := varsel.CheckCredible(record.Credible); err != nil {
		return nil, fmt.Errorf("--credible: %w", err)
	}
	return &record, model.Validate()
}

// parseGroup parses NAME=COLUMN,COLUMN,…, a named group of predictors. A column whose name has a
// comma is quoted as in CSV.
func parseGroup(text string) (varsel.PredictorGroup, error) {
	name, list, found := strings.Cut(text, "=")
	columns, err := csv.NewReader(strings.NewReader(list)).Read()
	if !found || name == "" || err != nil {
		return varsel.PredictorGroup{}, fmt.Errorf("--group %q: expected NAME=COLUMN,COLUMN,…", text)
	}
	return varsel.PredictorGroup{Name: name, Columns: columns}, nil
}
