package dag

import (
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"
	"sort"

	"github.com/gomlx/gomlx/pkg/core/tensors"

	"github.com/transdim/vti"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/psis"
)

// graphTables are the distributions of q(m) as numbers.
type graphTables struct {
	models  *learnedGraphs
	family  []float64   // s [F]
	partial [][]float64 // as in graphLogits [N+1][N·2^N]
	next    [][]float64 // log q(v | S) [2^N][N]
}

// newGraphTables are those of logits of families [F] and of the next node [2^N·N]; without the
// latter those of the posterior over orders and graphs whose families have these weights.
func newGraphTables(m *learnedGraphs, family, next []float64) *graphTables {
	nodes := m.structure.Nodes
	t := &graphTables{models: m, family: family}
	first := make([]float64, len(m.place))
	for i, place := range m.place {
		first[i] = math.Inf(-1)
		if place >= 0 {
			first[i] = family[place]
		}
	}
	t.partial = append(t.partial, first)
	for k := range nodes {
		sums := append([]float64(nil), t.partial[k]...)
		for at := range sums {
			if at>>k&1 == 1 {
				sums[at] = logsum.Add(t.partial[k][at], t.partial[k][at&^(1<<k)])
			}
		}
		t.partial = append(t.partial, sums)
	}
	if next == nil {
		next = t.nextByScores()
	}
	t.next = make([][]float64, m.sets())
	for set := range t.next {
		row := next[set*nodes : (set+1)*nodes]
		t.next[set] = make([]float64, nodes)
		total := math.Inf(-1)
		for j := range row {
			if m.startsAfter(set, j) {
				total = logsum.Add(total, row[j])
			}
		}
		for j := range row {
			t.next[set][j] = math.Inf(-1)
			if m.startsAfter(set, j) {
				t.next[set][j] = row[j] - total
			}
		}
	}
	return t
}

// nextByScores are the logits of the next node with which q(m) is the posterior over orders and
// graphs whose families have the weights of the tables: what comes then is the sum over all orders
// of the rest [2^N·N].
func (t *graphTables) nextByScores() []float64 {
	nodes, sets := t.models.structure.Nodes, t.models.sets()
	rest, next := make([]float64, sets), make([]float64, sets*nodes)
	for set := sets - 2; set >= 0; set-- {
		rest[set] = math.Inf(-1)
		for j := range nodes {
			if t.models.startsAfter(set, j) {
				next[set*nodes+j] = t.partial[nodes][j*sets+set] + rest[set|1<<j]
				rest[set] = logsum.Add(rest[set], next[set*nodes+j])
			}
		}
	}
	return next
}

// draw draws a graph: its families and the sets of nodes before them, by node.
func (t *graphTables) draw(random *rand.Rand, families, before []int) {
	nodes, sets := t.models.structure.Nodes, t.models.sets()
	for set := 0; set != sets-1; {
		u, node := random.Float64(), -1
		for j, logProb := range t.next[set] {
			if !math.IsInf(logProb, -1) {
				node = j
				if u -= math.Exp(logProb); u < 0 {
					break
				}
			}
		}
		parents := set
		for k := nodes - 1; k >= 0; k-- {
			at := node*sets + parents
			if set>>k&1 == 1 && random.Float64() >= math.Exp(t.partial[k][at]-t.partial[k+1][at]) {
				parents &^= 1 << k
			}
		}
		families[node], before[node] = int(t.models.place[node*sets+parents]), set
		set |= 1 << node
	}
}

// logProb is log q(m) of a graph with its order.
func (t *graphTables) logProb(families, before []int) (sum float64) {
	nodes, sets := t.models.structure.Nodes, t.models.sets()
	for j, f := range families {
		sum += t.next[before[j]][j] + t.family[f] - t.partial[nodes][j*sets+before[j]]
	}
	return sum
}

// graphDrawsOfModels is how many graphs are drawn from q(m) to be weighted, and pilotShare the
// share of them that comes from where q(m) started, over which training has no power: what it has
// lost is seen there. Chosen by hand.
const (
	graphDrawsOfModels = 1 << 18
	pilotShare         = 0.25
)

// graphProposals are draws from q(m), mixed with where it started, with their densities.
type graphProposals struct {
	models   *learnedGraphs
	families [][]int
	// log p(m) without the families' part of it, less log of the density that they were drawn from
	logWeight []float64
}

