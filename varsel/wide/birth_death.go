package wide

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/dense"
	"github.com/transdim/vti/internal/kernel"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/varsel/design"
	"github.com/transdim/vti/varsel/regression"
)

// births is the posterior over models and log σ of a Gaussian response, sampled by a process in
// continuous time. A predictor in the model is removed (dies) at rate 1, and every other predictor
// is added (born) at a rate equal to its posterior odds given the model. These rates satisfy
// detailed balance. The process leaves a poor model quickly, by some jump, so that time in which
// hardly anything can happen costs no computation. With models weighted by their durations, the
// jumps are the tempered Gibbs sampler of Zanella and Roberts (2019). After a jump, new odds take
// one multiplication for each pair of a predictor and a member of the model, given inner products.
type births struct {
	target  Search
	code    func(model []int) []int32            // code of a model
	active  func(code []int32) regression.Active // the coefficients of the model of a code
	moments *moments
	prior   space.LogTerms
	terms   []float64 // the log prior odds of each column, apart from the size of the model [C]; nil if all are 0
	weights []float64 // exponentials of terms [C]
	columns int       // number of columns
	fixed   int       // number of columns in every model, the first ones; the column of each predictor follows
	slots   int       // largest number of predictors
	spare   sync.Pool // of *modelOdds, memory for models
	slab    float64   // prior variance of the coefficient of a predictor
}

// moments holds what births and deaths use of the rows of a table.
type moments struct {
	row   func(c int) []float64 // returns the inner products of a column with all columns [C]
	norms []float64             // squared lengths of the columns [C]
	along []float64             // inner products of the columns with the responses less the prior mean [C]
	size  float64               // squared length of the responses less the prior mean, including responses that no column explains
	total float64               // number of observations
}

