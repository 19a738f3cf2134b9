package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/transdim/vti/hbm"
)

// hbmFlags are all flags of vti hbm.
type hbmFlags struct {
	frame                                     hbm.FrameOptions
	model                                     hbm.RegressionOptions
	na                                        missingPolicy
	coefficients, intercept, sdScale, lkj, df positive
	fit                                       fitFlags
	certifyDraws                              int
	output                                    outputFlags
	resume                                    string
}

func (f *hbmFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	f.na = "refuse"
	flags.StringVarP(&f.frame.Formula, "formula", "f", "", "response ~ terms + (terms | group), as in lme4 and brms")
	flags.VarP(parsed[hbm.ResponseKind]{&f.frame.Response, hbm.ParseResponseKind}, "likelihood", "l", "gaussian, student, logistic or poisson")
	flags.StringVar(&f.frame.SE, "se", "", "gaussian: `column` of known standard deviations of the response, one for each row")
	flags.BoolVar(&f.model.Select, "select", false, "let models leave out terms: each is absent, pooled, or varies by group, with a probability")
	flags.Var(parsed[missingPolicy]{&f.na, parseMissingPolicy}, "na", "rows with missing values: refuse or drop")

	flags.Var(&f.coefficients, "coefficient-scale", "prior sd of the effect of one sd of a column, in units of sd(y) (1 on the link scale of logistic and poisson) (default 1.5)")
	flags.Var(&f.intercept, "intercept-scale", "prior sd of the intercept at the mean of the columns, in the same units (default 10)")
	flags.Var(parsed[hbm.SDPrior]{&f.model.SDPrior, hbm.ParseSDPrior}, "sd-prior", "prior of standard deviations of varying effects: half-normal, half-cauchy or exponential")
	flags.Var(&f.sdScale, "sd-scale", "its scale, in the same units (default 1)")
	flags.Var(&f.lkj, "lkj", "η of the LKJ prior of their correlations (default 2)")
	flags.Var(&f.df, "df", "student: degrees of freedom (default 4)")

	flags.Var(parsed[flowName]{&f.fit.flow, parseFlow}, "flow",
		"family of q(θ | m): affine, spline or diag, or with the sizes of the paper: affine-paper, spline-paper, diag-paper (default spline; affine with more than 64 coordinates)")
	flags.Var(count{&f.fit.layers, 1}, "layers", "flow: layers (default 3)")
	flags.Var(count{&f.fit.blocks, 1}, "blocks", "flow: residual blocks per layer (default 2)")
	flags.Var(count{&f.fit.hidden, 2}, "hidden", "flow: units per hidden layer (default 32)")
	flags.Var(count{&f.fit.bins, 2}, "bins", "flow: bins of a spline (default 8)")
	flags.Var(count{&f.fit.steps, 1}, "steps", "training steps (default 400; student 800)")
	flags.Var(count{&f.fit.batch, 2}, "batch", "draws per training step (default 1024; other likelihoods than gaussian 256)")
	registerFloatType(cmd, &f.fit.dtype)
	flags.Var(count{&f.certifyDraws, 1}, "certify-draws", "draws that certify, beyond a first look at every model (default 262144; other likelihoods than gaussian 32768)")
	f.output.register(cmd, true)
	flags.StringVar(&f.resume, "resume", "", "continue the run in `directory`; needs no TABLE and no other flag")
	completeWith(cmd, "likelihood", "gaussian", "student", "logistic", "poisson")
	completeWith(cmd, "na", "refuse", "drop")
	completeWith(cmd, "sd-prior", "half-normal", "half-cauchy", "exponential")
	completeWith(cmd, "flow", flowNames()...)
}

// record turns the command line into the record of a new run; the flow that suits the problem is chosen later if none was.
func (f *hbmFlags) record(flags *pflag.FlagSet, path, version string) (*hbm.RegressionRecord, error) {
	if f.frame.Formula == "" {
		return nil, errors.New(`no formula was given: expected for example --formula "y ~ x + (1 + x | group)"`)
	}
	if flags.Changed("df") && f.frame.Response != hbm.StudentResponse {
		return nil, fmt.Errorf("--df is for --likelihood student; this one is %s", f.frame.Response)
	}
	record := &hbm.RegressionRecord{Command: "hbm", Version: version, Data: path, Frame: f.frame, Model: f.model, Seed: f.output.seed,
		DType: f.fit.dtype, Steps: f.fit.steps, Batch: f.fit.batch, CertifyDraws: f.certifyDraws}
	record.Frame.DropMissing = f.na == "drop"
	record.Model.CoefficientScale, record.Model.InterceptScale, record.Model.SDScale = float64(f.coefficients), float64(f.intercept), float64(f.sdScale)
	record.Model.Correlation, record.Model.Degrees = float64(f.lkj), float64(f.df)
	return record, nil
}

// flow fills in the flow, which depends on the problem unless it was chosen.
func (f *hbmFlags) flow(flags *pflag.FlagSet, record *hbm.RegressionRecord, regression *hbm.Regression) (err error) {
	if f.fit.flow == "" {
		f.fit.flow = flowName(strings.ToLower(regression.DefaultFlow().String()))
	}
	record.Flow, err = f.fit.config(flags, "")
	return err
}
