package hierarchies

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
)

type hbmFlags struct {
	record regression.Record // the settings that the flags ask for
	na     string
	// amortize reports whether the training uses tables that are simulated from the priors, so that
	// the trained network can answer for other tables.
	amortize bool
	flow     cli.Flow
	effort   cli.Effort
	launch   int
	priors   []string // the priors of single terms
	cli.Output
}

// Register adds the flags to the command.
func (f *hbmFlags) Register(cmd *cobra.Command) {
	f.registerModel(cmd)
	f.Output.Register(cmd, true)
	cli.RegisterModels(cmd, &f.record.AllModels, "which models of --select results and models.csv list: best, or all that were evaluated")
	f.RegisterResume(cmd)
}

func (f *hbmFlags) registerModel(cmd *cobra.Command) {
	flags, record := cmd.Flags(), &f.record
	flags.SortFlags = false
	columns, model := &record.Frame, &record.Model
	f.na = "refuse"
	cli.Group(cmd, "Model", func() {
		flags.StringVarP(&columns.Formula, "formula", "f", "", "`formula`: response ~ terms + (terms | group), as in lme4 and brms")
		flags.VarP(cli.Name(response{&columns.Response}), "likelihood", "l", "gaussian, student, logistic, poisson, negbinomial, zero-inflated-poisson, hurdle-poisson, gamma, lognormal, beta, exponential, weibull, cumulative-logit, cumulative-probit or categorical")
		flags.StringSliceVar(&columns.Levels, "levels", nil, "cumulative-logit, cumulative-probit: `labels` of the response from the lowest to the highest, separated by commas; numbers have an order of their own. categorical: all labels, of which effects are log odds against the first (default as sorted)")
		flags.StringVar(&columns.SE, "se", "", "gaussian: `column` of known standard deviations of the response, one for each row")
		flags.BoolVar(&model.Select, "select", false, "select terms: each is absent, pooled, or varies by group")
		cli.OneWord(cmd, &f.na, "na", "rows with missing values: refuse or drop", "refuse", "drop")
		flags.BoolVar(&record.Slices, "slices", false, "gaussian, marginal: read a Parquet file that does not fit in memory by row groups")
	})
	cli.Group(cmd, "Priors", func() {
		flags.Var(cli.Positive(&model.CoefficientScale), "prior-sd", "prior sd of the effect of one sd of a column, in units of sd(y) for gaussian and student, otherwise on the link scale (default 1.5)")
		flags.Var(cli.Positive(&model.InterceptScale), "intercept-scale", "prior sd of the intercept at the mean of the columns, in the same units (default 10)")
		cli.Named(cmd, &model.SDPrior, "sd-prior", "prior of standard deviations of varying effects: half-normal, half-cauchy or exponential", "half-normal\tgroups differ little or moderately", "half-cauchy\tgroups may differ very much", "exponential\tgroups differ little, seldom much")
		flags.Var(cli.Positive(&model.SDScale), "sd-scale", "scale of that prior, in the same units (default 1)")
		flags.Var(cli.Positive(&model.Correlation), "lkj", "η of the LKJ prior of the correlations of varying effects (default 2)")
		flags.StringArrayVar(&f.priors, "prior", nil, "`prior` of one term, in the units of the table, such as b:age=normal(0,1), sd:Subject=exponential(2) (the rate) or sd:Days|Subject=half-normal(10); may be repeated")
		cli.Named(cmd, &model.Models, "model-prior", "with --select, over terms that are in and that vary: betabinomial:a,b (common probability), bernoulli:π, or uniform (over models)", "betabinomial:1,1\tany number of terms can matter, each number equally probable",
			"bernoulli:0.5\teach question has the answer yes with probability #", "uniform\tall models are equally probable")
		flags.Var(cli.Positive(&model.Degrees), "df", "student: degrees of freedom (default 4)")
	})

	record.Family = regression.MarginalFamily
	cli.Group(cmd, "Variational family", func() {
		cli.OneWord(cmd, &record.Family, "family", "marginal, which integrates out the effects of the largest grouping, or over all effects: "+strings.Join(hbm.FamilyNames(), ", "),
			append([]string{regression.MarginalFamily}, hbm.FamilyNames()...)...)
		flags.Var(cli.Count(&record.Encoding, 1), "encoding", "pavi-f, pavi-e, adavi: size of the encoding of a group (default twice the dimension of the variable, plus four)")
		flags.Var(cli.Count(&record.Members, 1), "members", "not marginal: number of groups, or of rows if groupings are crossed, in a training step (default all)")
		flags.BoolVar(&f.amortize, "amortize", false, "pavi-e, adavi: train on tables simulated from the priors, with --select of all models, for vti hbm infer on other tables")
		f.flow.Register(cmd, "flow of marginal, pavi-f, pavi-e, adavi: affine, spline or diag; or affine-paper, spline-paper or diag-paper, in the sizes of Davies et al. (2025) (default spline; affine with more than 64 coordinates)", "default 3; not marginal 1", "default 2; 1", "default 32; 16")
	})
	f.effort.Register(cmd)
	cli.Group(cmd, "Training", func() {
		flags.Var(cli.Count(&record.Steps, 1), "steps", "training steps with --effort fixed (default 400; student 800; not marginal 2000, with --amortize 10000, with --select and a start near the posterior 600; most answers of marginal take no training)")
		flags.Var(cli.Count(&record.Batch, 2), "batch", "draws per training step (default 256; not marginal 8 to 64), or simulated tables with --amortize (16)")
		cli.RegisterFloatType(cmd, &record.DType)
		dtype := flags.Lookup("dtype")
		dtype.DefValue, dtype.Usage = "", "float32, or float64: slower and more precise (default float32; not marginal float64, unless with --members or --amortize)"
		cli.RegisterLaunch(cmd, &f.launch)
	})
	cli.RegisterCertifyDraws(cmd, &record.CertifyDraws,
		"beyond a pilot run over every model (default 32768; not marginal 2000, and up to 32000 where these do not show enough)")
	cli.CompleteColumns(cmd, "se")
	cli.CompleteLikelihoods(cmd, frame.ResponseKinds())
}