// Settings of the process. Half and twice these values give the same answers
// (docs/benchmarks/constants.md).
const (
	// sweepTime is the time of the process in a sweep, where predictors are removed at rate 1.
	sweepTime = 2
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
// the model of a code.
func (s Search) Births(code func(model []int) []int32, active func(code []int32) regression.Active) rjmcmc.Collapsed {
	fixed, columns := len(s.Design.Always), s.Columns[:s.Design.Dim()]
	known := s.Products
	if known == nil {
		known = design.NewProducts(columns, s.Responses.Y, 0)
	}
	m := &moments{
		row: known.Row, norms: make([]float64, len(columns)), along: make([]float64, len(columns)),
		size: s.Responses.Residual, total: float64(len(s.Responses.Y) + s.Responses.More),
	}
	rest := slices.Clone(s.Responses.Y)
	for j, column := range columns[:fixed] {
		floats.AddScaled(rest, -s.Mean[j], column)
	}
	for c, column := range columns {
		m.norms[c], m.along[c] = known.Inner(c, c), floats.Dot(column, rest)
	}
	for _, r := range rest {
		m.size += r * r
	}
	b := s.births(code, active)
	b.moments = m
	return b
}

// births returns births and deaths without moments.
func (s Search) births(code func(model []int) []int32, active func(code []int32) regression.Active) *births {
	fixed := len(s.Design.Always)
	b := &births{
		target: s, code: code, active: active, prior: s.prior(), columns: s.Design.Dim(), fixed: fixed, slots: s.limit(),
		slab: s.SD[fixed] * s.SD[fixed],
	}
	if b.prior.Members != nil {
		b.terms = append(make([]float64, fixed), b.prior.Members...)
		b.weights = make([]float64, len(b.terms))
		vectors.Exp(b.weights, b.terms)
	}
	return b
}

// Prior draws a model from the prior, with log σ at its prior mean.
func (b *births) Prior(random *rand.Rand) (rjmcmc.CollapsedState, error) {
	return b.state(b.drawModel(random))
}

func (b *births) drawModel(random *rand.Rand) (model []int) {
	for predictor, in := range b.target.Prior.Draw(b.columns-b.fixed, random) {
		if in {
			model = append(model, predictor)
		}
	}
	return model
}

// Far draws a model of the largest size.
func (b *births) Far(random *rand.Rand) (rjmcmc.CollapsedState, error) {
	return b.state(random.Perm(b.columns - b.fixed)[:b.slots])
}

// state returns the model with the given predictors, and log σ at its prior mean or known value.
func (b *births) state(model []int) (*birthState, error) {
	s := b.empty(b.moments)
	s.beginVisits()
	for c := range b.fixed {
		s.join(c)
	}
	for _, predictor := range model {
		s.join(b.fixed + predictor)
	}
	if !s.refresh() {
		return nil, fmt.Errorf("the columns of a model of %d predictors are too nearly dependent for births and deaths", len(model))
	}
	return s, nil
}

// empty returns a state without a model.
func (b *births) empty(m *moments) *birthState {
	s := &birthState{births: b, moments: m, memberIndex: slices.Repeat([]int{-1}, b.columns), logSigma: b.target.LogScale}
	if b.target.Scale >= 0 {
		s.logSigma = b.target.Mean[b.target.Scale]
	}
	s.modelOdds, s.work, s.other = newModelOdds(b.columns), make([]float64, oddsBlock), make([]float64, oddsBlock)
	return s
}

// birthState is a model with a noise scale.
type birthState struct {
	*births
	*moments
	*modelOdds                                       // of the model
	visited                    map[uint64]*modelOdds // models of the present sweep, by their keys
	members                    []int                 // columns of the members of the model, the fixed columns first
	rowsOf                     [][]float64
	memberIndex                []int // index of each column in members, or −1
	logSigma                   float64
	work, other                []float64    // scratch [oddsBlock]
	factor                     dense.Factor // Cholesky factor for the members, kept in triangle
	triangle, projected, inner []float64
}

func (s *birthState) join(c int) {
	s.memberIndex[c] = len(s.members)
	s.members, s.rowsOf = append(s.members, c), append(s.rowsOf, s.row(c))
}

func (s *birthState) leave(c int) {
	k := len(s.members) - 1
	last, at := s.members[k], s.memberIndex[c]
	s.members[at], s.rowsOf[at], s.memberIndex[last] = last, s.rowsOf[k], at
	s.members, s.rowsOf, s.memberIndex[c] = s.members[:k], s.rowsOf[:k], -1
}

// variance returns the prior variance of a column.
func (s *birthState) variance(c int) float64 {
	return s.target.SD[c] * s.target.SD[c]
}

// rates sets odds and sums to numbers in proportion to the odds of adding each column, with the
// evidence raised to the argument power. It returns the sum of the odds themselves.
func (s *birthState) rates(power float64) float64 {
	sizes, k := s.prior.Sizes, len(s.members)-s.fixed
	if k == s.slots || math.IsInf(sizes[k+1], -1) {
		return 0
	}
	if s.sum = s.setOdds(power, 0); !(s.sum <= mostBirthOdds) {
		most := math.Inf(-1)
		for b := range s.sums {
			most = max(most, vectors.MaxOf(s.logFactors(b, power)))
		}
		s.sum = s.setOdds(power, most-math.Log(mostBirthOdds))
	}
	return s.sum * math.Exp(sizes[k+1]-sizes[k])
}

const (
	// mostBirthOdds bounds the sum of the odds of adding columns, apart from the prior of the
	// model's size. If the sum is larger, all odds are divided by the same number and stay in
	// proportion. No member is then removed before the next column is added.
	mostBirthOdds = 1e260
	// oddsBlock is the number of columns that are updated at a time, so that their numbers stay in
	// the fastest cache.
	oddsBlock = 512
)

// setOdds sets odds and sums to the Bayes factors for adding each column, times the weight that the
// prior gives to the column, divided by exp(shift). Members get 0. It returns the sum.
func (s *birthState) setOdds(power, shift float64) (sum float64) {
	for b := range s.sums {
		first, last := s.block(b)
		odds := s.odds[first:last]
		if power == 1 && shift == 0 { // a square root takes less time than a logarithm
			vectors.ExpRatio(odds, s.linear[first:last], s.grown[first:last], s.slab/2)
			if s.weights != nil {
				vectors.Mul(odds, odds, s.weights[first:last])
			}
		} else {
			vectors.AddScalar(odds, s.logFactors(b, power), -shift)
			vectors.Exp(odds, odds)
		}
		s.setMembers(b, 0)
		s.sums[b] = vectors.Sum(odds)
		sum += s.sums[b]
	}
	return sum
}

// logFactors sets the odds of block b to the logs of Bayes factors for adding each column, times
// power, plus the terms of the prior, and returns them.
func (s *birthState) logFactors(b int, power float64) []float64 {
	first, last := s.block(b)
	logs, work := s.odds[first:last], s.work[:last-first]
	vectors.Mul(logs, s.linear[first:last], s.linear[first:last])
	vectors.Div(logs, logs, s.grown[first:last])
	vectors.Log(work, s.grown[first:last])
	vectors.AddScaled(logs, logs, work, -1/s.slab)
	vectors.MulScalar(logs, logs, power*s.slab/2)
	if s.terms != nil {
		vectors.AddScaled(logs, logs, s.terms[first:last], 1)
	}
	s.setMembers(b, math.Inf(-1))
	return logs
}

// setMembers sets the odds of all members of the model in block b to the argument odds.
func (s *birthState) setMembers(b int, odds float64) {
	first, last := s.block(b)
	for _, c := range s.members {
		if first <= c && c < last {
			s.odds[c] = odds
		}
	}
}

// block returns the numbers of the first column of block b, and of the first column after it.
func (s *birthState) block(b int) (first, last int) {
	return b * oddsBlock, min((b+1)*oddsBlock, len(s.odds))
}

// pick returns a column, drawn in proportion to the odds by a uniform number u below 1.
func (s *birthState) pick(u float64) int {
	picked := -1
	u *= s.sum
	for b, sum := range s.sums {
		if u >= sum && b+1 < len(s.sums) {
			u -= sum
			continue
		}
		first, last := s.block(b)
		for c, odds := range s.odds[first:last] {
			if odds > 0 {
				picked = first + c
				if u -= odds; u < 0 {
					return picked
				}
			}
		}
	}
	return picked
}

// Sweep runs the process for sweepTime, and then moves the noise scale.
func (s *birthState) Sweep(power float64, random *rand.Rand) (logEvidence float64) {
	if !s.run(sweepTime, power, random) {
		return math.NaN()
	}
	s.moveScale(power, random)
	if !s.refresh() {
		return math.NaN()
	}
	return s.logEvidence
}

// run runs the process for the argument duration. It returns false if rounding errors are too
// large.
func (s *birthState) run(duration, power float64, random *rand.Rand) (precise bool) {
	began := s.modelOdds
	s.beginVisits()
	for left := duration; ; {
		if !s.rated {
			s.rate, s.rated = s.rates(power), true
		}
		births, deaths := s.rate, float64(len(s.members)-s.fixed)
		if math.IsNaN(births) { // rounding errors exceed the part of a column that the model does not explain; the caller reports this
			return false
		}
		if left -= random.ExpFloat64() / (births + deaths); left < 0 || births+deaths == 0 {
			break
		}
		if u := random.Float64() * (births + deaths); u < deaths {
			s.flip(s.members[s.fixed+int(u)])
		} else if c := s.pick((u - deaths) / births); c >= 0 {
			s.flip(c)
		}
	}
	updated := s.logEvidence
	s.endVisits(began)
	s.logEvidence = s.evidenceAt(s.logSigma)
	return math.Abs(updated-s.logEvidence) <= jumpError
}

// moveScale moves the noise scale given the model, by Metropolis steps.
func (s *birthState) moveScale(power float64, random *rand.Rand) {
	bits := s.target
	if bits.Scale < 0 {
		return
	}
	logPrior := func(logSigma float64) float64 {
		standard := (logSigma - bits.Mean[bits.Scale]) / bits.SD[bits.Scale]
		return -0.5 * standard * standard
	}
	for range sigmaSteps {
		to := s.logSigma + sigmaStep*random.NormFloat64()
		evidence := s.evidenceAt(to)
		if -random.ExpFloat64() < power*(evidence-s.logEvidence)+logPrior(to)-logPrior(s.logSigma) {
			s.logSigma, s.logEvidence = to, evidence
		}
	}
}

// Clone returns a copy.
func (s *birthState) Clone() rjmcmc.CollapsedState {
	c := *s
	odds := *s.modelOdds
	c.modelOdds = &odds
	for _, numbers := range []*[]float64{&c.grown, &c.linear, &c.odds, &c.sums, &c.work, &c.other} {
		*numbers = slices.Clone(*numbers)
	}
	c.members, c.rowsOf, c.memberIndex = slices.Clone(s.members), slices.Clone(s.rowsOf), slices.Clone(s.memberIndex)
	c.triangle, c.projected, c.inner, c.visited = nil, nil, nil, nil
	return &c
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
func (s *birthState) Draw(random *rand.Rand, code []int32, theta []float64) (logDensity float64, err error) {
	members, logPrior := s.model(s.members)
	copy(code, s.code(members))
	model := s.active(code)
	p, err := s.target.Posterior(model)
	if err != nil {
		return 0, err
	}
	return logPrior + p.LogEvidence() + model.Draw(p, random, theta), nil
}
