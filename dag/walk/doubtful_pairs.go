package walk

import (
	gocontext "context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/pick"
)

// doubtfulPairs are the pairs of nodes with how much in doubt it is whether they are joined, p(1−p)
// for a probability p. In large sparse graphs nearly all pairs are surely joined or surely not, and
// steps of single edges that take all pairs alike hardly ever come to the others. Weights do not
// change while chains run a round, so that a step and its way back have the same probability, and
// they shape only how fast chains are.
type doubtfulPairs struct {
	pairs [][2]int // i < j
	table pick.Table
}

// newDoubtfulPairs takes the weights of pairs by j and then by i; nil where there is none to draw.
func newDoubtfulPairs(nodes int, weights []float64) *doubtfulPairs {
	if floats.Sum(weights) == 0 {
		return nil
	}
	d := &doubtfulPairs{table: pick.NewTable(weights)}
	for j := range nodes {
		for i := range j {
			d.pairs = append(d.pairs, [2]int{i, j})
		}
	}
	return d
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
