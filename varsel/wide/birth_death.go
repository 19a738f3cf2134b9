package wide

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/kernel"
	"github.com/transdim/vti/internal/rank"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/varsel/design"
	"github.com/transdim/vti/varsel/regression"
)

// births is the common base of births and deaths for all kinds of response. Births and deaths are a
// process in continuous time, given the noise scale σ. A predictor in the model is removed (dies)
// at rate 1, and every other predictor is added (born) at a rate equal to its posterior odds given
// the model. These rates satisfy detailed balance. The process leaves a poor model quickly, by some
// jump, so that time in which hardly anything can happen costs no computation. With models weighted
// by their durations, the jumps are the tempered Gibbs sampler of Zanella and Roberts (2019). After
// a jump, new odds take one multiplication for each pair of a predictor and a member of the model,
// given inner products.
type births struct {
	target      Search
	code        func(model []int) []int32            // code of a model
	active      func(code []int32) regression.Active // the coefficients of the model of a code
	found       [][]int32                            // codes of models found before, the most probable first
	prior       space.LogTerms
	columns     int                                                      // number of columns
	fixed       int                                                      // number of columns in every model, the first ones; the column of each predictor follows
	slots       int                                                      // largest number of predictors
	slab        float64                                                  // prior variance of the coefficient of a predictor
	start       func(model []int, random *rand.Rand) (birthStart, error) // returns a state with a model of predictors
	findSubsets sync.Once
	subsets     // of columns for sweeps
}

// moments holds the sums over the rows of a table that births and deaths use, for the columns of a
// sweep.
type moments struct {
	row   func(c int, row []float64) // sets row to the inner products of a column with all columns [S]
	norms []float64                  // squared lengths of the columns [S]
	along []float64                  // inner products of the columns with the responses less the prior mean [S]
	size  float64                    // squared length of the responses less the prior mean, including responses that no column explains
	total float64                    // number of observations
}

// gaussian is the posterior over models and log σ of a Gaussian response.
type gaussian struct {
	*births
	known *design.Products
	all   moments   // of all columns; the function row is not set
	spare sync.Pool // of *birthProcess, memory for sweeps
}

// Settings of the process. Half and twice these values give the same answers
// (docs/benchmarks/constants.md).
const (
	// sweepTime is the time of the process in a sweep, where predictors are removed at rate 1.
	sweepTime = 4
	// After the process, log σ makes sigmaSteps Metropolis steps with standard deviation sigmaStep.
	sigmaSteps, sigmaStep = 4, 0.25
	// jumpError is the largest accepted error of a log evidence from the updates of a sweep, in
	// nats. A larger error occurs if columns are equal up to rounding.
	jumpError = 1e-4
)

var vectors = kernel.VectorsOf[float64](kernel.Detect())

// Births returns the posterior over models of a Gaussian response, with coefficients integrated
// out, for a process that adds and removes predictors (births and deaths). It is for predictors of
// one column each. The function code returns the code of a model, and active the coefficients of
// the model of a code. The argument found holds the codes of models found before, the most probable
// first, whose members are considered in every sweep.
func (s Search) Births(code func(model []int) []int32, active func(code []int32) regression.Active, found [][]int32) rjmcmc.Collapsed {
	fixed, columns := len(s.Design.Always), s.Columns[:s.Design.Dim()]
	known := s.Products
	if known == nil {
		known = design.NewProducts(columns, s.Responses.Y, 0)
	}
	g := &gaussian{births: s.births(code, active, found), known: known}
	g.start = func(model []int, random *rand.Rand) (birthStart, error) {
		state, p := &gaussianState{g, g.with(model)}, g.spare.Get().(*birthProcess)
		defer g.spare.Put(p)
		if !state.begin(p, random) {
			return nil, fmt.Errorf("the columns of a model of %d predictors are too nearly dependent for births and deaths", len(model))
		}
		return state, nil
	}
	g.spare.New = func() any { return &birthProcess{births: g.births} }
	g.all = moments{
		norms: make([]float64, len(columns)), along: make([]float64, len(columns)),
		size: s.Responses.Residual, total: float64(len(s.Responses.Y) + s.Responses.More),
	}
	rest := slices.Clone(s.Responses.Y)
	for j, column := range columns[:fixed] {
		floats.AddScaled(rest, -s.Mean[j], column)
	}
	for c, column := range columns {
		g.all.norms[c], g.all.along[c] = known.Inner(c, c), floats.Dot(column, rest)
	}
	for _, r := range rest {
		g.all.size += r * r
	}
	return g
}

