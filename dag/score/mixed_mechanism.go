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

// MixedMechanism is the mechanism of a node in a mixed table with its parameters: for each of K
// outcomes an intercept and the coefficients of the columns of the parents. A number has one
// outcome, its mean, and log σ in addition. A category with r levels has r − 1 outcomes, contrasts
// of its linear predictors.
type MixedMechanism struct {
	columns *MixedColumns
	Node    int
	parents []int     // columns of the parents [k]
	theta   []float64 // coefficients [K (1 + k)], followed by log σ for a number
	Levels  [][]float64
}

// Mechanism returns the mechanism of a family, a node with a set of parents, with the given
// parameters.
func (m *MixedColumns) Mechanism(f dgraph.Family, theta []float64) *MixedMechanism {
	made := &MixedMechanism{columns: m, Node: f.Node, parents: m.withProducts(f.Parents), theta: theta}
	if m.data.Category(f.Node) {
		made.Levels = m.Contrasts[f.Node]
	}
	return made
}

// Predictor returns the linear predictor of an outcome, given the values of a row in all M columns.
func (m *MixedMechanism) Predictor(outcome int, row []float64) float64 {
	coefficients := m.theta[outcome*(1+len(m.parents)):]
	sum := coefficients[0]
	for a, column := range m.parents {
		sum += coefficients[1+a] * m.columns.value(row, column)
	}
	return sum
}

// Noise returns the noise scale σ of a number.
func (m *MixedMechanism) Noise() float64 { return math.Exp(m.theta[len(m.theta)-1]) }

// Probabilities sets p to the probabilities of the levels of a category [r].
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

// Set writes the value of a node into the columns of a row. The value is a number, or the index of
// a level.
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

// MixedTable returns the columns of a problem with mixed mechanisms.
func (p *Problem) MixedTable() *MixedColumns {
	if form, ok := FormsOf(p.Mixed[0])[0].(*logisticForm); ok {
		return form.columns
	}
	return FormsOf(p.Mixed[0])[0].(*groupsForm).columns
}

// Posterior returns a function that draws σ from its inverse gamma distribution, then the weights,
// and then the intercept.
func (g *groupsForm) Posterior(parents dgraph.Set) func(*rand.Rand) []float64 {
	single, all := g.columns.columns(parents), g.columns.withProducts(parents)
	_, share, _ := g.both(parents)
	drawSingle, drawAll := g.form.draws(single, g.degrees(parents)), g.form.draws(all, g.degrees(parents))
	return func(random *rand.Rand) []float64 {
		draw := drawAll
		if share > 0 && random.Float64() < share {
			draw = drawSingle // columns of products come last, and their coefficients stay zero
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

// Coefficients are drawn in batches of batchPairs pairs from a t distribution with batchDegrees
// degrees of freedom around the mode, and batchKept of each batch are kept, at random in proportion
// to their importance weights. The t distribution has heavy tails, because a batch of nearly normal
// draws would miss the long tail of a skew posterior. Half and twice the values give the same
// answers (docs/benchmarks/constants.md).
const (
	batchPairs   = 64
	batchKept    = 16
	batchDegrees = 5
)

// Posterior returns a function that draws coefficients by importance resampling.
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
			if !found { // values overflow
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
		for at := 0; at < len(theta); at += 1 + len(columns) { // intercepts for columns that are not centred
			for a, column := range columns {
				theta[at] -= theta[at+1+a] * l.means[column]
			}
		}
		return theta
	}
}

// Outcome returns the distribution of the node, on the scale of the scaled columns, given the
// values of a row in all M columns.
func (m *MixedMechanism) Outcome(row []float64) Outcome {
	if m.Levels == nil {
		return Outcome{Mean: m.Predictor(0, row), SD: m.Noise()}
	}
	outcome := Outcome{Levels: make([]float64, len(m.Levels))}
	m.Probabilities(row, outcome.Levels)
	return outcome
}

// Certain returns the distribution of a node that has the value x with certainty.
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

// LogDensity returns the log density of the value x of the node, given a row of columns.
func (m *MixedMechanism) LogDensity(row []float64, x float64) float64 {
	outcome := m.Outcome(row)
	if outcome.Levels != nil {
		return math.Log(outcome.Levels[int(x)])
	}
	return -dgraph.Square((x-outcome.Mean)/outcome.SD)/2 - math.Log(outcome.SD) - HalfLog2Pi
}

// Outcome is the distribution of a node in a simulated row: a normal distribution, or probabilities
// of levels. Weight is the weight of the row; the weights of all rows add up to one.
type Outcome struct {
	Weight, Mean, SD float64
	Levels           []float64
}
