package graph

import (
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti/modeldist"
)

// orderedConstraint leaves the codes whose graphs a structure allows, site by site: a node comes
// next in the order only after its required parents, a required edge is there, a forbidden one is
// not, and a node with as many parents as it may have, those counted that are still required of it,
// gets no other. So every code that is allowed so far can be completed.
type orderedConstraint struct {
	ordered   Ordered
	structure Structure
}

var _ modeldist.Constraint = orderedConstraint{}

// NewOrderedConstraint returns the constraint, nil if the structure leaves every graph.
func NewOrderedConstraint(ordered Ordered, s Structure) modeldist.Constraint {
	free := s.MaxParents < 0 || s.MaxParents >= s.Nodes-1
	for _, e := range OrderedPairs(s.Nodes) {
		free = free && s.Allowed[e.To].Has(e.From) && !s.Required[e.To].Has(e.From)
	}
	if free {
		return nil
	}
	return orderedConstraint{ordered, s}
}

// Allowed implements modeldist.Constraint: codes [B,S] -> [B,K] Bool.
func (c orderedConstraint) Allowed(codes *graph.Node, site int) *graph.Node {
	if site < c.ordered.nodes-1 {
		return c.allowedNext(codes, site)
	}
	return c.allowedEdge(codes, site)
}

// matrix is a constant [N,N] by cause and effect.
func (c orderedConstraint) matrix(g *graph.Graph, sets []Set) *graph.Node {
	return graph.ConvertDType(graph.Const(g, EdgeTable(sets)), dtypes.Float32)
}

// allowedNext is for the digit of a position: outcome d is the d-th of the nodes that are left, and
// all parents required of it must have been placed.
func (c orderedConstraint) allowedNext(codes *graph.Node, position int) *graph.Node {
	g := codes.Graph()
	// [B, N], 1 for nodes that are left
	_, left := c.ordered.positions(codes, position)
	// [B, N], required parents that are left
	waiting := graph.Dot(left, c.matrix(g, c.structure.Required))
	ready := graph.ConvertDType(graph.LessThan(waiting, graph.Scalar(g, dtypes.Float32, 0.5)), dtypes.Float32)
	ready = graph.Mul(ready, left)
	rank := graph.Dot(left, c.ordered.earlier(g)) // [B, N], nodes left before each
	var outcomes []*graph.Node
	for digit := range c.ordered.nodes - position {
		here := graph.ConvertDType(graph.Equal(rank, graph.Scalar(g, dtypes.Float32, float64(digit))), dtypes.Float32)
		outcomes = append(outcomes, graph.ReduceSum(graph.Mul(ready, here), 1))
	}
	return graph.GreaterThan(graph.Stack(outcomes, 1), graph.Scalar(g, dtypes.Float32, 0.5))
}

// allowedEdge is for the bit of the edge between positions s < t.
func (c orderedConstraint) allowedEdge(codes *graph.Node, site int) *graph.Node {
	g, nodes := codes.Graph(), c.ordered.nodes
	s, t := c.ordered.pairOf(site)
	rows, _ := c.ordered.positions(codes, nodes) // [B, N] by position
	entry := func(matrix *graph.Node, from int) *graph.Node {
		return graph.ReduceSum(graph.Mul(graph.Dot(rows[from], matrix), rows[t]), 1) // [B]
	}
	required := c.matrix(g, c.structure.Required)
	must := entry(required, s)
	may := entry(c.matrix(g, c.structure.Allowed), s)
	if c.structure.MaxParents >= 0 {
		taken := graph.ZerosLike(must)
		for from := range s {
			taken = graph.Add(taken, graph.ConvertDType(graph.Squeeze(graph.SliceAxis(codes, 1, graph.AxisElem(c.ordered.site(from, t))), 1), dtypes.Float32))
		}
		for from := s + 1; from < t; from++ {
			taken = graph.Add(taken, entry(required, from))
		}
		room := graph.LessThan(taken, graph.Scalar(g, dtypes.Float32, math.Max(float64(c.structure.MaxParents)-0.5, 0)))
		may = graph.Mul(may, graph.ConvertDType(room, dtypes.Float32))
	}
	half := graph.Scalar(g, dtypes.Float32, 0.5)
	return graph.Stack([]*graph.Node{graph.LessThan(must, half), graph.GreaterThan(graph.Max(must, may), half)}, 1)
}
