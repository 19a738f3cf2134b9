package calibrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/table"
	"github.com/transdim/vti/varsel"
)

// Varsel draws models, parameters and responses from the priors of vti varsel, for the predictors
// of a table or for generated ones. A prior that vti varsel scales by the mean and the standard
// deviation of a continuous response is scaled by 0 and 1 instead, since it must be known before
// the response is drawn.
//
// Varsel draws a table again if the command would refuse its responses, if a count is above a
// million, or if a proportion or a time is at an end of the range of float64. This selects tables
// only by their responses, and therefore does not change the posterior given the responses.
type Varsel struct {
	// Device computes the answers.
	Device *gpu.Device
	// Record holds the settings; its Design.Target names the response.
	Record varsel.Record
	// Table holds the predictors. If it is nil, each replicate generates Rows rows of Predictors
	// normal predictors. Neighbouring predictors have the correlation Correlation; 0 stands for
	// 0.5.
	Table            *table.Table
	Rows, Predictors int
	Correlation      float64
	// Exact compares each answer with an exact answer. It may be nil.
	Exact Exact[*varsel.Problem, *varsel.Result]
}

// Name implements [Source].
func (v Varsel) Name() string {
	design := fmt.Sprintf("%d rows, %d predictors", v.Rows, v.Predictors)
	if v.Correlation != 0 {
		design += fmt.Sprintf(", correlation %.2f", v.Correlation)
	}
	if v.Table != nil {
		design = filepath.Base(v.Table.Path)
	}
	return fmt.Sprintf("varsel, %s, prior %s, %s", v.Record.Model.Likelihood, v.Record.Model.Prior, design)
}

// Replicate implements [Source].
func (v Varsel) Replicate(ctx context.Context, seed uint64, dir string) (*Replicate, error) {
	random := stream.Rand(seed, "prior")
	return untilAccepted(func() (*Replicate, error) {
		p, truth, err := v.draw(random)
		if p == nil {
			return nil, err
		}
		p.judge = func(r *Replicate, problem *varsel.Problem, result *varsel.Result, run string) error {
			return judgeVarsel(r, truth, problem, result, run, random)
		}
		return AnswerVarsel(ctx, v.Device, p, seed, dir)
	})
}

// drawnTruth holds the true parameters in the units of the table. A coefficient is 0 if its
// predictor is not in the model, and sigma is the standard deviation of the noise.
type drawnTruth struct {
	in           map[string]bool // the names of the predictors in the model
	coefficients map[string]float64
	sigma        float64
}

const mostCounted = 1e6

