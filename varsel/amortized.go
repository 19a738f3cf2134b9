package varsel

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/amortize"
	"github.com/transdim/vti/encode"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/varsel/design"
)

// Range is a range of numbers, both ends included.
type Range struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

func (r Range) has(x float64) bool { return r.Low <= x && x <= r.High }

func (r Range) draw(random *rand.Rand) float64 { return r.Low + (r.High-r.Low)*random.Float64() }

// FamilyConfig describes the tables that a network is trained for. A field of zero stands for its
// default.
type FamilyConfig struct {
	// Model holds the likelihood and the priors. The likelihood is Gaussian with unknown σ, robust
	// (a mixture of normal inliers and outliers) with known scales, logistic or Poisson.
	Model ModelOptions `json:"model"`
	// Predictors is the range of the number of selectable predictors. The default is 2 to 8.
	Predictors Range `json:"predictors"`
	// Rows is the range of the number of rows. The default is 20 to 150.
	Rows Range `json:"rows"`
	// Correlation is the range of the correlation between predictors of a simulated table. The
	// default is 0 to 0.9. In one half of the tables each predictor is correlated with the
	// predictor before it; in the other half all pairs of predictors have the same correlation.
	Correlation Range `json:"correlation"`
	// Noise is the range of σ1, the noise scale of rows that are no outliers under the robust
	// likelihood, in standard deviations of the response. The default is 0.02 to 0.9.
	Noise Range `json:"noise"`
	// Start is the version of the normal approximations that networks correct (startOfNetworks).
	// WithDefaults sets it.
	Start int `json:"start"`
}

// startOfNetworks is the version of the normal approximations that networks start from. It is
// raised when the code changes these approximations, since a trained network corrects one version
// only.
const startOfNetworks = 3

// WithDefaults returns the configuration with zeros replaced by their defaults.
func (c FamilyConfig) WithDefaults() FamilyConfig {
	for _, field := range []struct {
		value    *Range
		fallback Range
	}{{&c.Predictors, Range{2, 8}}, {&c.Rows, Range{20, 150}}, {&c.Correlation, Range{0, 0.9}}, {&c.Noise, Range{0.02, 0.9}}} {
		if (*field.value == Range{}) {
			*field.value = field.fallback
		}
	}
	c.Start = startOfNetworks
	c.Model = c.Model.withDefaults()
	return c
}

// mostPredictors returns the largest number of predictors for which a network may be trained.
// Networks start from approximations of all models, which are cheapest for the Gaussian likelihood.
func (c FamilyConfig) mostPredictors() float64 {
	if c.Model.Likelihood == likelihood.GaussianKind {
		return 16
	}
	return 12
}

// Validate reports the first field that is out of its range.
func (c FamilyConfig) Validate() error {
	c = c.WithDefaults()
	if err := c.Model.Validate(); err != nil {
		return err
	}
	switch kind := c.Model.Likelihood; {
	case kind == likelihood.GaussianKind && c.Model.Sigma != 0, kind == likelihood.RobustKind && c.Model.UnknownSigma1, kind == likelihood.StudentKind, kind > likelihood.PoissonKind:
		return fmt.Errorf("networks are trained for the gaussian likelihood with unknown σ, the robust one with known scales, logistic and poisson; got %s", kind)
	case c.Predictors.Low < 1 || c.Predictors.High > c.mostPredictors() || c.Predictors.Low > c.Predictors.High:
		return fmt.Errorf("predictors: got %g to %g, want 1 to at most %g", c.Predictors.Low, c.Predictors.High, c.mostPredictors())
	case c.Rows.Low < 3 || c.Rows.High > 10_000 || c.Rows.Low > c.Rows.High:
		return fmt.Errorf("rows: got %g to %g, want 3 to at most 10,000", c.Rows.Low, c.Rows.High)
	case c.Correlation.Low < 0 || c.Correlation.High >= 1 || c.Correlation.Low > c.Correlation.High:
		return fmt.Errorf("correlation: got %g to %g, want a range from 0 to below 1", c.Correlation.Low, c.Correlation.High)
	case c.Noise.Low <= 0 || c.Noise.Low > c.Noise.High:
		return fmt.Errorf("noise: got %g to %g, want positive numbers in order", c.Noise.Low, c.Noise.High)
	}
	return c.Model.Prior.ValidateFor(int(c.Predictors.Low))
}

