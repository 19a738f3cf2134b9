package varsel

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"sync"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/varsel/design"
	"github.com/transdim/vti/varsel/exact"
	"github.com/transdim/vti/varsel/regression"
)

// Standard deviations of the priors that the user does not choose, for continuous responses in
// units of the standard deviation sd(y) of the response. The priors are vague: σ is within a factor
// of 50 of sd(y) with probability 95%.
const (
	interceptSD = 10 // the intercept is N(mean(y), (10 sd(y))²), or N(centre, 10²) on the link scale
	logScaleSD  = 2  // log σ is N(log sd(y), 2²)
)

// Problem is a data set with a likelihood and priors, for all commands of variable selection.
type Problem struct {
	// Design is the data.
	Design *Design
	// Model holds the likelihood and the priors.
	Model ModelOptions
	// Target is the posterior for standardised columns and response (the working scale). Its log
	// densities plus Design.LogJacobian are log densities of the response in the units of the
	// table.
	Target *Target
	// Slots is the posterior of Target with models written as lists of their predictors. It is nil
	// if models are written as bits.
	Slots *SlotTarget
	// AllModels makes results list every evaluated model.
	AllModels bool
	// Credible is the level of credible sets; 0 stands for DefaultCredible.
	Credible float64
	// InclusionFile is the name of the file of prior inclusion probabilities; "" if there is none.
	InclusionFile string

	// anchors approximates all models by normal distributions if a fit begins from a network.
	anchors *modelAnchors
	// assigned returns the sum of the posterior over all sets of outliers. It returns nil if the
	// likelihood is not robust or there are too many sets.
	assigned func() *regression.Assignments
	// answered holds the sum over all models, once it has been computed.
	answered *exactAnswer
}

// validateFor returns an error if the prior over models does not suit the predictors of the design.
func (o ModelOptions) validateFor(design *Design) error {
	for _, p := range design.Predictors {
		for _, parent := range p.Parents {
			if o.Heredity != NoHeredity && len(design.Predictors[parent].Parents) > 0 {
				return fmt.Errorf("%s: %s is a product of three columns: got heredity %s, want none", design.Path, p.Name, o.Heredity)
			}
		}
	}
	if o.Prior.Kind == InclusionPrior && o.Heredity != NoHeredity && design.HasInteractions() {
		return fmt.Errorf("%s: inclusion probabilities of single predictors do not say those of interactions with %s heredity: want --heredity none", design.Path, o.Heredity)
	}
	return o.Prior.ValidateFor(len(design.Predictors))
}

// NewProblem returns the posterior of a design, with the given likelihood and priors.
func NewProblem(design *Design, model ModelOptions) (*Problem, error) {
	if err := model.Validate(); err != nil {
		return nil, err
	}
	if design.Likelihood != model.Likelihood {
		return nil, fmt.Errorf("varsel.NewProblem: the design was made for the %s likelihood, the model has %s", design.Likelihood, model.Likelihood)
	}
	model = model.withDefaults()
	if err := model.validateFor(design); err != nil {
		return nil, err
	}
	kind := model.Likelihood.Working()
	t := &Target{
		Regression: regression.Regression{Kind: kind, X: design.X, Offset: design.Offset, Scale: -1},
		design:     design, prior: model.Prior, heredity: newHeredity(design, model.Heredity, model.Prior),
	}
	t.Mean, t.SD = coefficientPrior(design, model)
	_, spread := responseUnit(design, model)
	unit := design.Scaling.YSD // unit of the standardised response, in units of the table
	if kind.HasCategories() {
		t.UseCategories(likelihood.NewCategories(design.Likelihood, len(design.Levels)), design.Y)
	} else {
		t.Responses = regression.Responses{Y: design.Y, Likelihood: likelihood.New(kind, model.shape())}
		if !kind.Continuous() {
			t.CountRows()
		}
		t.LogConstant = likelihood.LogConstants(t.Responses, t.Responses.Y, t.Responses.Times)
	}
	unknown, scaleSD := kind.Scale() != "", float64(logScaleSD)
	switch kind {
	case likelihood.GaussianKind:
		t.X, t.Responses.Y, t.Responses.More, t.Responses.Residual = exact.Compress(design.X, design.Y)
		more, residual := design.Residual()
		t.Responses.More, t.Responses.Residual = t.Responses.More+more, t.Responses.Residual+residual
		unknown, t.LogScale = model.Sigma == 0, math.Log(model.Sigma/unit)
	case likelihood.StudentKind:
		unknown, t.LogScale = model.Sigma == 0, math.Log(model.Sigma/unit)
	case likelihood.RobustKind:
		unknown, t.LogScale = model.UnknownSigma1, math.Log(model.Sigma1/unit)
		if !unknown {
			t.Outliers = regression.NewOutliers(model.Outlier, model.Sigma2/model.Sigma1, t.LogScale)
		}
	default:
		scaleSD = kind.ScaleSD()
	}
	always, groups := regression.EachPlane(design.Always, t.Planes()), design.Groups()
	for g, columns := range groups {
		groups[g] = regression.EachPlane(columns, t.Planes())
	}
	if unknown {
		t.Scale = design.Dim()
		t.X = regression.WithZeroColumn(t.X)
		t.Mean, t.SD = append(t.Mean, math.Log(spread)), append(t.SD, scaleSD)
	}
	t.Dim = len(t.Mean)
	always = append(always, t.Parameters()...)
	var column []float64
	for j, planes := 0, t.Planes(); j < t.Dim; j++ {
		if j%planes == 0 {
			column = mat.Col(nil, j/planes, t.X)
		}
		t.Columns = append(t.Columns, column)
	}
	t.Products = productsOf(t)
	var err error
	if t.space, err = space.NewSubsets(t.Dim, always, groups); err != nil {
		return nil, err
	}
	problem := &Problem{Design: design, Model: model, Target: t,
		assigned: sync.OnceValue(func() *regression.Assignments { return newAssignments(t, model) }), answered: &exactAnswer{}}
	t.known = sync.OnceValue(problem.known)
	if err := problem.useLists(); err != nil {
		return nil, err
	}
	return problem, nil
}

