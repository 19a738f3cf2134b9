package wide

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti/internal/dense"
)

// birthProcess is the memory of sweeps of births and deaths. A sweep moves a model among some of
// the columns of a table. The columns of a sweep are numbered in the order of the field columns,
// where the fixed columns come first.
type birthProcess struct {
	*births
	moments
	columns []int  // columns of the table, the members at the start of the sweep first [S]
	chosen  []bool // whether each column of the table is in the sweep [C]
	// modelOdds holds the odds of the model, and before the odds of the previous model, which
	// differs in the column with number flipped. An improbable member leaves soon, and a member
	// without which the model is improbable comes back at once.
	*modelOdds
	before  *modelOdds
	flipped int
	// terms and weights as in births, for the columns of the sweep [S]
	terms, weights []float64
	members        []int // members of the model, the fixed columns first
	memberIndex    []int // index of each column in members, or −1 [S]
	logSigma       float64
	rows           [][]float64  // inner products of a column with all columns of the sweep, nil if they are not known [S]
	rowsOf         [][]float64  // rows of the members
	memory         [][]float64  // for rows
	work, other    []float64    // scratch [S]
	factor         dense.Factor // Cholesky factor for the members, kept in triangle

	triangle, projected, inner []float64
}

// modelOdds holds the odds of adding each column to one model, given σ. With V the covariance of
// the responses y given the model, and s² the prior variance of the coefficient of a predictor,
// grown and linear hold 1 + s² x'V⁻¹x and x'V⁻¹y for the columns x of a sweep [S].
type modelOdds struct {
	logEvidence   float64 // log p(y | m, σ)
	grown, linear []float64
	// If rated is true, rate is the sum of the odds of adding each column, odds holds numbers in
	// proportion to these odds, and sum their sum.
	rated     bool
	rate, sum float64
	odds      []float64
}

// begin chooses the columns of a sweep that begins at the given model. The inner products of these
// columns (moments) must be set before enter is called.
func (p *birthProcess) begin(m *birthModel, random *rand.Rand) {
	if p.chosen == nil {
		p.chosen, p.modelOdds, p.before = make([]bool, p.births.columns), &modelOdds{}, &modelOdds{}
	}
	p.choose(m.members, random)
	for _, row := range p.rows {
		if row != nil {
			p.memory = append(p.memory, row)
		}
	}
	clear(p.rows)
	count := len(p.columns)
	for _, numbers := range []*[]float64{&p.norms, &p.along, &p.work, &p.other} {
		*numbers = resized(*numbers, count)
	}
	for _, m := range []*modelOdds{p.modelOdds, p.before} {
		m.grown, m.linear, m.odds = resized(m.grown, count), resized(m.linear, count), resized(m.odds, count)
	}
	p.flipped, p.rated = -1, false
	p.rows, p.memberIndex = resized(p.rows, count), resized(p.memberIndex, count)
	for c := range p.memberIndex {
		p.memberIndex[c] = -1
	}
	p.members, p.rowsOf, p.logSigma = p.members[:0], p.rowsOf[:0], m.logSigma
	if p.births.terms != nil {
		p.terms, p.weights = resized(p.terms, count), resized(p.weights, count)
		for k, c := range p.columns {
			p.terms[k], p.weights[k] = p.births.terms[c], p.births.weights[c]
		}
	}
}

// enter makes the first columns the model, where the argument members is their number, and computes
// the odds of all columns. It returns false if rounding errors are too large.
func (p *birthProcess) enter(members int) (precise bool) {
	for c := range members {
		p.join(c)
	}
	return p.refresh()
}

// end makes the present model the model of m.
func (p *birthProcess) end(m *birthModel) {
	m.members, m.logSigma = m.members[:0], p.logSigma
	for _, c := range p.members {
		m.members = append(m.members, p.columns[c])
	}
}

// rowOf returns the inner products of column c with all columns.
func (p *birthProcess) rowOf(c int) []float64 {
	if p.rows[c] == nil {
		p.rows[c] = resized(p.newRow(), len(p.columns))
		p.row(c, p.rows[c])
	}
	return p.rows[c]
}

// newRow returns memory for a row.
func (p *birthProcess) newRow() (row []float64) {
	if last := len(p.memory) - 1; last >= 0 {
		row, p.memory = p.memory[last][:0], p.memory[:last]
	}
	return row
}

// resized returns a list of n elements with unknown values, in the memory of list if it suffices.
func resized[T any](list []T, n int) []T { return slices.Grow(list[:0], n)[:n] }

func (p *birthProcess) join(c int) {
	p.memberIndex[c] = len(p.members)
	p.members, p.rowsOf = append(p.members, c), append(p.rowsOf, p.rowOf(c))
}