// Family is the set of tables that one network is trained for. The predictors of a table are
// numbered in order of falling approximate inclusion probability, so that the answer does not
// depend on the order of the table's columns. The coordinates of a family are the intercept, a
// coefficient for each of the largest number of predictors, and log σ if it is unknown.
type Family struct {
	cfg   FamilyConfig
	space *space.Subsets
	table *encode.Table
	rows  int // N, the largest number of rows
	most  int // P, the largest number of predictors
	// each reports whether every model starts from a separate normal approximation.
	each bool
}

var _ amortize.Family = (*Family)(nil)

// NewFamily returns the set of tables that cfg describes, or an error if cfg is not valid.
func NewFamily(cfg FamilyConfig) (*Family, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.WithDefaults()
	f := &Family{cfg: cfg, rows: int(cfg.Rows.High), most: int(cfg.Predictors.High)}
	f.each = !f.unknownScale() && anchorable(1<<f.most, f.rows, f.dim())
	always, groups := []int{0}, make([][]int, f.most)
	for j := range groups {
		groups[j] = []int{1 + j}
	}
	if f.unknownScale() {
		always = append(always, f.dim()-1)
	}
	var err error
	if f.space, err = space.NewSubsets(f.dim(), always, groups); err != nil {
		return nil, err
	}
	f.table, err = encode.NewTable(encode.Config{Hidden: tableHidden, Layers: 2, Heads: 4})
	return f, err
}

// Config returns the configuration, with defaults in place of zeros.
func (f *Family) Config() FamilyConfig { return f.cfg }

// Settings implements [amortize.Family].
func (f *Family) Settings() any { return f.cfg }

// Space implements [amortize.Family].
func (f *Family) Space() space.Space { return f.space }

func (f *Family) unknownScale() bool { return f.cfg.Model.Likelihood == likelihood.GaussianKind }

func (f *Family) dim() int {
	if f.unknownScale() {
		return f.most + 2
	}
	return f.most + 1
}

// Fits returns an error if a problem does not belong to the family, the set of tables that a
// network is trained for. The error names the difference.
func (f *Family) Fits(p *Problem) error {
	design, want := p.Design, f.cfg
	groups := len(design.Predictors)
	model, trained := p.Model, want.Model
	model.Sigma1, trained.Sigma1 = 1, 1 // the units of the response do not matter, so that only the ratio of the scales does
	// the ratio of two float64 numbers changes in its last digits if both are multiplied by a
	// factor
	model.Sigma2, trained.Sigma2 = float64(float32(p.Model.Sigma2/p.Model.Sigma1)), float64(float32(want.Model.Sigma2/want.Model.Sigma1))
	model.ResponseMean, model.ResponseSD, trained.ResponseMean, trained.ResponseSD = 0, 0, 0, 0
	model.Codes, trained.Codes = 0, 0
	samePrior := model.Prior.String() == trained.Prior.String()
	model.Prior = trained.Prior
	switch {
	case model.Likelihood != trained.Likelihood:
		return fmt.Errorf("the network is for the %s likelihood, not for %s", trained.Likelihood, model.Likelihood)
	case !reflect.DeepEqual(model, trained) || !samePrior:
		return fmt.Errorf("the network is for other priors or scales: %s; the table has %s", describe(want.Model), describe(p.Model))
	case !want.Predictors.has(float64(groups)):
		return fmt.Errorf("the network is for %g to %g predictors, and the table has %d", want.Predictors.Low, want.Predictors.High, groups)
	case !want.Rows.has(float64(design.Rows())):
		return fmt.Errorf("the network is for %g to %g rows, and the table has %d", want.Rows.Low, want.Rows.High, design.Rows())
	case p.Slots != nil:
		return errors.New("the network is for models written as bits: --codes bits")
	case !beginsWithOnes(design):
		return errors.New("the network is for tables with an intercept, or with one column of ones that is always in, and no other column that is always in")
	case design.Offset != nil:
		return errors.New("the network is for tables without an offset")
	}
	for j, predictor := range design.Predictors {
		if len(predictor.Coordinates) != 1 || len(predictor.Parents) > 0 {
			return fmt.Errorf("the network is for predictors of one column each, and %s has %d or is an interaction", predictor.Name, len(predictor.Coordinates))
		}
		if sd := stat.PopStdDev(mat.Col(nil, 1+j, design.X), nil); math.Abs(sd-1) > 0.2 {
			return fmt.Errorf("the network is for standardised predictors, and %s has standard deviation %.3g", predictor.Name, sd)
		}
	}
	if trained.Likelihood == likelihood.RobustKind {
		if noise := math.Exp(p.Target.LogScale) / stat.StdDev(design.Y, nil); !want.Noise.has(noise) {
			return fmt.Errorf("the network is for σ1 from %g to %g standard deviations of the response, and here it is %.3g of them", want.Noise.Low, want.Noise.High, noise)
		}
	}
	return nil
}

