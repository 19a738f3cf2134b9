package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/transdim/vti/hbm/frame"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/hbm"
	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/space"
)

// hbmFlags are all flags of vti hbm.
type hbmFlags struct {
	frame                                     frame.Options
	model                                     regression.Options
	na                                        missingPolicy
	coefficients, intercept, sdScale, lkj, df cli.Positive
	family                                    familyName
	encoding, members                         int
	amortize                                  bool
	fit                                       fitFlags
	certifyDraws                              int
	slices                                    bool
	models                                    cli.ModelList
	priors                                    []string // of single terms
	cli.Output
}

// Register adds the flags to the command.
func (f *hbmFlags) Register(cmd *cobra.Command) {
	f.registerModel(cmd)
	f.Output.Register(cmd, true)
	cli.RegisterModels(cmd, &f.models, "which models of --select results and models.csv list: best, or all that were evaluated")
	f.RegisterResume(cmd)
	cli.Renamed(cmd, cli.FlowSizes, cli.PriorSD("coefficient-scale"))
}

// registerModel adds the flags that say what is fitted and how.
func (f *hbmFlags) registerModel(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	f.na = "refuse"
	cli.Group(cmd, "Model", func() {
		flags.StringVarP(&f.frame.Formula, "formula", "f", "", "response ~ terms + (terms | group), as in lme4 and brms")
		flags.VarP(cli.Parsed[likelihood.Kind]{Value: &f.frame.Response, Parse: frame.ParseResponseKind}, "likelihood", "l", "gaussian, student, logistic, poisson, negbinomial, zero-inflated-poisson, hurdle-poisson, gamma, lognormal, beta, exponential, weibull, cumulative-logit, cumulative-probit or categorical")
		flags.StringSliceVar(&f.frame.Levels, "levels", nil, "cumulative-logit, cumulative-probit: `labels` of the response from the lowest to the highest, separated by commas; numbers have an order of their own. categorical: all labels, of which effects are log odds against the first (default as sorted)")
		flags.StringVar(&f.frame.SE, "se", "", "gaussian: `column` of known standard deviations of the response, one for each row")
		flags.BoolVar(&f.model.Select, "select", false, "select terms: each is absent, pooled, or varies by group")
		flags.Var(cli.Parsed[missingPolicy]{Value: &f.na, Parse: parseMissingPolicy}, "na", "rows with missing values: refuse or drop")
		flags.BoolVar(&f.slices, "slices", false, "gaussian, marginal: read a Parquet file that does not fit in memory by row groups")
	})
	cli.Group(cmd, "Priors", func() {
		flags.Var(&f.coefficients, "prior-sd", "prior sd of the effect of one sd of a column, in units of sd(y) for gaussian and student, otherwise on the link scale (default 1.5; link scale 1)")
		flags.Var(&f.intercept, "intercept-scale", "prior sd of the intercept at the mean of the columns, in the same units (default 10)")
		flags.Var(cli.Name(&f.model.SDPrior), "sd-prior", "prior of standard deviations of varying effects: half-normal, half-cauchy or exponential")
		flags.Var(&f.sdScale, "sd-scale", "scale of that prior, in the same units (default 1)")
		flags.Var(&f.lkj, "lkj", "η of the LKJ prior of the correlations of varying effects (default 2)")
		flags.StringArrayVar(&f.priors, "prior", nil, "`prior` of one term, in the units of the table, such as b:age=normal(0,1), sd:Subject=exponential(2) (the rate) or sd:Days|Subject=half-normal(10); may be repeated")
		flags.Var(cli.Parsed[space.Prior]{Value: &f.model.Models, Parse: space.ParsePrior}, "model-prior", "with --select, over terms that are in and that vary: betabinomial:a,b (common probability), bernoulli:π, or uniform (over models)")
		flags.Var(&f.df, "df", "student: degrees of freedom (default 4)")
	})

	f.family = regression.MarginalFamily
	cli.Group(cmd, "Variational family", func() {
		flags.Var(cli.Parsed[familyName]{Value: &f.family, Parse: parseFamily}, "family",
			"marginal, which integrates out the effects of the largest grouping, or over all effects: "+strings.Join(hbm.FamilyNames(), ", "))
		flags.Var(cli.Count{Value: &f.encoding, Least: 1}, "encoding", "pavi-f, pavi-e, adavi: size of the encoding of a group (default twice the dimension of the variable, plus four)")
		flags.Var(cli.Count{Value: &f.members, Least: 1}, "members", "not marginal: number of groups, or of rows if groupings are crossed, in a training step (default all)")
		flags.BoolVar(&f.amortize, "amortize", false, "pavi-e, adavi: train on tables simulated from the priors, for vti hbm infer on other tables")
		f.fit.registerFlow(cmd, "flow of marginal, pavi-f, pavi-e, adavi: affine, spline or diag, or as in the paper: affine-paper, spline-paper, diag-paper (default spline; affine with more than 64 coordinates)", "default 3; not marginal 1", "default 2; 1", "default 32; 16")
	})
	f.fit.effort.Register(cmd)
	cli.Group(cmd, "Training", func() {
		flags.Var(cli.Count{Value: &f.fit.steps, Least: 1}, "steps", "training steps with --effort fixed (default 400; student 800; not marginal 2000, with --amortize 10000, with --select and a start near the posterior 600; most answers of marginal take no training)")
		flags.Var(cli.Count{Value: &f.fit.batch, Least: 2}, "batch", "draws per training step (default 256; not marginal 8 to 64), or simulated tables with --amortize (16)")
		cli.RegisterFloatType(cmd, &f.fit.dtype)
		dtype := flags.Lookup("dtype")
		dtype.DefValue, dtype.Usage = "", "float32, or float64: slower and more precise (default float32; not marginal float64, unless with --members or --amortize)"
		cli.RegisterLaunch(cmd, &f.fit.launch)
	})
	cli.RegisterCertifyDraws(cmd, &f.certifyDraws,
		"beyond a pilot run over every model (default 32768; not marginal 2000, and up to 32000 where these do not show enough)")
	cli.CompleteColumns(cmd, "se")
	cli.CompleteLikelihoods(cmd, frame.ResponseKinds())
	cli.CompleteWith(cmd, "model-prior", "betabinomial:1,1", "bernoulli:0.5", "uniform")
	cli.CompleteWith(cmd, "na", "refuse", "drop")
	cli.CompleteWith(cmd, "sd-prior", "half-normal", "half-cauchy", "exponential")
	cli.CompleteWith(cmd, "family", append([]string{regression.MarginalFamily}, hbm.FamilyNames()...)...)
}

