package dag

import (
	"math"
	"sort"

	dgraph "github.com/transdim/vti/dag/graph"
)

// doubtfulPairs are the pairs of nodes with how much in doubt it is whether they are joined, p(1−p)
// for a probability p. In large sparse graphs nearly all pairs are surely joined or surely not, and
// steps of single edges that take all pairs alike hardly ever come to the others. Weights do not
// change while chains run a round, so that a step and its way back have the same probability, and
// they shape only how fast chains are.
type doubtfulPairs struct {
	weights []float64 // of each pair, in the order of pairs [N·(N−1)/2]
	sums    []float64 // running sums of weights
	pairs   [][2]int
}

// newDoubtfulPairs takes the weights of pairs i < j, by j and then by i.
func newDoubtfulPairs(nodes int, weights []float64) *doubtfulPairs {
	d := &doubtfulPairs{weights: weights}
	total := 0.0
	for j := range nodes {
		for i := range j {
			total += weights[len(d.pairs)]
			d.pairs, d.sums = append(d.pairs, [2]int{i, j}), append(d.sums, total)
		}
	}
	return d
}

// any reports whether there is a pair to draw.
func (d *doubtfulPairs) any() bool { return len(d.sums) > 0 && d.sums[len(d.sums)-1] > 0 }

// at is the pair at which the running sum of probabilities reaches u.
func (d *doubtfulPairs) at(u float64) (i, j int) {
	k := sort.SearchFloat64s(d.sums, u*d.sums[len(d.sums)-1])
	pair := d.pairs[min(k, len(d.pairs)-1)]
	return pair[0], pair[1]
}

// doubt is p(1−p) of an edge whose log odds are known.
func doubt(logOdds float64) float64 {
	p := 1 / (1 + math.Exp(-math.Abs(logOdds)))
	return p * (1 - p)
}

// doubtOf is the doubt about each other node as a parent of j beside its parents in some graph.
func (c *candidates) doubtOf(j int, base dgraph.Set) []float64 {
	s, doubts := c.problem.Structure, make([]float64, c.problem.Data.Nodes())
	weight := func(set dgraph.Set) float64 { return c.score(j, set) + s.Prior.LogWeight(j, set) }
	own := math.Inf(-1)
	if s.Allows(j, base) {
		own = weight(base)
	}
	for i := range s.Allowed[j].Minus(s.Required[j]).Nodes() {
		if other := base.Toggle(i); s.Allows(j, other) && !math.IsInf(own, -1) {
			if doubts[i] = doubt(weight(other) - own); math.IsNaN(doubts[i]) {
				doubts[i] = 0
			}
		}
	}
	return doubts
}

// pairsFrom has for each pair the larger one of the doubts about its two directions [N][N], by node
// and parent.
func pairsFrom(doubts [][]float64) *doubtfulPairs {
	var weights []float64
	for j := range doubts {
		for i := range j {
			weights = append(weights, math.Max(doubts[j][i], doubts[i][j]))
		}
	}
	return newDoubtfulPairs(len(doubts), weights)
}

// visited adds what the graphs of a round say of pairs, from how often each node had each other for
// a parent.
func (d *doubtfulPairs) visited(visits [][]float64) *doubtfulPairs {
	weights := make([]float64, len(d.weights))
	for k, pair := range d.pairs {
		share := visits[pair[0]][pair[1]] + visits[pair[1]][pair[0]]
		weights[k] = math.Max(d.weights[k], share*(1-math.Min(share, 1)))
	}
	return newDoubtfulPairs(len(visits), weights)
}
