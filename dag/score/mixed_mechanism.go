package score

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/pick"
)

// MixedMechanism is a node of a mixed table with its parameters: for each of K outcomes an
// intercept and the coefficients of the columns of its parents. A number has one outcome, its mean,
// and log σ besides; a category with r levels has r − 1, contrasts of its linear predictors.
type MixedMechanism struct {
	columns *MixedColumns
	Node    int
	parents []int     // columns of the parents [k]
	theta   []float64 // [K (1 + k)], and log σ of a number
	Levels  [][]float64
}

// Mechanism is the mechanism of a family with parameters.
func (m *MixedColumns) Mechanism(f dgraph.Family, theta []float64) *MixedMechanism {
	made := &MixedMechanism{columns: m, Node: f.Node, parents: m.withProducts(f.Parents), theta: theta}
	if m.data.Category(f.Node) {
		made.Levels = m.Contrasts[f.Node]
	}
	return made
}

// Predictor is the linear predictor of an outcome given a row of columns [M].
func (m *MixedMechanism) Predictor(outcome int, row []float64) float64 {
	coefficients := m.theta[outcome*(1+len(m.parents)):]
	sum := coefficients[0]
	for a, column := range m.parents {
		sum += coefficients[1+a] * m.columns.value(row, column)
	}
	return sum
}

// Noise is σ of a number.
func (m *MixedMechanism) Noise() float64 { return math.Exp(m.theta[len(m.theta)-1]) }

// Probabilities fills the probabilities of the levels of a category, [r].
func (m *MixedMechanism) Probabilities(row, p []float64) {
	clear(p)
	for k := range len(p) - 1 {
		value := m.Predictor(k, row)
		for level, h := range m.Levels {
			p[level] += h[k] * value
		}
	}
	logsum.Shares(p)
}

// Set writes the value of a node into the columns of a row: a number, or the place of a level.
func (m *MixedColumns) Set(row []float64, node int, value float64) {
	if !m.data.Category(node) {
		at := m.Of[node][0]
		row[at] = value
		if curve := m.curves[node]; curve != nil {
			curve.At(value, row[at+1:at+1+curve.Functions()])
		}
		return
	}
	for k, h := range m.Contrasts[node][int(value)] {
		row[m.Of[node][k]] = h
	}
}

// MixedTable are the columns of a problem with mixed mechanisms.
func (p *Problem) MixedTable() *MixedColumns {
	if form, ok := Usual(p.Mixed[0]).(*logisticForm); ok {
		return form.columns
	}
	return Usual(p.Mixed[0]).(*groupsForm).columns
}

// Posterior draws σ from its inverse gamma distribution, then the weights, then the intercept.
func (g *groupsForm) Posterior(parents dgraph.Set) func(*rand.Rand) []float64 {
	single, all := g.columns.columns(parents), g.columns.withProducts(parents)
	_, share, _ := g.both(parents)
	drawSingle, drawAll := g.form.draws(single, g.degrees(parents)), g.form.draws(all, g.degrees(parents))
	return func(random *rand.Rand) []float64 {
		draw := drawAll
		if share > 0 && random.Float64() < share {
			draw = drawSingle // products come last
		}
		sigma, weights := draw(random)
		mean := g.form.means[g.form.node]
		for a, weight := range weights {
			mean -= weight * g.form.means[all[a]]
		}
		theta := make([]float64, 1+len(all), 2+len(all))
		theta[0] = g.form.interceptGiven(mean, sigma, random)
		copy(theta[1:], weights)
		return append(theta, math.Log(sigma))
	}
}

// Draws of coefficients come in batches from a t distribution; some draws are kept in proportion to
// their weights. Its tails are heavy: a batch of nearly normal draws would not show the long side
// of a skew posterior (of separated levels, 3% of a standard deviation). Not tuned.
const (
	batchPairs   = 64
	batchKept    = 16
	batchDegrees = 5
)

// Posterior draws coefficients by importance resampling.
func (l *logisticForm) Posterior(parents dgraph.Set) func(*rand.Rand) []float64 {
	columns := l.columns.columns(parents)
	var proposal *logisticProposal
	var batch *logisticDraws
	var table pick.Table
	left := 0
	return func(random *rand.Rand) []float64 {
		if proposal == nil {
			family := l.family(parents)
			center, factor, found := family.mode()
			if !found { // overflow
				floats.AddConst(math.NaN(), center)
				return center
			}
			proposal = family.proposal(center, factor, batchDegrees)
		}
		if left == 0 {
			left, batch = batchKept, &logisticDraws{}
			for range batchPairs {
				proposal.pair(random, batch)
			}
			table = pick.NewTable(logsum.Shares(slices.Clone(batch.logs)))
		}
		left--
		theta := append([]float64(nil), batch.thetas[table.Index(random.Float64())]...)
		for at := 0; at < len(theta); at += 1 + len(columns) { // columns are centred
			for a, column := range columns {
				theta[at] -= theta[at+1+a] * l.means[column]
			}
		}
		return theta
	}
}

// Outcome is the distribution of the node, on the working scale, given a row of columns [M].
func (m *MixedMechanism) Outcome(row []float64) Outcome {
	if m.Levels == nil {
		return Outcome{Mean: m.Predictor(0, row), SD: m.Noise()}
	}
	outcome := Outcome{Levels: make([]float64, len(m.Levels))}
	m.Probabilities(row, outcome.Levels)
	return outcome
}

// Certain is the distribution of a node whose value is known.
func (m *MixedMechanism) Certain(x float64) Outcome {
	if m.Levels == nil {
		return Outcome{Mean: x}
	}
	outcome := Outcome{Levels: make([]float64, len(m.Levels))}
	outcome.Levels[int(x)] = 1
	return outcome
}

// Draw draws a value of the node given a row of columns.
func (m *MixedMechanism) Draw(row []float64, random *rand.Rand) float64 {
	outcome := m.Outcome(row)
	if outcome.Levels != nil {
		return float64(pick.Index(outcome.Levels, random.Float64()))
	}
	return outcome.Mean + outcome.SD*random.NormFloat64()
}

// LogDensity is the log density of a value of the node given a row of columns.
func (m *MixedMechanism) LogDensity(row []float64, x float64) float64 {
	outcome := m.Outcome(row)
	if outcome.Levels != nil {
		return math.Log(outcome.Levels[int(x)])
	}
	return -dgraph.Square((x-outcome.Mean)/outcome.SD)/2 - math.Log(outcome.SD) - HalfLog2Pi
}

// Outcome is the distribution of the target in a simulated row: normal, or probabilities of
// levels. Weights of rows add up to one.
type Outcome struct {
	Weight, Mean, SD float64
	Levels           []float64
}