// leastProductRows is the smallest number of rows, after compression, for which inner products of
// columns are computed. With fewer rows the evidence of a model takes little time without them.
const leastProductRows = 100

// productsOf returns the inner products of a Gaussian response and its columns. It returns nil for
// other responses, and if computing from the rows is as fast.
func productsOf(t *Target) *design.Products {
	switch {
	case t.design.Statistics != nil:
		return t.design.Statistics.Products()
	case t.Kind == likelihood.GaussianKind && t.Offset == nil && len(t.Responses.Y) >= leastProductRows:
		return design.NewProducts(t.Columns, t.Responses.Y, t.Responses.Residual)
	}
	return nil
}

// useLists sets Slots if lists are requested, or if there are many predictors. It returns an error
// if lists are requested for a problem that cannot have them.
func (p *Problem) useLists() (err error) {
	t, model, predictors := p.Target, p.Model, len(p.Design.Predictors)
	switch {
	case t.heredity != nil && model.Codes == ListCodes:
		return fmt.Errorf("models with %s heredity cannot be written as lists: want --codes bits, or --heredity none", model.Heredity)
	case t.Responses.Categories != nil && model.Codes == ListCodes:
		return errCategoryLists
	case t.Responses.Categories == nil && t.heredity == nil && model.Codes.lists(model.Prior, predictors):
		p.Slots, err = newSlotTarget(t)
	}
	return err
}

// coefficientPrior returns the prior means and standard deviations of the coefficients [D]. All but
// the intercept have mean 0 and the scale of the slab, the prior of coefficients in the model.
func coefficientPrior(design *Design, model ModelOptions) (mean, sd []float64) {
	mean, sd = make([]float64, design.Dim()), make([]float64, design.Dim())
	centre, spread := responseUnit(design, model)
	slab := model.SlabScale
	// in units of a standardised response, the slab is relative to ResponseSD
	if model.ResponseSD > 0 && design.Scaling.YSD != 1 {
		slab *= spread
	}
	for j := range sd {
		sd[j] = slab
		if j == design.Intercept {
			mean[j], sd[j] = centre, interceptSD*spread
		}
	}
	return mean, sd
}

// responseUnit returns the mean and the standard deviation of the response to which the priors are
// scaled, on the working scale. For responses on a link scale it returns the centre of that scale
// (likelihood.Kind.Centre) and 1.
func responseUnit(design *Design, model ModelOptions) (mean, sd float64) {
	switch {
	case design.Likelihood.HasUnit() && model.ResponseSD > 0:
		return model.ResponseMean, 1
	case !design.Likelihood.Continuous():
		return design.Likelihood.Centre(design.Y, design.Offset), 1
	case model.ResponseSD > 0:
		return (model.ResponseMean - design.Scaling.YMean) / design.Scaling.YSD, model.ResponseSD / design.Scaling.YSD
	}
	if design.Statistics != nil {
		return 0, 1
	}
	return stat.Mean(design.Y, nil), responseSpread(design)
}

// responseSpread returns the standard deviation of the working response, which is 1 if the response
// was standardised.
func responseSpread(design *Design) float64 {
	if design.Statistics != nil {
		return 1
	}
	if spread := stat.StdDev(design.Y, nil); spread > 0 {
		return spread
	}
	return 1 // a constant response gives no unit
}

func (p *Problem) models() models {
	if p.Slots != nil {
		return p.Slots
	}
	return p.Target
}

// members returns the predictors of a model in ascending order, whether it is written as bits or as
// a list.
func (p *Problem) members(code []int32) []int { return p.models().members(code) }

// UnknownScale reports whether log σ is inferred.
func (p *Problem) UnknownScale() bool { return p.Target.Scale >= 0 }

