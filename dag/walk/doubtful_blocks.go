package walk

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/pick"
)

// doubtfulBlocks draws the nodes of blocks along doubtful edges. The doubt about an edge is
// v(1 − v), where v is the fraction of graphs of an earlier round with the edge. In large sparse
// graphs most edges are certain, and chains are slow only where several edges have to change
// together. Blocks do not depend on the present graph, so that a step and its reverse are proposed
// with the same probability. They affect only the speed of chains.
type doubtfulBlocks struct {
	first pick.Table  // draws the first node of a block, in proportion to its doubts with all neighbours
	near  [][]int     // neighbours of each node with a doubt
	doubt [][]float64 // doubt about the edges, in both directions, between a node and each of near
}

// newDoubtfulBlocks returns blocks for the given fractions of graphs in which each node had each
// other node as a parent [node][parent]. It returns nil if there are no doubts.
func newDoubtfulBlocks(visits [][]float64) *doubtfulBlocks {
	nodes := len(visits)
	d := &doubtfulBlocks{near: make([][]int, nodes), doubt: make([][]float64, nodes)}
	sums := make([]float64, nodes)
	for j := range nodes {
		for i := range nodes {
			if both := variance(visits[j][i]) + variance(visits[i][j]); both > leastDoubt {
				d.near[j], d.doubt[j] = append(d.near[j], i), append(d.doubt[j], both)
			}
		}
		sums[j] = floats.Sum(d.doubt[j])
	}
	if floats.Sum(sums) == 0 {
		return nil
	}
	d.first = pick.NewTable(sums)
	return d
}

// leastDoubt is the doubt at or below which an edge does not count. Without it blocks take a fifth
// more time, because each node has many improbable edges.
const leastDoubt = 0.01

// variance returns the variance of an event with probability p.
func variance(p float64) float64 { return p * (1 - p) }

// draw draws a block of at most width nodes. Each node after the first is picked in proportion to
// the doubts about its edges with the nodes of the block.
func (d *doubtfulBlocks) draw(width int, random *rand.Rand) (block dgraph.Set) {
	for j := d.first.Index(random.Float64()); ; {
		block = block.With(j)
		if width--; width == 0 {
			return block
		}
		var next []int
		var doubts []float64
		for member := range block.Nodes() {
			for k, i := range d.near[member] {
				if !block.Has(i) {
					next, doubts = append(next, i), append(doubts, d.doubt[member][k])
				}
			}
		}
		if len(next) == 0 {
			return block
		}
		j = next[pick.Index(doubts, random.Float64())]
	}
}