func (s Search) births(code func(model []int) []int32, active func(code []int32) regression.Active, found [][]int32) *births {
	fixed := len(s.Design.Always)
	b := &births{
		target: s, code: code, active: active, found: found, prior: s.prior(), columns: s.Design.Dim(), fixed: fixed, slots: s.limit(),
		slab: s.SD[fixed] * s.SD[fixed],
	}
	b.setOften(rank.UpTo(b.columns), 0)
	return b
}

// birthModel is a model with a noise scale.
type birthModel struct {
	members  []int // columns of the members of the model, the fixed columns first
	logSigma float64
}

func (m *birthModel) present() []int { return m.members }

// with returns the model with the fixed columns and the given predictors, and log σ at its prior
// mean or known value.
func (b *births) with(model []int) birthModel {
	m := birthModel{members: rank.UpTo(b.fixed), logSigma: b.target.LogScale}
	for _, predictor := range model {
		m.members = append(m.members, b.fixed+predictor)
	}
	if b.target.Scale >= 0 {
		m.logSigma = b.target.Mean[b.target.Scale]
	}
	return m
}

// Prior draws a model from the prior. For a Gaussian response log σ begins at its prior mean; for
// other responses all parameters are drawn from the prior.
func (b *births) Prior(random *rand.Rand) (rjmcmc.CollapsedState, error) {
	b.findSubsets.Do(b.pilot)
	return b.start(b.drawModel(random), random)
}

func (b *births) drawModel(random *rand.Rand) []int {
	in := b.target.Prior.Draw(b.columns-b.fixed, random)
	return apply.Where(len(in), func(predictor int) bool { return in[predictor] })
}

// Far draws a model of the largest size, with parameters from the prior.
func (b *births) Far(random *rand.Rand) (rjmcmc.CollapsedState, error) {
	b.findSubsets.Do(b.pilot)
	return b.start(b.largestModel(random), random)
}

func (b *births) largestModel(random *rand.Rand) []int {
	return random.Perm(b.columns - b.fixed)[:b.slots]
}

// gaussianState is a state of a chain over models.
type gaussianState struct {
	*gaussian
	birthModel
}

// begin makes a sweep begin at the model of the state. It returns false if rounding errors are too
// large.
func (s *gaussianState) begin(p *birthProcess, random *rand.Rand) (precise bool) {
	p.begin(&s.birthModel, random)
	p.size, p.total = s.all.size, s.all.total
	for k, c := range p.columns {
		p.norms[k], p.along[k] = s.all.norms[c], s.all.along[c]
	}
	p.row = func(k int, row []float64) {
		column := p.columns[k]
		if !s.known.Kept && (s.known.Stored || s.isRare[column]) {
			for i, c := range p.columns {
				row[i] = s.known.Inner(column, c)
			}
			return
		}
		all := s.known.Row(column)
		for i, c := range p.columns {
			row[i] = all[c]
		}
	}
	return p.enter(len(s.members))
}

// Sweep runs the process for sweepTime, and then moves the noise scale.
func (s *gaussianState) Sweep(power float64, random *rand.Rand) (logEvidence float64) {
	p := s.spare.Get().(*birthProcess)
	defer s.spare.Put(p)
	if !s.begin(p, random) || !p.run(sweepTime, power, random) {
		return math.NaN()
	}
	p.moveScale(power, random)
	p.end(&s.birthModel)
	return p.logEvidence
}

// Clone returns a copy.
func (s *gaussianState) Clone() rjmcmc.CollapsedState {
	return &gaussianState{s.gaussian, birthModel{slices.Clone(s.members), s.logSigma}}
}

// model returns the predictors of the model with the given columns, and log p(m).
func (b *births) model(members []int) (predictors []int, logPrior float64) {
	predictors, logPrior = make([]int, len(members)-b.fixed), b.prior.Sizes[len(members)-b.fixed]
	for k, c := range members[b.fixed:] {
		predictors[k] = c - b.fixed
		logPrior += b.prior.Member(c - b.fixed)
	}
	return predictors, logPrior
}

// Draw writes the model to code, and to theta a draw of the coefficients and the noise scale given
// the model. The noise scale of the state is not used.
func (s *gaussianState) Draw(random *rand.Rand, code []int32, theta []float64) (logDensity float64, err error) {
	members, logPrior := s.model(s.members)
	copy(code, s.code(members))
	model := s.active(code)
	p, err := s.target.Posterior(model)
	if err != nil {
		return 0, err
	}
	return logPrior + p.LogEvidence() + model.Draw(p, random, theta), nil
}