// beginsWithOnes reports whether the first column of the design is the only one that is in every
// model, and has ones in all rows. This column may be the intercept or a predictor. The two differ
// only in their prior, which is an input of networks.
func beginsWithOnes(d *Design) bool {
	if len(d.Always) != 1 || d.Always[0] != 0 {
		return false
	}
	return d.Intercept == 0 || d.Intercept < 0 && floats.Count(func(v float64) bool { return v == 1 }, mat.Col(nil, 0, d.X)) == d.Rows()
}

// describe returns the text of the options that Fits compares.
func describe(o ModelOptions) string {
	text := fmt.Sprintf("prior over models %s, slab %g", o.Prior, o.SlabScale)
	if o.Likelihood == likelihood.RobustKind {
		text += fmt.Sprintf(", σ2/σ1 %g, share of outliers %g", o.Sigma2/o.Sigma1, o.Outlier)
	}
	return text
}

// mostTries is the largest number of tables that Simulate draws to find one that it accepts, far
// above the usual number.
const mostTries = 100_000

// Simulate implements [amortize.Family]. Predictors are normal, heavy-tailed or binary, with a
// correlation drawn from the range of the family. A model, its parameters and a response are drawn
// from the priors. A table is drawn again if its response hardly varies, or varies far more than
// its priors say. The posterior given a table does not depend on this choice of tables.
func (f *Family) Simulate(random *rand.Rand) (*amortize.Problem, error) {
	for range mostTries {
		p, theta := f.drawTable(random)
		if p == nil {
			continue
		}
		problem, place, err := f.Problem(p)
		if err != nil {
			continue // Newton's method did not find a mode
		}
		problem.Code, problem.Theta = make([]int32, f.most), make([]float64, f.dim())
		for j, v := range theta {
			problem.Theta[place.Coordinates[j]] = v
		}
		for s, site := range place.Sites {
			if theta[1+s] != 0 {
				problem.Code[site] = 1
			}
		}
		return problem, nil
	}
	return nil, errors.New("no simulated table is accepted: are the priors very wide?")
}

// drawTable draws a problem and its parameters. It returns nil if the table is refused.
func (f *Family) drawTable(random *rand.Rand) (*Problem, []float64) {
	n := int(f.cfg.Rows.Low) + random.IntN(int(f.cfg.Rows.High-f.cfg.Rows.Low)+1)
	p := int(f.cfg.Predictors.Low) + random.IntN(int(f.cfg.Predictors.High-f.cfg.Predictors.Low)+1)
	x := drawDesign(n, p, f.cfg.Correlation.draw(random), random)
	if x == nil {
		return nil, nil
	}
	return f.drawResponse(x, random)
}

