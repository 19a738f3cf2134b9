package dag

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/logsum"
)

// parameterSource draws the parameters of a family from their posterior, zero where not in use.
type parameterSource func(family int) []float64

// sortBy sorts places by a key, ascending, ties by place.
func sortBy(order []int, key func(int) float64) {
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(key(a), key(b)), cmp.Compare(a, b)) })
}

// drawIndex picks a place in proportion to the steps of a cumulative sum.
func drawIndex(random *rand.Rand, cumulative []float64) int {
	u := random.Float64() * cumulative[len(cumulative)-1]
	return min(sort.SearchFloat64s(cumulative, u), len(cumulative)-1)
}

// exactParameters draws from closed forms: the weights given the noise, and an unknown noise scale
// from a fine grid.
func (p *Problem) exactParameters(families []dgraph.Family, random *rand.Rand) parameterSource {
	stats := make([]*linearStats, p.Data.Nodes())
	known := map[int]*linearPosterior{}
	l := p.layout()
	return func(family int) []float64 {
		f := families[family]
		own, ok := known[family]
		if !ok {
			if stats[f.Node] == nil {
				stats[f.Node] = newLinearStats(p.Data, f.Node)
			}
			if len(known) == mostKept {
				clear(known)
			}
			own = stats[f.Node].posterior(f.Parents, p.Model.Sigma, p.Model.PriorSD)
			known[family] = own
		}
		theta := make([]float64, l.dim())
		logSigma, weights := own.draw(random)
		for k, i := range f.Parents.List() {
			theta[i] = weights[k]
		}
		if l.sigma == 0 {
			theta[l.weights()] = logSigma
		}
		return theta
	}
}

// linearPosterior is the posterior of the parameters of a linear family.
type linearPosterior struct {
	spectrum
	priorSD    float64
	first      float64   // log σ of the first cell of a grid, or known
	step       float64   // 0: known
	cumulative []float64 // of the probabilities of cells
}

func (s *linearStats) posterior(parents dgraph.Set, sigma, priorSD float64) *linearPosterior {
	out := &linearPosterior{spectrum: s.spectrum(parents), priorSD: priorSD, first: math.Log(sigma)}
	if sigma > 0 {
		return out
	}
	type cell struct{ logSigma, logDensity float64 }
	var cells []cell
	top := math.Inf(-1)
	out.step = out.overNoise(s.logSD, priorSD, noiseCell, func(logSigma, logDensity float64) {
		cells = append(cells, cell{logSigma, logDensity})
		top = math.Max(top, logDensity)
	})
	slices.SortFunc(cells, func(a, b cell) int { return cmp.Compare(a.logSigma, b.logSigma) })
	cells = slices.DeleteFunc(cells, func(c cell) bool { return !(c.logDensity > top-logsum.Negligible/2) })
	out.first = cells[0].logSigma
	total := 0.0
	for _, c := range cells {
		// Cells between two modes may be left out.
		for float64(len(out.cumulative)) < math.Round((c.logSigma-out.first)/out.step) {
			out.cumulative = append(out.cumulative, total)
		}
		total += math.Exp(c.logDensity - top)
		out.cumulative = append(out.cumulative, total)
	}
	return out
}

// draw draws log σ and the weights of the parents.
func (p *linearPosterior) draw(random *rand.Rand) (logSigma float64, weights []float64) {
	logSigma = p.first
	if p.step > 0 {
		logSigma += p.step * (float64(drawIndex(random, p.cumulative)) + random.Float64() - 0.5)
	}
	precision := math.Exp(-2 * logSigma)
	weights = make([]float64, len(p.values))
	for k, value := range p.values {
		own := value*precision + 1/square(p.priorSD)
		along := p.signed[k]*precision/own + random.NormFloat64()/math.Sqrt(own)
		for i := range weights {
			weights[i] += p.vectors.At(i, k) * along
		}
	}
	return logSigma, weights
}

