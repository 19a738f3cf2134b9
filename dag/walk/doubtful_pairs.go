package walk

import (
	gocontext "context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/pick"
)

// doubtfulPairs holds pairs of nodes, each with the doubt whether an edge joins them: p(1−p) for an
// edge of probability p. In large sparse graphs nearly all pairs are certainly joined or certainly
// not. Steps that pick all pairs with the same probability almost never pick the doubtful ones. The
// doubts do not change during a round, so that a step and its reverse are proposed with the same
// probability. The doubts affect only the speed of chains.
type doubtfulPairs struct {
	pairs [][2]int // i < j
	table pick.Table
}

// newDoubtfulPairs returns the pairs with the larger doubt of the two directions. It returns nil if
// there are no doubts.
func newDoubtfulPairs(doubts [][]float64) *doubtfulPairs {
	d, weights := &doubtfulPairs{}, []float64(nil)
	for j := range doubts {
		for i := range j {
			d.pairs, weights = append(d.pairs, [2]int{i, j}), append(weights, math.Max(doubts[j][i], doubts[i][j]))
		}
	}
	if floats.Sum(weights) == 0 {
		return nil
	}
	d.table = pick.NewTable(weights)
	return d
}

// doubtsOf returns, for each node i, the doubt whether i is a parent of j given the other parents
// of j, averaged over graphs. It is 0 for i = j and for edges that are required or forbidden.
func (c *candidates) doubtsOf(j int, graphs [][]dgraph.Set) []float64 {
	s, doubts := c.problem.Structure, make([]float64, c.problem.Data.Nodes())
	weight := func(set dgraph.Set) float64 { return c.score(j, set) + s.Prior.LogWeight(j, set) }
	for _, parents := range graphs {
		chosen := weight(parents[j])
		for i := range s.Allowed[j].Minus(s.Required[j]).Nodes() {
			if other := parents[j].Toggle(i); s.Allows(j, other) {
				if p := 1 / (1 + math.Exp(-math.Abs(weight(other)-chosen))); !math.IsNaN(p) {
					doubts[i] += variance(p) / float64(len(graphs))
				}
			}
		}
	}
	return doubts
}

// findDoubts computes the doubts about pairs from the present graphs of all walks, at the start of
// a round, and the blocks along doubtful edges from the last round. It gives the doubts and the
// blocks to all walks.
func (r *chainRun) findDoubts(ctx gocontext.Context) error {
	nodes := r.problem.Data.Nodes()
	graphs := apply.To(r.walks, func(w *walk) []dgraph.Set { return slices.Clone(w.parents) })
	doubts := make([][]float64, nodes)
	if err := parallel.For(ctx, nodes, func(j int) error {
		doubts[j] = r.candidates.doubtsOf(j, graphs)
		return nil
	}); err != nil {
		return err
	}
	pairs, blocks := newDoubtfulPairs(doubts), newDoubtfulBlocks(r.visits)
	for _, w := range r.walks {
		w.pairs, w.blocks = pairs, blocks
	}
	return nil
}