// draw draws a table. It returns nil if the drawn response cannot be used.
func (v Varsel) draw(random *rand.Rand) (*VarselProblem, *drawnTruth, error) {
	columns, err := v.columns(random)
	if err != nil {
		return nil, nil, err
	}
	kind := v.Record.Model.Likelihood
	if kind.Ordered() {
		return nil, nil, fmt.Errorf("calibrate: responses of ordered categories are not drawn yet; got %s", kind)
	}
	p := &VarselProblem{Record: v.Record, Exact: v.Exact}
	if kind.HasCategories() {
		p.Record.Design.Levels = drawnLevels
	}
	p.Record.Model.ResponseMean, p.Record.Model.ResponseSD = 0, 1
	target := p.Record.Design.Target
	// The design needs some response but does not depend on it. The slice any holds valid
	// responses.
	any := make([]float64, len(columns[0].Values))
	for i := range any {
		if any[i] = float64(i % 2); !p.Record.Design.Likelihood.Discrete() {
			any[i] = any[i]/2 + 0.25 // between 0 and 1, so that it is valid as a proportion too
		}
	}
	data, err := table.New("design", append(columns, table.Numbers(target, any))...)
	if err != nil {
		return nil, nil, err
	}
	d, err := varsel.NewDesign(data, p.Record.Design)
	if err != nil {
		return nil, nil, err
	}
	if d.Offset != nil || p.Record.Design.Offset != "" {
		return nil, nil, errors.New("calibrate: an offset cannot be drawn around")
	}
	full, err := varsel.NewProblem(d, p.Record.Model)
	if err != nil {
		return nil, nil, err
	}
	model := full.Model // the model options with their defaults
	truth := &drawnTruth{in: map[string]bool{}, coefficients: map[string]float64{}}
	eta := make([]float64, d.Rows())
	use := func(j int, sd float64) {
		theta := sd * random.NormFloat64()
		truth.coefficients[d.Names[j]] = theta / d.Scaling.SD[j]
		for i := range eta {
			eta[i] += theta * d.X.At(i, j)
		}
	}
	scores := drawnScores{d, apply.To(drawnLevels, func(string) []float64 { return make([]float64, d.Rows()) })}
	if kind.HasCategories() {
		use = func(j int, sd float64) { scores.use(j, sd, truth, random) }
	}
	for _, j := range d.Always {
		if j == d.Intercept {
			use(j, InterceptSD)
		} else {
			use(j, model.SlabScale)
		}
	}
	for g, in := range model.Prior.Draw(len(d.Predictors), random) {
		truth.in[d.Predictors[g].Name] = in
		for _, j := range d.Predictors[g].Coordinates {
			if in {
				use(j, model.SlabScale)
			}
		}
	}
	y := make([]float64, len(eta))
	if kind.HasCategories() {
		drawCategories(scores.scores, y, random)
	} else if truth.sigma = drawnScale(model, random); !drawResponses(y, eta, truth.sigma, model, random) {
		return nil, nil, nil
	}
	p.CSV, p.About = CSV(append(columns, table.Numbers(target, y))...), v.Name()
	return p, truth, nil
}

// drawResponses draws into y a response for each linear predictor in eta. It returns false if a
// response is a count above mostCounted or at an end of the range of float64.
func drawResponses(y, eta []float64, sigma float64, model varsel.ModelOptions, random *rand.Rand) (ok bool) {
	kind := model.Likelihood
	noise := likelihood.New(kind, likelihood.Shape{Degrees: model.Degrees, Outlier: model.Outlier, Ratio: model.Sigma2 / model.Sigma1})
	for i := range y {
		y[i] = noise.Draw(eta[i], sigma, random)
		if kind.Link() == likelihood.LogLink && !(y[i] <= mostCounted) || cut(kind, y[i]) {
			return false
		}
	}
	return true
}

// cut reports whether a proportion or time may be at an end of the range of float64, or have few
// digits there. Such a value stands for an interval, for which the likelihood would need a
// probability instead of a density.
func cut(kind likelihood.Kind, y float64) bool {
	if kind.Discrete() || kind.Continuous() && !kind.Logarithmic() {
		return false
	}
	return y < 1e-300 || y > 1e300 || kind == likelihood.BetaKind && y > 1-1e-12
}

// drawnScale returns the standard deviation of the noise: the value that the model options set, or
// else a draw from its prior.
func drawnScale(model varsel.ModelOptions, random *rand.Rand) float64 {
	switch {
	case model.Likelihood == likelihood.RobustKind && !model.UnknownSigma1:
		return model.Sigma1
	case model.Sigma > 0:
		return model.Sigma
	}
	return math.Exp(model.Likelihood.ScaleSD() * random.NormFloat64())
}

// columns returns the predictors of v.Table, which must be numeric, or generated predictors if
// v.Table is nil.
func (v Varsel) columns(random *rand.Rand) (columns []*table.Column, err error) {
	if v.Table != nil {
		for _, name := range v.Table.Names() {
			c, err := v.Table.Lookup(name)
			if err != nil {
				return nil, err
			}
			if name == v.Record.Design.Target {
				continue
			}
			if c.Kind != table.Numeric || c.Missing > 0 {
				return nil, fmt.Errorf("calibrate: column %q: want numbers without missing cells", name)
			}
			columns = append(columns, c)
		}
		return columns, nil
	}
	before, correlation := make([]float64, v.Rows), cmp.Or(v.Correlation, 0.5)
	for j := range v.Predictors {
		values := make([]float64, v.Rows)
		for i := range values {
			values[i] = random.NormFloat64()
			if j > 0 {
				values[i] = correlation*before[i] + math.Sqrt(1-correlation*correlation)*values[i]
			}
		}
		columns = append(columns, table.Numbers(fmt.Sprintf("x%d", j+1), values))
		before = values
	}
	return columns, nil
}

