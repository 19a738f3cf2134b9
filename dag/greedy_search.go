package dag

import (
	gocontext "context"
	"fmt"
	"math"
	"slices"

	dgraph "github.com/transdim/vti/dag/graph"
)

// GreedyBIC climbs from the empty graph to the best neighbour, by adding, taking away or turning an
// edge, until none is better, and returns where it ends. The score is the log likelihood at its
// maximum less ½ log n for each parameter: with linear mechanisms in the place of networks, and a
// variance of its own for each node. It keeps to the constraints and starts from the required
// edges. The error is that of ctx.
func (p *Problem) GreedyBIC(ctx gocontext.Context) (*dgraph.Graph, error) {
	s, forms := p.Structure, p.closedForms()
	known := map[dgraph.Family]float64{}
	score := func(j int, parents dgraph.Set) float64 {
		f := dgraph.Family{Node: j, Parents: parents}
		value, ok := known[f]
		if !ok {
			value = forms[j].bic(parents)
			known[f] = value
		}
		return value
	}
	parents := slices.Clone(s.Required)
	for {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("stopped in greedy search: %w", err)
		}
		best, gain := []dgraph.Set(nil), 1e-9
		try := func(changed []dgraph.Set, nodes ...int) {
			var difference float64
			for _, j := range nodes {
				if !s.Allows(j, changed[j]) {
					return
				}
				difference += score(j, changed[j]) - score(j, parents[j])
			}
			if difference > gain && dgraph.Acyclic(changed) {
				best, gain = changed, difference
			}
		}
		for _, e := range dgraph.OrderedPairs(s.Nodes) {
			toggled := slices.Clone(parents)
			toggled[e.To] = parents[e.To].Toggle(e.From)
			try(toggled, e.To)
			if parents[e.To].Has(e.From) {
				turned := slices.Clone(toggled)
				turned[e.From] = turned[e.From].With(e.To)
				try(turned, e.To, e.From)
			}
		}
		if best == nil {
			return dgraph.FromParents(parents), nil
		}
		parents = best
	}
}

// bic is the log likelihood at its maximum less ½ log n for each parent.
func (s *linearStats) bic(parents dgraph.Set) float64 {
	of := parents.List()
	squares, _ := s.residual(of, s.leastSquares(of))
	// A residual of 1e-12 of the node cannot be told from rounding.
	variance := math.Max(squares, 1e-12*s.gram.At(s.node, s.node)) / float64(s.rows)
	n := float64(s.rows)
	return -n/2*(math.Log(variance)+1+2*halfLog2Pi) - float64(len(of))*math.Log(n)/2
}

// leastSquares returns the weights that leave the smallest residual; a ridge of 1e-10 decides where
// parents are collinear.
func (s *linearStats) leastSquares(of []int) []float64 {
	var trace float64
	for _, i := range of {
		trace += s.gram.At(i, i)
	}
	return s.solve(of, 1, 1e-10*math.Max(trace, math.SmallestNonzeroFloat64))
}
