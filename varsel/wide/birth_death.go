package wide

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/dense"
	"github.com/transdim/vti/internal/kernel"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/space"
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
	target  Lists
	prior   space.LogTerms
	terms   []float64    // the log prior odds of each column, apart from the size of the model [C]; nil if all are 0
	weights []float64    // exponentials of terms [C]
	first   int          // column of the first item
	rows    int          // n, the number of responses
	columns []float64    // fixed columns, then items [C, n]; nil if inner products are known
	places  []int        // numbers of the columns in the design [C], if their inner products are known
	fixed   int          // number of fixed columns
	norms   []float64    // squared lengths of the columns [C]
	along   []float64    // inner products of the columns with the responses less the prior mean [C]
	size    float64      // squared length of the responses less the prior mean, including responses that no column explains
	total   float64      // number of observations
	slab    float64      // prior variance of the coefficient of an item
	ridge   []float64    // prior variances of the fixed columns
	blocks  sync.Mutex   // held while a block of inner products is computed
	room    atomic.Int64 // number of inner products for which there is memory left
	kept    []atomic.Pointer[[]float64]
	visits  sync.Pool // of *visits, for one sweep at a time
}

// Settings of the process. Half and twice these values give the same answers
// (docs/benchmarks/constants.md).
const (
	// sweepTime is the time of the process in a sweep, where predictors are removed at rate 1.
	sweepTime = 2
	// After the process, log σ makes sigmaSteps Metropolis steps with standard deviation sigmaStep.
	sigmaSteps, sigmaStep = 4, 0.25
	// keptProducts is the largest number of inner products that are stored, 1 GiB: all products of
	// 11,585 columns. Other inner products are computed whenever they are needed.
	keptProducts = 1 << 27
	// jumpError is the largest accepted error of a log evidence from the updates of a sweep, in
	// nats. A larger error occurs if columns are equal up to rounding.
	jumpError = 1e-4
)

var vectors = kernel.VectorsOf[float64](kernel.Detect())

// Lists is the posterior over models of a Gaussian response, with models written as lists of
// predictors of one column each.
type Lists struct {
	*regression.Regression // rows, likelihood and priors of all predictors
	// Space is the space of lists.
	Space *space.Lists
	// Prior is the prior over models. Its predictors are numbered as the items of the lists.
	Prior space.Prior
	// Columns holds the columns of the coordinates in every model (log σ among them if it is
	// unknown), followed by the columns of the items. Fixed is the number of coordinates in every
	// model, without log σ.
	Columns [][]float64
	Places  []int // numbers of Columns in the design
	Fixed   int
	// Means and SDs are the prior means and standard deviations of the coordinates of a list.
	Means, SDs []float64
	// Active returns the model of a code.
	Active func(code []int32) regression.Active
}

// Births returns the posterior, with coefficients integrated out, for a process that adds and
// removes predictors (births and deaths).
func (t Lists) Births() rjmcmc.Collapsed {
	b := &births{
		target: t, prior: t.Prior.LogTerms(t.Space.Items()), rows: len(t.Responses.Y), fixed: t.Fixed, first: t.Space.Fixed(),
		size: t.Responses.Residual, total: float64(len(t.Responses.Y) + t.Responses.More), slab: t.SDs[len(t.SDs)-1] * t.SDs[len(t.SDs)-1],
	}
	columns := slices.Concat(t.Columns[:b.fixed], t.Columns[b.first:b.first+t.Space.Items()])
	b.norms, b.along, b.kept = make([]float64, len(columns)), make([]float64, len(columns)), make([]atomic.Pointer[[]float64], len(columns))
	rest := slices.Clone(t.Responses.Y)
	for j, column := range columns[:b.fixed] {
		floats.AddScaled(rest, -t.Means[j], column)
		b.ridge = append(b.ridge, t.SDs[j]*t.SDs[j])
	}
	for c, column := range columns {
		vectors.DotRows(b.norms[c:c+1], column, b.rows, column)
		vectors.DotRows(b.along[c:c+1], column, b.rows, rest)
	}
	if t.Stored() == nil {
		b.columns = slices.Concat(columns...)
	} else {
		b.places = slices.Concat(t.Places[:b.fixed], t.Places[b.first:b.first+t.Space.Items()])
	}
	for _, r := range rest {
		b.size += r * r
	}
	b.room.Store(keptProducts)
	if b.prior.Members != nil {
		b.terms = append(make([]float64, b.fixed), b.prior.Members...)
		b.weights = make([]float64, len(b.terms))
		vectors.Exp(b.weights, b.terms)
	}
	return b
}

// products returns the inner products of column c with all columns.
func (b *births) products(c int) []float64 {
	if known := b.kept[c].Load(); known != nil {
		return *known
	}
	if count := len(b.norms); b.columns != nil && count*count <= keptProducts {
		return b.blockProducts(c)
	}
	row := make([]float64, len(b.norms))
	if known := b.target.Stored(); known != nil {
		for i, other := range b.places {
			row[i] = known.Inner(b.places[c], other)
		}
	} else {
		vectors.DotRows(row, b.columns, b.rows, b.columns[c*b.rows:(c+1)*b.rows])
	}
	if b.room.Add(-int64(len(row))) >= 0 {
		b.kept[c].Store(&row)
	}
	return row
}

// productBlock is the number of columns whose inner products with all columns are computed at a
// time. A block takes hardly longer than one column, since all columns are read from memory.
const productBlock = 16

