package wide

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/varsel/regression"
)

// augmented is the posterior over models and parameters of a response that is Gaussian given a
// latent precision of each row (likelihood.Augmented). Given the precisions, births and deaths add
// and remove predictors as for a Gaussian response, with the coefficients integrated out. The
// latent variables of [rjmcmc.Collapsed] are here the parameters of the model.
type augmented struct {
	*births
	latent likelihood.Augmented
	offset []float64 // offsets of the linear predictor, with the prior means of the coefficients in every model [n]
	spare  sync.Pool // of *weightedRows, memory for sweeps
}

const (
	// mostAugmented is the largest number of entries (rows times columns) in a sweep for which
	// Augmented may be used. A sweep takes about five milliseconds at this size.
	mostAugmented = 1 << 19
	// augmentedTime is the time of births and deaths in a sweep (see sweepTime). It is short, since
	// other models become probable only with other precisions. Half and twice this value give the
	// same answers (docs/benchmarks/constants.md).
	augmentedTime = 0.5
)

// MayAugment reports whether the likelihood is a mixture of normal densities, and whether there are
// few enough rows for Augmented.
func (s Search) MayAugment() bool {
	_, ok := s.Responses.Likelihood.(likelihood.Augmented)
	return ok && len(s.Responses.Y)*min(s.Design.Dim(), oftenColumns+rareColumns) <= mostAugmented
}

// Augmented returns the posterior over models and parameters, for births and deaths given latent
// precisions of the rows. It is for predictors of one column each. The arguments are as in Births.
// MayAugment must return true.
func (s Search) Augmented(code func(model []int) []int32, active func(code []int32) regression.Active, found [][]int32) rjmcmc.Collapsed {
	n := len(s.Responses.Y)
	a := &augmented{births: s.births(code, active, found), latent: s.Responses.Likelihood.(likelihood.Augmented), offset: make([]float64, n)}
	a.start = func(model []int, random *rand.Rand) (birthStart, error) {
		s := &augmentedState{augmented: a, eta: make([]float64, n)}
		s.draw(model, random)
		return s, nil
	}
	a.spare.New = func() any { return a.weighted() }
	copy(a.offset, s.Offset)
	for c, column := range s.Columns[:a.fixed] {
		vectors.AddScaled(a.offset, a.offset, column, s.Mean[c])
	}
	return a
}

// augmentedState is a model with its parameters.
type augmentedState struct {
	*augmented
	birthModel
	theta      []float64 // coefficients of the members, less their prior means
	eta        []float64 // linear predictor [n]
	logDensity float64   // log p(y | m, θ)
}

// draw makes model the model of the state, and draws its parameters from the prior.
func (s *augmentedState) draw(model []int, random *rand.Rand) {
	s.birthModel, s.theta = s.with(model), nil
	for _, c := range s.members {
		s.theta = append(s.theta, s.target.SD[c]*random.NormFloat64())
	}
	if scale := s.target.Scale; scale >= 0 {
		s.logSigma += s.target.SD[scale] * random.NormFloat64()
	}
	s.predict()
}

// predict sets the linear predictor and the log density of the responses.
func (s *augmentedState) predict() {
	copy(s.eta, s.offset)
	for k, c := range s.members {
		vectors.AddScaled(s.eta, s.eta, s.target.Columns[c], s.theta[k])
	}
	s.logDensity = s.target.Responses.LogDensityAt(s.eta, math.Exp(s.logSigma))
}

// Sweep draws precisions given the parameters, moves the model and the noise scale given the
// precisions, and draws the coefficients. At power 0 it draws a model and its parameters from the
// prior.
func (s *augmentedState) Sweep(power float64, random *rand.Rand) (logDensity float64) {
	if power == 0 {
		s.draw(s.drawModel(random), random)
		return s.logDensity
	}
	w := s.spare.Get().(*weightedRows)
	defer s.spare.Put(w)
	if !w.set(s, power, random) || !w.given.run(augmentedTime, 1, random) {
		return math.NaN()
	}
	b := w.given
	b.moveScale(1, random)
	if math.IsInf(b.evidenceAt(b.logSigma), -1) {
		return math.NaN()
	}
	b.end(&s.birthModel)
	s.theta = s.theta[:0]
	for _, mean := range b.projected {
		s.theta = append(s.theta, mean+math.Exp(b.logSigma)*random.NormFloat64())
	}
	b.factor.SolveUpper(s.theta)
	s.predict()
	return s.logDensity
}

// Clone returns a copy.
func (s *augmentedState) Clone() rjmcmc.CollapsedState {
	c := *s
	c.members, c.theta, c.eta = slices.Clone(s.members), slices.Clone(s.theta), slices.Clone(s.eta)
	return &c
}

// Draw writes the model to code, and its parameters to theta.
func (s *augmentedState) Draw(_ *rand.Rand, code []int32, theta []float64) (logDensity float64, err error) {
	members, logPrior := s.model(s.members)
	copy(code, s.code(members))
	model := s.active(code)
	clear(theta)
	for k, c := range model.Places {
		theta[model.Coordinates[k]] = s.target.Mean[c] + s.theta[slices.Index(s.members, c)]
	}
	if model.Scale >= 0 {
		theta[model.Scale] = s.logSigma
	}
	return logPrior + s.target.LogJointAt(model, theta, make([]float64, len(s.eta))), nil
}