func (p *birthProcess) leave(c int) {
	k := len(p.members) - 1
	last, at := p.members[k], p.memberIndex[c]
	p.members[at], p.rowsOf[at], p.memberIndex[last] = last, p.rowsOf[k], at
	p.members, p.rowsOf, p.memberIndex[c] = p.members[:k], p.rowsOf[:k], -1
}

// variance returns the prior variance of the coefficient of a column.
func (p *birthProcess) variance(c int) float64 {
	sd := p.target.SD[p.columns[c]]
	return sd * sd
}

// rates sets the odds to numbers in proportion to the odds of adding each column, with the evidence
// raised to the argument power. It returns the sum of the odds themselves.
func (p *birthProcess) rates(power float64) float64 {
	sizes, k := p.prior.Sizes, len(p.members)-p.fixed
	if k == p.slots || math.IsInf(sizes[k+1], -1) {
		return 0
	}
	if p.sum = p.setOdds(power, 0); !(p.sum <= mostBirthOdds) {
		p.sum = p.setOdds(power, vectors.MaxOf(p.logFactors(power))-math.Log(mostBirthOdds))
	}
	return p.sum * math.Exp(sizes[k+1]-sizes[k])
}

// mostBirthOdds bounds the sum of the odds of adding columns, apart from the prior of the model's
// size. If the sum is larger, all odds are divided by the same number and stay in proportion. No
// member is then removed before the next column is added.
const mostBirthOdds = 1e260

// setOdds sets the odds to the Bayes factors for adding each column, times the weight of the
// column, divided by exp(shift). Members get 0. It returns the sum.
func (p *birthProcess) setOdds(power, shift float64) float64 {
	if power == 1 && shift == 0 { // a square root takes less time than a logarithm
		vectors.ExpRatio(p.odds, p.linear, p.grown, p.slab/2)
		if p.births.terms != nil {
			vectors.Mul(p.odds, p.odds, p.weights)
		}
	} else {
		vectors.AddScalar(p.odds, p.logFactors(power), -shift)
		vectors.Exp(p.odds, p.odds)
	}
	for _, c := range p.members {
		p.odds[c] = 0
	}
	return vectors.Sum(p.odds)
}

// logFactors sets the odds to the logs of Bayes factors for adding each column, times power, plus
// the column's term, and returns them.
func (p *birthProcess) logFactors(power float64) []float64 {
	logs := p.odds
	vectors.Mul(logs, p.linear, p.linear)
	vectors.Div(logs, logs, p.grown)
	vectors.Log(p.work, p.grown)
	vectors.AddScaled(logs, logs, p.work, -1/p.slab)
	vectors.MulScalar(logs, logs, power*p.slab/2)
	if p.births.terms != nil {
		vectors.AddScaled(logs, logs, p.terms, 1)
	}
	for _, c := range p.members {
		logs[c] = math.Inf(-1)
	}
	return logs
}

// pick returns a column, drawn in proportion to the odds by a uniform number u below 1.
func (p *birthProcess) pick(u float64) int {
	picked := -1
	u *= p.sum
	for c, odds := range p.odds {
		if odds > 0 {
			picked = c
			if u -= odds; u < 0 {
				break
			}
		}
	}
	return picked
}

// run runs the process for the argument duration. It returns false if rounding errors are too
// large.
func (p *birthProcess) run(duration, power float64, random *rand.Rand) (precise bool) {
	for left := duration; ; {
		if !p.rated {
			p.rate, p.rated = p.rates(power), true
		}
		births, deaths := p.rate, float64(len(p.members)-p.fixed)
		if math.IsNaN(births) { // rounding errors exceed the part of a column that the model does not explain; the caller reports this
			return false
		}
		if left -= random.ExpFloat64() / (births + deaths); left < 0 || births+deaths == 0 {
			break
		}
		if u := random.Float64() * (births + deaths); u < deaths {
			p.flip(p.members[p.fixed+int(u)])
		} else if c := p.pick((u - deaths) / births); c >= 0 {
			p.flip(c)
		}
	}
	updated := p.logEvidence
	p.logEvidence = p.evidenceAt(p.logSigma)
	return math.Abs(updated-p.logEvidence) <= jumpError
}

// moveScale moves the noise scale given the model, by Metropolis steps.
func (p *birthProcess) moveScale(power float64, random *rand.Rand) {
	bits := p.target
	if bits.Scale < 0 {
		return
	}
	logPrior := func(logSigma float64) float64 {
		standard := (logSigma - bits.Mean[bits.Scale]) / bits.SD[bits.Scale]
		return -0.5 * standard * standard
	}
	for range sigmaSteps {
		to := p.logSigma + sigmaStep*random.NormFloat64()
		evidence := p.evidenceAt(to)
		if -random.ExpFloat64() < power*(evidence-p.logEvidence)+logPrior(to)-logPrior(p.logSigma) {
			p.logSigma, p.logEvidence = to, evidence
		}
	}
}