// logJoint is log p(x_j, θ | x_pa) of a linear family.
func (s *linearStats) logJoint(l layout, f dgraph.Family, theta []float64, priorSD float64) float64 {
	sum := 0.0
	residual := mat.Col(nil, f.Node, s.root()) // not by sums of squares, which would cancel
	for i := range f.Parents.Nodes() {
		for row := range residual {
			residual[row] -= theta[i] * s.root().At(row, i)
		}
		sum -= square(theta[i]/priorSD)/2 + math.Log(priorSD) + halfLog2Pi
	}
	logSigma := l.logSigma(theta)
	sum -= floats.Dot(residual, residual)*math.Exp(-2*logSigma)/2 + float64(s.rows)*(logSigma+halfLog2Pi)
	if l.sigma == 0 {
		sum -= square((logSigma-s.logSD)/logSigmaSD)/2 + math.Log(logSigmaSD) + halfLog2Pi
	}
	return sum
}

// Parameter is the posterior of the effect of one node on another given that the edge is there: the
// slope of the mechanism, in units of the table (or of its logarithms), averaged over the rows. For
// linear mechanisms it is the coefficient.
type Parameter struct {
	From string `json:"from"`
	To   string `json:"to"`
	Prob Number `json:"prob"`
	Mean Number `json:"mean"`
	SD   Number `json:"sd"`
	Q025 Number `json:"q025"`
	Q975 Number `json:"q975"`
}

// Sizes of summaries by draws.
const (
	linearDraws     = 4000 // of a parameter; of networks, whose slopes take longer:
	networkDraws    = 400
	slopeRows       = 200  // rows that the slope of a network is averaged over
	leastParameter  = 0.01 // edges less probable than this have no summary
	checkDraws      = 200
	checkReplicates = 400
	// of a posterior of log σ, in units of overNoise: the error of a variance is a part in 2,000
	noiseCell = 0.1
	mostKept  = 1 << 14 // families whose posterior is kept for more draws
)

// mixture is a list of families with the probability of each: what is known of single nodes.
type mixture struct {
	families []dgraph.Family
	shares   []float64
}

// draws returns a source of families among those that a condition holds for, in proportion to their
// shares; nil if there are none.
func (m mixture) draws(random *rand.Rand, condition func(dgraph.Family) bool) func() int {
	var places []int
	var cumulative []float64
	total := 0.0
	for f, family := range m.families {
		if m.shares[f] > 0 && condition(family) {
			total += m.shares[f]
			places, cumulative = append(places, f), append(cumulative, total)
		}
	}
	if places == nil {
		return nil
	}
	return func() int { return places[drawIndex(random, cumulative)] }
}

// edges are the edge probabilities, [N][N].
func (m mixture) edges(nodes int) [][]float64 {
	probabilities := zeros(nodes)
	for f, family := range m.families {
		for i := range family.Parents.Nodes() {
			// shares add up to one but for rounding
			probabilities[i][family.Node] = math.Min(probabilities[i][family.Node]+m.shares[f], 1)
		}
	}
	return probabilities
}

// parameterDraws is the number of draws behind the summary of a parameter.
func (p *Problem) parameterDraws() int {
	if p.Model.Mechanism == Linear {
		return linearDraws
	}
	return networkDraws
}

// effects summarises the mechanisms by edge.
func (p *Problem) effects(posterior mixture, source parameterSource, random *rand.Rand) (list []Parameter) {
	probabilities, draws := posterior.edges(p.Data.Nodes()), p.parameterDraws()
	for _, e := range dgraph.OrderedPairs(p.Data.Nodes()) {
		if probabilities[e.From][e.To] < leastParameter {
			continue
		}
		families := posterior.draws(random, func(f dgraph.Family) bool { return f.Node == e.To && f.Parents.Has(e.From) })
		slopes := make([]float64, draws)
		for i := range slopes {
			theta := source(families())
			slopes[i] = p.slope(theta, e.From) * p.Data.Scale[e.To] / p.Data.Scale[e.From]
		}
		slices.Sort(slopes)
		own := Parameter{From: p.Data.Names[e.From], To: p.Data.Names[e.To], Prob: Number(probabilities[e.From][e.To])}
		var mean, squares float64
		for _, x := range slopes {
			mean += x / float64(draws)
		}
		for _, x := range slopes {
			squares += square(x-mean) / float64(draws-1)
		}
		own.Mean, own.SD = Number(mean), Number(math.Sqrt(squares))
		own.Q025, own.Q975 = Number(slopes[draws*25/1000]), Number(slopes[draws*975/1000])
		list = append(list, own)
	}
	return list
}