// Describe turns the command line into the record of a new run; the flow that suits the problem is
// chosen later if none was.
func (f *hbmFlags) Describe(flags *pflag.FlagSet) (*regression.Record, error) {
	if f.frame.Formula == "" {
		return nil, errors.New(`no formula was given: expected for example --formula "y ~ x + (1 + x | group)"`)
	}
	if flags.Changed("df") && f.frame.Response != likelihood.StudentKind {
		return nil, fmt.Errorf("--df is for --likelihood student; this one is %s", f.frame.Response)
	}
	if f.frame.Levels != nil && !f.frame.Response.HasCategories() {
		return nil, fmt.Errorf("--levels is for --likelihood %s, %s and %s; this one is %s", likelihood.CumulativeLogitKind, likelihood.CumulativeProbitKind, likelihood.CategoricalKind, f.frame.Response)
	}
	if flags.Changed("model-prior") && !f.model.Select {
		return nil, errors.New("--model-prior is for --select: without it there is one model")
	}
	if err := f.checkFamily(flags); err != nil {
		return nil, err
	}
	if !flags.Changed("dtype") {
		f.fit.dtype = dtypes.InvalidDType // what it is depends on the family
	}
	record := &regression.Record{Frame: f.frame, Model: f.model, Seed: f.Seed,
		Family: f.family.String(), Encoding: f.encoding, Members: f.members,
		Slices: f.slices, DType: f.fit.dtype, Steps: f.fit.steps, Batch: f.fit.batch, CertifyDraws: f.certifyDraws}
	if f.amortize {
		record.Amortize, record.Batch = cmp.Or(record.Batch, amortizedTables), 0
		record.Steps = cmp.Or(record.Steps, amortizedSteps)
	}
	record.Frame.DropMissing, record.AllModels = f.na == "drop", bool(f.models)
	for _, text := range f.priors {
		prior, err := regression.ParseTermPrior(text)
		if err != nil {
			return nil, fmt.Errorf("--prior: %w", err)
		}
		record.Model.Terms = append(record.Model.Terms, prior)
	}
	record.Model.CoefficientScale, record.Model.InterceptScale, record.Model.SDScale = float64(f.coefficients), float64(f.intercept), float64(f.sdScale)
	record.Model.Correlation, record.Model.Degrees = float64(f.lkj), float64(f.df)
	asked := f.fit
	if asked.flow == "" {
		asked.flow = flowName(strings.ToLower(cosmic.Spline.String())) // the one that has all sizes
	}
	var err error
	if record.Flow, err = asked.config(flags); err != nil {
		return nil, err
	}
	if f.family != regression.MarginalFamily {
		record.MaxSeconds = f.fit.effort.MaxTime.Seconds()
		if record.MaxSeconds < 0 {
			return nil, fmt.Errorf("--max-time: got %v, want a time that is not negative", f.fit.effort.MaxTime)
		}
	} else {
		record.Budget, err = f.fit.effort.Budget(flags)
	}
	return record, err
}