// drawResponse draws a model, its parameters and responses for the design x. It returns nil if the
// table is refused.
func (f *Family) drawResponse(x *mat.Dense, random *rand.Rand) (*Problem, []float64) {
	n, columns := x.Dims()
	p := columns - 1
	model := f.cfg.Model
	model.ResponseMean, model.ResponseSD = 0, 1
	theta := make([]float64, p+1, p+2)
	theta[0] = interceptSD * random.NormFloat64()
	code := model.Prior.Draw(p, random)
	for j, in := range code {
		if in {
			theta[1+j] = model.SlabScale * random.NormFloat64()
		}
	}
	scale := 1.0
	switch model.Likelihood {
	case likelihood.GaussianKind:
		logScale := logScaleSD * random.NormFloat64()
		scale, theta = math.Exp(logScale), append(theta, logScale)
	case likelihood.RobustKind:
		scale = math.Exp(Range{math.Log(f.cfg.Noise.Low), math.Log(f.cfg.Noise.High)}.draw(random))
		model.Sigma2, model.Sigma1 = scale*model.Sigma2/model.Sigma1, scale
	}
	response, y := likelihood.New(model.Likelihood, model.shape()), make([]float64, n)
	for i := range y {
		y[i] = response.Draw(floats.Dot(theta[:p+1], x.RawRowView(i)), scale, random)
	}
	if !f.acceptable(y) {
		return nil, nil
	}
	problem, err := NewProblem(design.OfColumns(x, y, model.Likelihood), model)
	if err != nil || f.Fits(problem) != nil {
		return nil, nil
	}
	return problem, theta
}

// Bounds of the standard deviation of an accepted response, of the share of ones in it, and of its
// counts. The response of a real table is standardised, so that wider bounds would spend training
// on tables that hardly occur. Counts are so small that sums of their log likelihood in float32
// lose no digits. Half and twice the bounds of the standard deviation give the same answers
// (docs/benchmarks/constants.md).
const (
	leastSpread, mostSpread = 0.4, 6
	leastShare              = 0.04 // share of the rarer of 0 and 1
	mostCount               = 2000
)

func (f *Family) acceptable(y []float64) bool {
	switch f.cfg.Model.Likelihood {
	case likelihood.LogisticKind:
		share := stat.Mean(y, nil)
		return share >= leastShare && share <= 1-leastShare
	case likelihood.PoissonKind:
		mean := stat.Mean(y, nil)
		return mean >= 2*leastShare && slices.Max(y) <= mostCount && slices.Max(y) > slices.Min(y)
	}
	spread := stat.StdDev(y, nil)
	return spread >= leastSpread && spread <= mostSpread
}

// drawDesign draws standardised predictors behind a column of ones. It returns nil if a predictor
// is constant.
func drawDesign(n, p int, correlation float64, random *rand.Rand) *mat.Dense {
	x := mat.NewDense(n, p+1, nil)
	chained := random.IntN(2) == 0 // neighbours are correlated; otherwise all pairs are, equally
	shared, weight := stream.Normals(random, n), math.Sqrt(correlation)
	if chained {
		weight = correlation
	}
	for j := range p {
		column := stream.Normals(random, n)
		for i, before := range shared {
			column[i] = weight*before + math.Sqrt(1-weight*weight)*column[i]
		}
		if chained {
			copy(shared, column)
		}
		switch random.IntN(8) {
		case 0: // binary
			cut := 1.5 * (random.Float64() - 0.5)
			for i, v := range column {
				column[i] = 0
				if v > cut {
					column[i] = 1
				}
			}
		case 1: // heavy tails
			for i, v := range column {
				column[i] = v * math.Abs(v)
			}
		}
		mean, sd := stat.MeanStdDev(column, nil)
		if !(sd > 0) {
			return nil
		}
		for i, v := range column {
			x.Set(i, 1+j, (v-mean)/sd)
		}
	}
	for i := range n {
		x.Set(i, 0, 1)
	}
	return x
}