// slope is the derivative of a mechanism with respect to a parent, averaged over rows that are
// spread evenly.
func (p *Problem) slope(theta []float64, from int) (slope float64) {
	l := p.layout()
	if l.mechanism == Linear {
		return theta[from]
	}
	rows := min(p.Data.Rows(), slopeRows)
	for k := range rows {
		row := p.Data.X.RawRowView(k * p.Data.Rows() / rows)
		for h := range l.hidden {
			var input float64
			for i, x := range row {
				input += theta[i*l.hidden+h] * x
			}
			if l.bias {
				input += theta[l.b1()+h]
			}
			if input > 0 {
				slope += theta[l.w2()+h] * theta[from*l.hidden+h] / float64(rows)
			}
		}
	}
	return slope
}

// NodeCheck compares the residuals of a node, (x − f)/σ, with what the model says of them:
// independent standard normals. Each number is the posterior predictive probability of a statistic
// at least as large as that of the data; near 0 or 1 the model does not fit.
type NodeCheck struct {
	Node     string `json:"node"`
	Spread   Number `json:"spread"`   // standard deviation
	Skewness Number `json:"skewness"` // third moment
	Kurtosis Number `json:"kurtosis"` // fourth moment: heavy tails
}

// checkNodes makes the posterior-predictive checks.
func (p *Problem) checkNodes(posterior mixture, source parameterSource, random *rand.Rand) (checks []NodeCheck) {
	l := p.layout()
	for j, name := range p.Data.Names {
		rows := p.Data.rowsOf(j)
		replicated := make([]moments, checkReplicates)
		for r := range replicated {
			for range rows {
				replicated[r].add(random.NormFloat64())
			}
		}
		families := posterior.draws(random, func(f dgraph.Family) bool { return f.Node == j })
		check := NodeCheck{Node: name}
		for range checkDraws {
			theta := source(families())
			sigma := math.Exp(l.logSigma(theta))
			var own moments
			for row := range p.Data.Rows() {
				if p.Data.counts(row, j) {
					values := p.Data.X.RawRowView(row)
					own.add((values[j] - l.mean(theta, values)) / sigma)
				}
			}
			for _, other := range replicated {
				const share = 1.0 / (checkDraws * checkReplicates)
				check.Spread += Number(share * indicator(other.spread() >= own.spread()))
				check.Skewness += Number(share * indicator(other.standard(3) >= own.standard(3)))
				check.Kurtosis += Number(share * indicator(other.standard(4) >= own.standard(4)))
			}
		}
		checks = append(checks, check)
	}
	return checks
}

// moments are sums of powers of residuals.
type moments struct{ n, first, second, third, fourth float64 }

func (m *moments) add(x float64) {
	m.n++
	m.first += x
	m.second += x * x
	m.third += x * x * x
	m.fourth += x * x * x * x
}

func (m *moments) spread() float64 {
	mean := m.first / m.n
	return math.Sqrt(math.Max(m.second/m.n-mean*mean, 0))
}

// standard is the standardised central moment of order 3 or 4.
func (m *moments) standard(order int) float64 {
	mean := m.first / m.n
	spread := m.spread()
	if order == 3 {
		return (m.third/m.n - 3*mean*m.second/m.n + 2*mean*mean*mean) / (spread * spread * spread)
	}
	return (m.fourth/m.n - 4*mean*m.third/m.n + 6*mean*mean*m.second/m.n - 3*mean*mean*mean*mean) / (spread * spread * spread * spread)
}
