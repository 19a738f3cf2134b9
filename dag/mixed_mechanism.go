package dag

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/logsum"
)

// mixedMechanism is a node of a mixed table with its parameters: for each of K outcomes an
// intercept and the coefficients of the columns of its parents. A number has one outcome, its mean,
// and log σ besides; a category with r levels has r − 1, contrasts of its linear predictors.
type mixedMechanism struct {
	columns *mixedColumns
	node    int
	of      []int     // columns of the parents [k]
	theta   []float64 // [K (1 + k)], and log σ of a number
	levels  [][]float64
}

// mechanism is that of a family with parameters.
func (m *mixedColumns) mechanism(f dgraph.Family, theta []float64) *mixedMechanism {
	own := &mixedMechanism{columns: m, node: f.Node, of: m.columns(f.Parents), theta: theta}
	if m.data.category(f.Node) {
		own.levels = m.contrasts[f.Node]
	}
	return own
}

// predictor is that of an outcome given a row of columns [M].
func (m *mixedMechanism) predictor(outcome int, row []float64) float64 {
	own := m.theta[outcome*(1+len(m.of)):]
	sum := own[0]
	for a, column := range m.of {
		sum += own[1+a] * row[column]
	}
	return sum
}

// noise is σ of a number.
func (m *mixedMechanism) noise() float64 { return math.Exp(m.theta[len(m.theta)-1]) }

// probabilities fills those of the levels of a category, [r].
func (m *mixedMechanism) probabilities(row, p []float64) {
	clear(p)
	for k := range len(p) - 1 {
		value := m.predictor(k, row)
		for level, h := range m.levels {
			p[level] += h[k] * value
		}
	}
	total := logsum.Of(p)
	for level := range p {
		p[level] = math.Exp(p[level] - total)
	}
}

// set writes the value of a node into a row of columns: a number, or the place of a level.
func (m *mixedColumns) set(row []float64, node int, value float64) {
	if !m.data.category(node) {
		row[m.of[node][0]] = value
		return
	}
	for k, h := range m.contrasts[node][int(value)] {
		row[m.of[node][k]] = h
	}
}

// mixedTable are the columns of a problem with mixed mechanisms.
func (p *Problem) mixedTable() *mixedColumns {
	if form, ok := usual(p.mixed[0]).(*logisticForm); ok {
		return form.columns
	}
	return usual(p.mixed[0]).(*groupsForm).columns
}

// posterior draws σ from its inverse gamma distribution, the weights given it, and the intercept
// given both.
func (g *groupsForm) posterior(parents dgraph.Set) func(*rand.Rand) []float64 {
	of := g.columns.columns(parents)
	draw := g.form.draws(of, g.degrees(parents))
	return func(random *rand.Rand) []float64 {
		sigma, weights := draw(random)
		mean := g.form.means[g.form.node]
		for a, column := range of {
			mean -= weights[a] * g.form.means[column]
		}
		theta := append([]float64{g.form.interceptGiven(mean, sigma, random)}, weights...)
		return append(theta, math.Log(sigma))
	}
}

// Draws of coefficients come in batches, of which some are kept in proportion to their weights.
// Chosen by hand.
const (
	batchPairs = 64
	batchKept  = 16
)

// posterior draws coefficients by importance resampling of draws that nearly have their posterior
// distribution.
func (l *logisticForm) posterior(parents dgraph.Set) func(*rand.Rand) []float64 {
	of := l.columns.columns(parents)
	var proposal *logisticProposal
	var batch *logisticDraws
	var cumulative []float64
	left := 0
	return func(random *rand.Rand) []float64 {
		if proposal == nil {
			if proposal = l.family(parents).posteriorProposal(random); proposal == nil { // overflow
				none := make([]float64, (len(l.contrasts)-1)*(1+len(of)))
				floats.AddConst(math.NaN(), none)
				return none
			}
		}
		if left == 0 {
			left, batch, cumulative = batchKept, &logisticDraws{}, nil
			for range batchPairs {
				proposal.pair(random, batch)
			}
			norm, total := logsum.Of(batch.logs), 0.0
			for _, log := range batch.logs {
				total += math.Exp(log - norm)
				cumulative = append(cumulative, total)
			}
		}
		left--
		theta := append([]float64(nil), batch.thetas[drawIndex(random, cumulative)]...)
		for at := 0; at < len(theta); at += 1 + len(of) { // columns are centred
			for a, column := range of {
				theta[at] -= theta[at+1+a] * l.means[column]
			}
		}
		return theta
	}
}

// outcome is the distribution of the node given a row of columns, on the working scale.
func (m *mixedMechanism) outcome(row []float64) conditionalRow {
	if m.levels == nil {
		return conditionalRow{mean: m.predictor(0, row), sd: m.noise()}
	}
	own := conditionalRow{levels: make([]float64, len(m.levels))}
	m.probabilities(row, own.levels)
	return own
}

// certain is the distribution of a node whose value is known.
func (m *mixedMechanism) certain(x float64) conditionalRow {
	if m.levels == nil {
		return conditionalRow{mean: x}
	}
	own := conditionalRow{levels: make([]float64, len(m.levels))}
	own.levels[int(x)] = 1
	return own
}

// draw draws the value of the node given a row of columns.
func (m *mixedMechanism) draw(row []float64, random *rand.Rand) float64 {
	own := m.outcome(row)
	if own.levels != nil {
		return float64(pickLevel(own.levels, random.Float64()))
	}
	return own.mean + own.sd*random.NormFloat64()
}

// logDensity is that of a value of the node given a row of columns.
func (m *mixedMechanism) logDensity(row []float64, x float64) float64 {
	own := m.outcome(row)
	if own.levels != nil {
		return math.Log(own.levels[int(x)])
	}
	return -square((x-own.mean)/own.sd)/2 - math.Log(own.sd) - halfLog2Pi
}

// conditionalRow is the distribution of the target in a simulated row: normal, or probabilities of
// levels. Weights of rows add up to one.
type conditionalRow struct {
	weight, mean, sd float64
	levels           []float64
}