// proposals draws from q(m) as it is in the variables that trained has.
func (m *learnedGraphs) proposals(ctx gocontext.Context, trained *vti.Posterior, random *rand.Rand) (*graphProposals, error) {
	read := func(name string, size int) ([]float64, error) {
		value, err := trained.ModelVariable(name)
		if err != nil {
			return nil, err
		}
		flat, err := tensors.CopyFlatData[float64](value)
		if err == nil && len(flat) != size {
			err = fmt.Errorf("q(m): got %d values of %s, want %d", len(flat), name, size)
		}
		return flat, err
	}
	family, err := read(familyVariable, len(m.families))
	if err != nil {
		return nil, err
	}
	next, err := read(nextVariable, m.sets()*m.structure.Nodes)
	if err != nil {
		return nil, err
	}
	pilot, err := read(pilotVariable, len(m.families))
	if err != nil {
		return nil, err
	}
	return m.propose(ctx, newGraphTables(m, family, next), newGraphTables(m, m.pilotWeights(pilot), nil), random)
}

// propose draws from what was learned and from its start.
func (m *learnedGraphs) propose(ctx gocontext.Context, learned, start *graphTables, random *rand.Rand) (*graphProposals, error) {
	p := &graphProposals{models: m}
	orders := map[string]float64{}
	for range graphDrawsOfModels {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("stopped while drawing graphs: %w", err)
		}
		families, before := make([]int, m.structure.Nodes), make([]int, m.structure.Nodes)
		from := learned
		if random.Float64() < pilotShare {
			from = start
		}
		from.draw(random, families, before)
		logQ := logsum.Add(math.Log(1-pilotShare)+learned.logProb(families, before), math.Log(pilotShare)+start.logProb(families, before))
		weight := -logQ
		if !m.structure.Orders {
			key := fmt.Sprint(families)
			count, known := orders[key]
			if !known {
				count = math.Log(m.graphOf(families).Orders())
				orders[key] = count
			}
			weight -= count
		}
		p.families, p.logWeight = append(p.families, families), append(p.logWeight, weight)
	}
	return p, nil
}

// graphOf is the graph of families, by node.
func (m *learnedGraphs) graphOf(families []int) *dgraph.Graph {
	parents := make([]dgraph.Set, len(families))
	for j, f := range families {
		parents[j] = m.families[f].Parents
	}
	return dgraph.FromParents(parents)
}

// weightedGraphs are draws of q(m) weighted to the posterior that scores give: a sum over graphs
// that is an estimate.
type weightedGraphs struct {
	families   [][]int
	cumulative []float64 // of weights
	logTotal   float64
	weights    psis.Result
}

var _ dgraph.Sum = (*weightedGraphs)(nil)

// sum weights the draws by scores.
func (p *graphProposals) sum(scores []float64) *weightedGraphs {
	logWeights := make([]float64, len(p.families))
	for i, families := range p.families {
		logWeights[i] = p.logWeight[i]
		for _, f := range families {
			logWeights[i] += scores[f] + p.models.prior[f]
		}
	}
	w := &weightedGraphs{families: p.families, weights: psis.Smooth(logWeights)}
	w.logTotal = w.weights.LogMean
	norm, total := logsum.Of(w.weights.LogWeights), 0.0
	for _, x := range w.weights.LogWeights {
		total += math.Exp(x - norm)
		w.cumulative = append(w.cumulative, total)
	}
	return w
}

func (w *weightedGraphs) LogTotal() float64 { return w.logTotal }

func (w *weightedGraphs) Draw(random *rand.Rand, families []int) {
	u := random.Float64() * w.cumulative[len(w.cumulative)-1]
	at := sort.Search(len(w.cumulative)-1, func(i int) bool { return w.cumulative[i] > u })
	copy(families, w.families[at])
}

func (w *weightedGraphs) Marginals(families int, on func(done, total int) bool) []float64 {
	shares, last := make([]float64, families), 0.0
	if !on(0, 1) {
		return shares
	}
	all := w.cumulative[len(w.cumulative)-1]
	for i, own := range w.families {
		for _, f := range own {
			shares[f] += (w.cumulative[i] - last) / all
		}
		last = w.cumulative[i]
	}
	return shares
}