// Priors describes the likelihood and each of the priors in a line, in the units of the table.
func (p *Problem) Priors() []string {
	unit, scaled := p.Design.Scaling.YSD, "the coefficient of a predictor"
	if p.Design.Scaling.Level >= 0 && unit != 1 || p.Design.Scaling.SD[len(p.Design.Scaling.SD)-1] != 1 || p.Design.Statistics != nil {
		scaled = "the effect of one standard deviation of a predictor"
	}
	if p.Model.Slab != (exact.Slab{}) {
		n, selectable := p.Design.Rows(), p.Design.Dim()-len(p.Design.Always)
		lines := []string{
			"likelihood: gaussian, flat prior of log σ",
			"slab: the coefficients of a model ~ " + p.Model.Slab.Text(n, selectable),
			"intercept and columns that are always in: flat priors on the working scale, so that log evidences have a constant in common",
		}
		return append(lines, p.modelsText())
	}
	_, unordered := p.Target.Unordered()
	if unordered {
		scaled += " on the log odds of any two categories"
	}
	lines := []string{
		"likelihood: " + p.likelihoodText(),
		fmt.Sprintf("slab: %s ~ N(0, %.4g²)", scaled, p.Model.SlabScale*unit),
	}
	if p.Model.Likelihood.Ordered() {
		lines = append(lines, "cut points: uniform prior of the probabilities of the categories, Dirichlet(1, …, 1), at the mean of the predictors")
	}
	if j := p.Design.Intercept; j >= 0 {
		where := ""
		if p.Design.Likelihood.Continuous() || unit != 1 {
			where = " (mean and 10 times the sd of the response)"
		} else if unordered {
			where = ", for the log odds of any two categories"
		}
		lines = append(lines, fmt.Sprintf("intercept, at the mean of the predictors: ~ N(%.4g, %.4g²)%s",
			p.Target.Mean[j]*unit+p.Design.Scaling.YMean, p.Target.SD[j]*unit, where))
	}
	return append(lines, p.modelsText())
}

func (p *Problem) modelsText() string {
	unlimited := p.Model.Prior
	unlimited.MaxSize = 0 // the limit has a separate text below
	models := "models: " + unlimited.String()
	if p.Model.Prior.Kind == InclusionPrior {
		models += fmt.Sprintf(" probabilities of %s, %.3g predictors expected", cmp.Or(p.InclusionFile, "single predictors"), p.Model.Prior.MeanSize(len(p.Design.Predictors)))
	}
	if limit := p.Model.Prior.Limit(len(p.Design.Predictors)); limit < len(p.Design.Predictors) {
		models += fmt.Sprintf(", at most %s", english.Count(limit, "predictor"))
	}
	if h := p.Target.heredity; h != nil {
		models += fmt.Sprintf(", %s heredity of interactions", p.Model.Heredity)
		if !h.known {
			models += fmt.Sprintf(" (more than %d parents: not normalised, so log evidences have an unknown constant in common)", mostParents)
		}
	}
	return models
}

func (p *Problem) likelihoodText() string {
	unit := p.Design.Scaling.YSD
	unknown := fmt.Sprintf("log σ ~ N(log %.4g, %g²)", responseSpread(p.Design)*unit, float64(logScaleSD))
	switch p.Model.Likelihood {
	case likelihood.LogNormalKind:
		return "lognormal: the logarithm is gaussian, " + unknown
	case likelihood.GaussianKind:
		if p.UnknownScale() {
			return "gaussian, " + unknown
		}
		return fmt.Sprintf("gaussian, σ = %g", p.Model.Sigma)
	case likelihood.StudentKind:
		if p.UnknownScale() {
			return fmt.Sprintf("student with %g degrees of freedom, %s", p.Model.Degrees, unknown)
		}
		return fmt.Sprintf("student with %g degrees of freedom, σ = %g", p.Model.Degrees, p.Model.Sigma)
	case likelihood.RobustKind:
		shares := fmt.Sprintf("robust, %g N(σ1) + %g N(σ2)", 1-p.Model.Outlier, p.Model.Outlier)
		if p.UnknownScale() {
			return fmt.Sprintf("%s, σ2 = %g σ1, %s", shares, p.Model.Sigma2/p.Model.Sigma1, unknown)
		}
		return fmt.Sprintf("%s, σ1 = %g, σ2 = %g", shares, p.Model.Sigma1, p.Model.Sigma2)
	}
	if name := p.Model.Likelihood.Scale(); name != "" {
		return fmt.Sprintf("%s, log %s ~ N(0, %g²)", p.Model.Likelihood, name, p.Model.Likelihood.ScaleSD())
	}
	if p.Model.Likelihood.HasCategories() {
		separator, meaning := " < ", ""
		if _, ok := p.Target.Unordered(); ok {
			separator, meaning = ", ", ": coefficients are those of the log odds of a category against "+p.Design.Levels[0]
		}
		return fmt.Sprintf("%s of %d categories, %s%s", p.Model.Likelihood, len(p.Design.Levels), strings.Join(p.Design.Levels, separator), meaning)
	}
	return p.Model.Likelihood.String()
}
