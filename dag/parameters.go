package dag

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
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

// exactParameters draws from closed forms: exactly with known noise; with unknown noise from the normal approximation at the mode, resampled by its weights.
func (p *Problem) exactParameters(families []Family, random *rand.Rand) parameterSource {
	type sample struct {
		thetas     [][]float64
		cumulative []float64
	}
	// All draws of all families are kept: fewer of each where there are many.
	proposals := min(max(parameterMemory/(len(families)*p.layout().dim()), leastProposals), mostProposals)
	stats := make([]*linearStats, p.Data.Nodes())
	known := map[int]sample{}
	l := p.layout()
	return func(family int) []float64 {
		own, ok := known[family]
		if !ok {
			f := families[family]
			if stats[f.Node] == nil {
				stats[f.Node] = newLinearStats(p.Data, f.Node)
			}
			draw := newQuadratic(l, stats[f.Node], f, p.Model.PriorSD).sampler(l.mask(f))
			logWeights := make([]float64, 0, proposals)
			for range proposals {
				theta, squares := draw(random)
				own.thetas = append(own.thetas, theta)
				logWeights = append(logWeights, stats[f.Node].logJoint(l, f, theta, p.Model.PriorSD)+squares/2)
			}
			norm, total := logSumExp(logWeights), 0.0
			for _, w := range logWeights {
				total += math.Exp(w - norm)
				own.cumulative = append(own.cumulative, total)
			}
			known[family] = own
		}
		return own.thetas[drawIndex(random, own.cumulative)]
	}
}

// logJoint is log p(x_j, θ | x_pa) of a linear family.
func (s *linearStats) logJoint(l layout, f Family, theta []float64, priorSD float64) float64 {
	var of []int
	var weights []float64
	sum := 0.0
	for i := range f.Parents.Nodes() {
		of, weights = append(of, i), append(weights, theta[i])
		sum -= square(theta[i]/priorSD)/2 + math.Log(priorSD) + halfLog2Pi
	}
	squares, _ := s.residual(of, weights)
	logSigma := l.logSigma(theta)
	sum -= squares*math.Exp(-2*logSigma)/2 + float64(s.rows)*(logSigma+halfLog2Pi)
	if l.sigma == 0 {
		sum -= square((logSigma-s.logSD)/logSigmaSD)/2 + math.Log(logSigmaSD) + halfLog2Pi
	}
	return sum
}

// Parameter is the posterior of the effect of one node on another given that the edge is there: the slope of the mechanism, in units of the table (or of its
// logarithms), averaged over the rows. For linear mechanisms it is the coefficient.
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
	parameterDraws  = 400
	slopeRows       = 200  // rows that the slope of a network is averaged over
	leastParameter  = 0.01 // edges less probable than this have no summary
	checkDraws      = 200
	checkReplicates = 400
	mostProposals   = 400 // for the parameters of a family in closed form
	leastProposals  = 20
	parameterMemory = 1 << 25 // numbers
)

// mixture is a list of families with the probability of each: what is known of single nodes.
type mixture struct {
	families []Family
	shares   []float64
}

// draws returns a source of families among those that a condition holds for, in proportion to their shares; nil if there are none.
func (m mixture) draws(random *rand.Rand, condition func(Family) bool) func() int {
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
	probabilities := square2(nodes)
	for f, family := range m.families {
		for i := range family.Parents.Nodes() {
			probabilities[i][family.Node] = math.Min(probabilities[i][family.Node]+m.shares[f], 1) // shares add up to one but for rounding
		}
	}
	return probabilities
}

// effects summarises the mechanisms by edge.
func (p *Problem) effects(posterior mixture, source parameterSource, random *rand.Rand) (list []Parameter) {
	probabilities := posterior.edges(p.Data.Nodes())
	for _, e := range orderedPairs(p.Data.Nodes()) {
		if probabilities[e.from][e.to] < leastParameter {
			continue
		}
		families := posterior.draws(random, func(f Family) bool { return f.Node == e.to && f.Parents.Has(e.from) })
		slopes := make([]float64, parameterDraws)
		for i := range slopes {
			theta := source(families())
			slopes[i] = p.slope(theta, e.from) * p.Data.Scale[e.to] / p.Data.Scale[e.from]
		}
		slices.Sort(slopes)
		own := Parameter{From: p.Data.Names[e.from], To: p.Data.Names[e.to], Prob: Number(probabilities[e.from][e.to])}
		var mean, squares float64
		for _, x := range slopes {
			mean += x / parameterDraws
		}
		for _, x := range slopes {
			squares += square(x-mean) / (parameterDraws - 1)
		}
		own.Mean, own.SD = Number(mean), Number(math.Sqrt(squares))
		own.Q025, own.Q975 = Number(slopes[parameterDraws*25/1000]), Number(slopes[parameterDraws*975/1000])
		list = append(list, own)
	}
	return list
}

// slope is the derivative of a mechanism with respect to a parent, averaged over rows that are spread evenly.
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

// NodeCheck compares the residuals of a node, (x − f)/σ, with what the model says of them: independent standard normals. Each number is the posterior
// predictive probability of a statistic at least as large as that of the data; near 0 or 1 the model does not fit.
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
		families := posterior.draws(random, func(f Family) bool { return f.Node == j })
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
