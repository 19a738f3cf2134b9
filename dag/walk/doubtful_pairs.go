package walk

import (
	gocontext "context"
	"math"
	"slices"
	"sort"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/parallel"
)

// doubtfulPairs are the pairs of nodes with how much in doubt it is whether they are joined, p(1−p)
// for a probability p. In large sparse graphs nearly all pairs are surely joined or surely not, and
// steps of single edges that take all pairs alike hardly ever come to the others. Weights do not
// change while chains run a round, so that a step and its way back have the same probability, and
// they shape only how fast chains are.
type doubtfulPairs struct {
	pairs [][2]int  // i < j, by j and then by i
	sums  []float64 // running sums of their weights
}

// newDoubtfulPairs takes the weights of pairs in their order.
func newDoubtfulPairs(nodes int, weights []float64) *doubtfulPairs {
	d := &doubtfulPairs{}
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
func (d *doubtfulPairs) any() bool { return d != nil && len(d.sums) > 0 && d.sums[len(d.sums)-1] > 0 }

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

// doubtsOf is the doubt about each other node as a parent of j in addition to its parents in some
// graphs, on average over these.
func (c *candidates) doubtsOf(j int, graphs [][]dgraph.Set) []float64 {
	s, doubts := c.problem.Structure, make([]float64, c.problem.Data.Nodes())
	weight := func(set dgraph.Set) float64 { return c.score(j, set) + s.Prior.LogWeight(j, set) }
	for _, parents := range graphs {
		own := weight(parents[j])
		for i := range s.Allowed[j].Minus(s.Required[j]).Nodes() {
			if other := parents[j].Toggle(i); s.Allows(j, other) {
				if value := doubt(weight(other) - own); !math.IsNaN(value) {
					doubts[i] += value / float64(len(graphs))
				}
			}
		}
	}
	return doubts
}

// findDoubts gives the walks the doubts about pairs beside the graphs that they are at when a round
// begins.
func (r *chainRun) findDoubts(ctx gocontext.Context) error {
	nodes := r.problem.Data.Nodes()
	var graphs [][]dgraph.Set
	for _, w := range r.walks {
		graphs = append(graphs, slices.Clone(w.parents))
	}
	doubts := make([][]float64, nodes)
	if err := parallel.For(ctx, nodes, func(j int) error {
		doubts[j] = r.candidates.doubtsOf(j, graphs)
		return nil
	}); err != nil {
		return err
	}
	var weights []float64 // the larger one of the doubts about the two directions
	for j := range doubts {
		for i := range j {
			weights = append(weights, math.Max(doubts[j][i], doubts[i][j]))
		}
	}
	pairs := newDoubtfulPairs(nodes, weights)
	for _, w := range r.walks {
		w.pairs = pairs
	}
	return nil
}