// Training over simulated tables: how many in a step, and steps.
const (
	amortizedTables = 16
	amortizedSteps  = 10000
)

// checkFamily refuses flags that the family does not have.
func (f *hbmFlags) checkFamily(flags *pflag.FlagSet) error {
	marginal := f.family == regression.MarginalFamily
	flows := slices.Contains([]familyName{regression.MarginalFamily, "pavi-f", "pavi-e", "adavi"}, f.family)
	if f.amortize && f.frame.SE != "" {
		return errors.New("--amortize does not go with --se: known standard errors belong to one table")
	}
	if !marginal && !regression.HasPlates(f.frame.Response) {
		return fmt.Errorf("--family %s has no --likelihood %s: want --family %s", f.family, f.frame.Response, regression.MarginalFamily)
	}
	for flag, has := range map[string]bool{
		"encoding": flows && !marginal, "members": !marginal && !f.amortize, "slices": marginal, "amortize": f.family == "pavi-e" || f.family == "adavi", "steps-per-launch": marginal,
		"effort": marginal, "precision": marginal, "max-time": !f.amortize,
		"flow": flows, "flow-layers": flows, "flow-blocks": flows, "flow-hidden": flows, "flow-bins": flows,
	} {
		if flags.Changed(flag) && !has {
			return fmt.Errorf("--%s does not go with --family %s", flag, f.family)
		}
	}
	return nil
}

// chooseFlow fills in the flow: unless it was chosen, the one that suits the problem.
func (f *hbmFlags) chooseFlow(flags *pflag.FlagSet, record *regression.Record, suits cosmic.Kind) (err error) {
	chosen := f.fit.flow != ""
	if !chosen {
		f.fit.flow = flowName(strings.ToLower(suits.String()))
	}
	if record.Flow, err = f.fit.config(flags); err != nil || f.family == regression.MarginalFamily {
		return err
	}
	if sizes := record.Flow; !chosen { // the package knows a small one
		record.Flow = cosmic.Config{}
		if sizes.Layers+sizes.Blocks+sizes.Hidden+sizes.Bins > 0 {
			record.Flow = cosmic.Config{Kind: cosmic.Spline, Layers: max(sizes.Layers, 1), Blocks: max(sizes.Blocks, 1), Hidden: cmp.Or(sizes.Hidden, 16), Bins: sizes.Bins}
		}
	} else if sizes.Layers == 0 {
		record.Flow.Layers = 1
	}
	return nil
}

// familyName is a variational family as the command line names it.
type familyName string

func (n familyName) String() string { return string(n) }

func parseFamily(s string) (familyName, error) {
	if _, err := hbm.ParseFamily(s); err != nil && s != regression.MarginalFamily {
		return "", fmt.Errorf("unknown family %q; expected one of %q", s, append([]string{regression.MarginalFamily}, hbm.FamilyNames()...))
	}
	return familyName(s), nil
}
