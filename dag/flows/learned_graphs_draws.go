package flows

import (
	"math"
	"math/rand/v2"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/logsum"
)

// graphTables are the distributions of q(m) as numbers.
type graphTables struct {
	models  *LearnedGraphs
	family  []float64   // s [F]
	partial [][]float64 // as in graphLogits [N+1][N·2^N]
	next    [][]float64 // log q(v | S) [2^N][N]
}

// newGraphTables are those of logits of families [F] and of the next node [2^N·N]; without the
// latter those of the posterior over orders and graphs whose families have these weights.
func newGraphTables(m *LearnedGraphs, family, next []float64) *graphTables {
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

var _ dgraph.Sum = (*weightedGraphs)(nil)
