package wide

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/transdim/vti/internal/rank"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/varsel/regression"
)

// augmented is the posterior over models and parameters of a response that is Gaussian given a
// latent precision of each row (likelihood.Augmented). Given the precisions, births and deaths move
// the model as for a Gaussian response, with the coefficients integrated out. The latent variables
// of [rjmcmc.Collapsed] are here the parameters of the model.
type augmented struct {
	*births
	latent likelihood.Augmented
	table  []float64 // the design by rows [n·C]
	offset []float64 // offsets of the linear predictor, with the prior means of the coefficients in every model [n]
	spare  sync.Pool // of *weightedRows, memory for sweeps
}

const (
	// mostAugmented is the largest number of entries of the design for Augmented. A sweep takes
	// about five milliseconds at this size.
	mostAugmented = 1 << 19
	// augmentedTime is the time of births and deaths in a sweep (see sweepTime). It is short, since
	// other models become probable only with other precisions. Half and twice this value give the
	// same answers (docs/benchmarks/constants.md).
	augmentedTime = 0.5
)

// Augmented returns the posterior over models and parameters, for births and deaths given latent
// precisions of the rows. It is for predictors of one column each. The functions code and active
// are as in Births. It returns nil if the likelihood is not a mixture of normal densities, or if
// the design is too large.
func (s Search) Augmented(code func(model []int) []int32, active func(code []int32) regression.Active) rjmcmc.Collapsed {
	latent, ok := s.Responses.Likelihood.(likelihood.Augmented)
	n := len(s.Responses.Y)
	if !ok || n*s.Design.Dim() > mostAugmented {
		return nil
	}
	a := &augmented{births: s.births(code, active), latent: latent, table: make([]float64, n*s.Design.Dim()), offset: make([]float64, n)}
	a.spare.New = func() any { return a.weighted() }
	copy(a.offset, s.Offset)
	for i := range n {
		row, mean := a.table[i*a.columns:(i+1)*a.columns], 0.0
		for c := range row {
			row[c] = s.Columns[c][i]
			if c < a.fixed {
				mean += s.Mean[c] * row[c]
			}
		}
		a.offset[i] += mean
	}
	return a
}

// Prior draws a model and its parameters from the prior.
func (a *augmented) Prior(random *rand.Rand) (rjmcmc.CollapsedState, error) {
	return a.state(a.drawModel(random), random), nil
}

// Far draws a model of the largest size, and its parameters from the prior.
func (a *augmented) Far(random *rand.Rand) (rjmcmc.CollapsedState, error) {
	return a.state(random.Perm(a.columns - a.fixed)[:a.slots], random), nil
}

// augmentedState is a model with its parameters.
type augmentedState struct {
	*augmented
	members    []int     // columns of the members of the model, the fixed columns first
	theta      []float64 // coefficients of the members, less their prior means
	logSigma   float64
	eta        []float64 // linear predictor [n]
	logDensity float64   // log p(y | m, θ)
}

func (a *augmented) state(model []int, random *rand.Rand) *augmentedState {
	s := &augmentedState{augmented: a, eta: make([]float64, len(a.offset))}
	s.draw(model, random)
	return s
}

// draw makes model the model of the state, and draws its parameters from the prior.
func (s *augmentedState) draw(model []int, random *rand.Rand) {
	s.members, s.theta, s.logSigma = rank.UpTo(s.fixed), nil, s.target.LogScale
	for _, predictor := range model {
		s.members = append(s.members, s.fixed+predictor)
	}
	for _, c := range s.members {
		s.theta = append(s.theta, s.target.SD[c]*random.NormFloat64())
	}
	if scale := s.target.Scale; scale >= 0 {
		s.logSigma = s.target.Mean[scale] + s.target.SD[scale]*random.NormFloat64()
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
	s.members, s.logSigma, s.theta = append(s.members[:0], b.members...), b.logSigma, s.theta[:0]
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