// judgeVarsel notes in r the ranks of true parameters, and which statements of a trusted answer are
// true. It ranks the coefficient of one predictor, chosen at random, if the true model contains it.
// It does not rank all coefficients, because the coefficients of one table depend on each other.
func judgeVarsel(r *Replicate, truth *drawnTruth, p *varsel.Problem, result *varsel.Result, run string, random *rand.Rand) error {
	if r.Verdict != trusted || p.Slots != nil {
		return nil
	}
	for _, predictor := range result.Inclusion {
		r.Events = append(r.Events, Event{"inclusion", predictor.Certified, truth.in[predictor.Name]})
	}
	best := result.Models[0]
	isTrue := true
	for g, predictor := range p.Design.Predictors {
		isTrue = isTrue && (best.Code[g] == '1') == truth.in[predictor.Name]
	}
	r.Events = append(r.Events, Event{"most probable model", best.Certified, isTrue})

	sample, err := draws.Read(filepath.Join(run, draws.ParquetFile))
	if err != nil {
		return err
	}
	if p.UnknownScale() {
		r.rank(p.Model.Likelihood.Scale(), truth.sigma, sample, func(draw int) float64 { return sample.Values(draw)[p.Design.Dim()] }, nil, random)
	}
	// The predictor is chosen among all predictors, and not only among those in the model. A choice
	// among those in the model would give more weight to small models, unlike the posterior given
	// that the model contains a predictor.
	g := random.IntN(len(p.Design.Predictors))
	if !truth.in[p.Design.Predictors[g].Name] {
		return nil
	}
	coordinates := p.Design.Predictors[g].Coordinates
	name := p.Design.Names[coordinates[random.IntN(len(coordinates))]]
	if p.Model.Likelihood.HasCategories() {
		name = drawnLevels[1+random.IntN(len(drawnLevels)-1)] + ":" + name
	}
	at := slices.Index(sample.Coordinates, name)
	r.rank("coefficient", truth.coefficients[name], sample, func(draw int) float64 { return sample.Values(draw)[at] }, func(draw int) bool { return sample.Code(draw)[g] == 1 }, random)
	return nil
}

// drawnLevels lists the categories of drawn responses, which have no order.
var drawnLevels = []string{"0", "1", "2"}

// drawnScores holds the score of each category for each row, with the shape [K][n] for K categories
// and n rows. The softmax of the scores of a row is the probabilities of its categories. Each
// category has separate coefficients, drawn with half of the prior variance of a coefficient of the
// log odds. The tested program instead has contrasts between categories as parameters.
type drawnScores struct {
	design *varsel.Design
	scores [][]float64
}

// use draws a coefficient of column j of the design for each category. The difference between two
// categories, which is a coefficient of log odds, has the standard deviation sd. The differences
// from the first category are written to truth in the units of the table.
func (s *drawnScores) use(j int, sd float64, truth *drawnTruth, random *rand.Rand) {
	first := 0.0
	for k, scores := range s.scores {
		theta := sd / math.Sqrt2 * random.NormFloat64()
		for i := range scores {
			scores[i] += theta * s.design.X.At(i, j)
		}
		if k == 0 {
			first = theta
			continue
		}
		truth.coefficients[drawnLevels[k]+":"+s.design.Names[j]] = (theta - first) / s.design.Scaling.SD[j]
	}
}

// drawCategories draws a category for each row, and stores its index in y. It is the category with
// the largest sum of its score and Gumbel noise. The scores are [categories][rows].
func drawCategories(scores [][]float64, y []float64, random *rand.Rand) {
	for i := range y {
		best := math.Inf(-1)
		for k, levelScores := range scores {
			if value := levelScores[i] - math.Log(random.ExpFloat64()); value > best {
				best, y[i] = value, float64(k)
			}
		}
	}
}