// blockProducts returns the inner products of column c with all columns, and keeps the inner
// products of the columns beside it.
func (b *births) blockProducts(c int) []float64 {
	b.blocks.Lock()
	defer b.blocks.Unlock()
	if known := b.kept[c].Load(); known != nil {
		return *known
	}
	count := len(b.norms)
	width := min(productBlock, count)
	first := min(c/width*width, count-width)
	plan := kernel.NewProductPlan[float64](kernel.Detect(), count, b.rows, width, nil, nil)
	products, shared, local := make([]float64, count*width), make([]float64, plan.SharedScratch()), make([]float64, plan.LocalScratch())
	block := kernel.Dense(b.columns[first*b.rows:(first+width)*b.rows], width, b.rows)
	plan.Run(kernel.Dense(products, count, width), kernel.Dense(b.columns, count, b.rows), block.Transpose(), false, nil, shared, local)
	for k := range width {
		row := make([]float64, count)
		for i := range row {
			row[i] = products[i*width+k]
		}
		b.kept[first+k].CompareAndSwap(nil, &row)
	}
	return *b.kept[c].Load()
}

// Prior draws a model from the prior, with log σ at its prior mean.
func (b *births) Prior(random *rand.Rand) (rjmcmc.CollapsedState, error) {
	t := b.target
	var items []int
	for item, in := range t.Prior.Draw(t.Space.Items(), random) {
		if in {
			items = append(items, item)
		}
	}
	return b.state(items)
}

// Far draws a model of the largest size.
func (b *births) Far(random *rand.Rand) (rjmcmc.CollapsedState, error) {
	return b.state(random.Perm(b.target.Space.Items())[:b.target.Space.Slots()])
}

// state returns the model with the given items, and log σ at its prior mean or known value.
func (b *births) state(items []int) (*birthState, error) {
	count := len(b.norms)
	s := &birthState{births: b, memberIndex: slices.Repeat([]int{-1}, count), logSigma: b.target.LogScale}
	if b.target.Scale >= 0 {
		s.logSigma = b.target.Mean[b.target.Scale]
	}
	s.modelOdds, s.work, s.other = newModelOdds(count), make([]float64, oddsBlock), make([]float64, oddsBlock)
	for c := range b.fixed {
		s.join(c)
	}
	for _, item := range items {
		s.join(b.fixed + item)
	}
	if !s.refresh() {
		return nil, fmt.Errorf("the columns of a model of %d predictors are too nearly dependent for births and deaths", len(items))
	}
	return s, nil
}

// birthState is a model with a noise scale.
type birthState struct {
	*births
	*modelOdds                         // of the model
	visits                     *visits // of the present sweep
	members                    []int   // columns of the members of the model, the fixed columns first
	rowsOf                     [][]float64
	memberIndex                []int // index of each column in members, or −1
	logSigma                   float64
	work, other                []float64    // scratch [oddsBlock]
	factor                     dense.Factor // Cholesky factor for the members, kept in triangle
	triangle, projected, inner []float64
}

func (s *birthState) join(c int) {
	s.memberIndex[c] = len(s.members)
	s.members, s.rowsOf = append(s.members, c), append(s.rowsOf, s.products(c))
}

func (s *birthState) leave(c int) {
	k := len(s.members) - 1
	last, at := s.members[k], s.memberIndex[c]
	s.members[at], s.rowsOf[at], s.memberIndex[last] = last, s.rowsOf[k], at
	s.members, s.rowsOf, s.memberIndex[c] = s.members[:k], s.rowsOf[:k], -1
}

// variance returns the prior variance of a column.
func (s *birthState) variance(c int) float64 {
	if c < s.fixed {
		return s.ridge[c]
	}
	return s.slab
}

// rates sets odds and sums to numbers in proportion to the odds of adding each column, with the
// evidence raised to the argument power. It returns the sum of the odds themselves.
func (s *birthState) rates(power float64) float64 {
	sizes, k := s.prior.Sizes, len(s.members)-s.fixed
	if k == s.target.Space.Slots() || math.IsInf(sizes[k+1], -1) {
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
	began := s.modelOdds
	s.beginVisits()
	for left := float64(sweepTime); ; {
		if !s.rated {
			s.rate, s.rated = s.rates(power), true
		}
		births, deaths := s.rate, float64(len(s.members)-s.fixed)
		if math.IsNaN(births) { // rounding errors exceed the part of a column that the model does not explain; the caller reports this
			return births
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
	s.births.visits.Put(s.visits)
	s.modelOdds, s.visits = began, nil
	if s.logEvidence = s.evidenceAt(s.logSigma); !(math.Abs(updated-s.logEvidence) <= jumpError) {
		return math.NaN()
	}
	if bits := s.target; bits.Scale >= 0 {
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
	if !s.refresh() {
		return math.NaN()
	}
	return s.logEvidence
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
	c.triangle, c.projected, c.inner, c.visits = nil, nil, nil, nil
	return &c
}

// Draw writes the model to code, and to theta a draw of the coefficients and the noise scale given
// the model. The noise scale of the state is not used.
func (s *birthState) Draw(random *rand.Rand, code []int32, theta []float64) (logDensity float64, err error) {
	set, logPrior := make([]int32, 0, len(s.members)), s.prior.Sizes[len(s.members)-s.fixed]
	for _, c := range s.members[s.fixed:] {
		set = append(set, int32(c-s.fixed))
		logPrior += s.prior.Member(c - s.fixed)
	}
	s.target.Space.Code(set, code)
	model := s.target.Active(code)
	p, err := s.target.Posterior(model)
	if err != nil {
		return 0, err
	}
	return logPrior + p.LogEvidence() + model.Draw(p, random, theta), nil
}