// Describe returns the record of a new run with the settings of the flags. A flow that suits the
// problem is chosen later if no flag chooses a flow.
func (f *hbmFlags) Describe(flags *pflag.FlagSet) (*regression.Record, error) {
	asked := f.record // a copy, since later changes must not reach the flags
	record := &asked
	switch kind := record.Frame.Response; {
	case record.Frame.Formula == "":
		return nil, errors.New(`no formula was given: expected for example --formula "y ~ x + (1 + x | group)"`)
	case flags.Changed("df") && kind != likelihood.StudentKind:
		return nil, fmt.Errorf("--df is for --likelihood student; this one is %s", kind)
	case record.Frame.Levels != nil && !kind.HasCategories():
		return nil, fmt.Errorf("--levels is for --likelihood %s, %s and %s; this one is %s", likelihood.CumulativeLogitKind, likelihood.CumulativeProbitKind, likelihood.CategoricalKind, kind)
	case flags.Changed("model-prior") && !record.Model.Select:
		return nil, errors.New("--model-prior is for --select: without it there is one model")
	}
	if err := f.checkFamily(flags); err != nil {
		return nil, err
	}
	if !flags.Changed("dtype") {
		record.DType = dtypes.InvalidDType // the default depends on the family
	}
	record.Seed, record.Frame.DropMissing = f.Seed, f.na == "drop"
	if f.amortize {
		record.Amortize, record.Batch = cmp.Or(record.Batch, amortizedTables), 0
		record.Steps = cmp.Or(record.Steps, amortizedSteps)
	}
	for _, text := range f.priors {
		prior, err := regression.ParseTermPrior(text)
		if err != nil {
			return nil, fmt.Errorf("--prior: %w", err)
		}
		record.Model.Terms = append(record.Model.Terms, prior)
	}
	flow := f.flow
	flow.Flow = cmp.Or(flow.Flow, cosmic.Spline.String()) // this kind of flow has sizes of all kinds
	var err error
	if record.Flow, err = flow.Config(flags); err != nil {
		return nil, err
	}
	if record.Family != regression.MarginalFamily {
		record.Limit, err = f.effort.Limit()
	} else {
		record.Budget, err = f.effort.Budget(flags)
	}
	return record, err
}

// For training on simulated tables: the number of tables in a step, and the number of steps.
const (
	amortizedTables = 16
	amortizedSteps  = 10000
)

// checkFamily returns an error for flags that do not apply to the variational family.
func (f *hbmFlags) checkFamily(flags *pflag.FlagSet) error {
	marginal := f.record.Family == regression.MarginalFamily
	flows := slices.Contains([]string{regression.MarginalFamily, "pavi-f", "pavi-e", "adavi"}, f.record.Family)
	if f.amortize && f.record.Frame.SE != "" {
		return errors.New("--amortize does not go with --se: known standard errors belong to one table")
	}
	if !marginal && !regression.HasPlates(f.record.Frame.Response) {
		return fmt.Errorf("--family %s has no --likelihood %s: want --family %s", f.record.Family, f.record.Frame.Response, regression.MarginalFamily)
	}
	for flag, has := range map[string]bool{
		"encoding": flows && !marginal, "members": !marginal && !f.amortize, "slices": marginal, "amortize": f.record.Family == "pavi-e" || f.record.Family == "adavi", "steps-per-launch": marginal,
		"effort": marginal, "precision": marginal, "max-time": !f.amortize,
		"flow": flows, "flow-layers": flows, "flow-blocks": flows, "flow-hidden": flows, "flow-bins": flows,
	} {
		if flags.Changed(flag) && !has {
			return fmt.Errorf("--%s does not go with --family %s", flag, f.record.Family)
		}
	}
	return nil
}

// chooseFlow sets the flow in the record. The flow is the one that the flags ask for or, without
// such flags, of the kind that the argument suits names.
func (f *hbmFlags) chooseFlow(flags *pflag.FlagSet, record *regression.Record, suits cosmic.Kind) (err error) {
	chosen := f.flow.Flow != ""
	if !chosen {
		f.flow.Flow = suits.String()
	}
	if record.Flow, err = f.flow.Config(flags); err != nil || f.record.Family == regression.MarginalFamily {
		return err
	}
	if sizes := record.Flow; !chosen { // package regression chooses the sizes of a small flow
		record.Flow = cosmic.Config{}
		if sizes.Layers+sizes.Blocks+sizes.Hidden+sizes.Bins > 0 {
			record.Flow = cosmic.Config{Kind: cosmic.Spline, Layers: max(sizes.Layers, 1), Blocks: max(sizes.Blocks, 1), Hidden: cmp.Or(sizes.Hidden, 16), Bins: sizes.Bins}
		}
	} else if sizes.Layers == 0 {
		record.Flow.Layers = 1
	}
	return nil
}

// response is a flag that takes the kind of response of a regression.
type response struct{ *likelihood.Kind }

// UnmarshalText reads the name.
func (r response) UnmarshalText(text []byte) (err error) {
	*r.Kind, err = frame.ParseResponseKind(string(text))
	return err
}
