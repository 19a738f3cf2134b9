package graph

import (
	"fmt"
	"slices"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/made"
	"github.com/transdim/vti/space"
)

// Ordered encodes an acyclic graph by an order of its N nodes and the edges from earlier to later
// nodes (Davies et al. 2025, appendix F.7). The first N−1 digits of a code, with N, N−1, …, 2
// values, are the Lehmer code of the order. A digit with two values follows for each pair of
// positions s < t, row by row in the strictly upper triangular matrix U. U_st is 1 if the node at
// position s is a parent of the node at position t. The adjacency matrix is A = PᵀUP, where P_tj is
// 1 if node j is at position t. Every code is thus acyclic, and a graph has one code for each of
// its topological orders.
type Ordered struct{ nodes int }

// NewOrdered returns the encoding of graphs over the given number of nodes. It panics below two
// nodes.
func NewOrdered(nodes int) Ordered {
	if nodes < 2 {
		panic(fmt.Sprintf("graph.NewOrdered: %d nodes, want at least 2", nodes))
	}
	return Ordered{nodes}
}

// Nodes returns the number of nodes N.
func (o Ordered) Nodes() int { return o.nodes }

// Cards returns the number of values of each digit of a code.
func (o Ordered) Cards() []int {
	digits := apply.UpTo(o.nodes-1, func(t int) int { return o.nodes - t })
	return append(digits, slices.Repeat([]int{2}, o.nodes*(o.nodes-1)/2)...)
}

// site returns the index of the digit for the edge between positions s < t.
func (o Ordered) site(s, t int) int {
	return o.nodes - 1 + s*(2*o.nodes-s-1)/2 + t - s - 1
}

// Graph returns the graph of a code.
func (o Ordered) Graph(code []int32) (*Graph, error) {
	if want := len(o.Cards()); len(code) != want {
		return nil, fmt.Errorf("code of a graph over %d nodes: got %d sites, want %d", o.nodes, len(code), want)
	}
	order, err := DecodeLehmer(o.nodes, code[:o.nodes-1])
	if err != nil {
		return nil, err
	}
	g := NewGraph(o.nodes)
	for s := range o.nodes {
		for t := s + 1; t < o.nodes; t++ {
			switch bit := code[o.site(s, t)]; bit {
			case 0, 1:
				g.Set(order[s], order[t], bit == 1)
			default:
				return nil, fmt.Errorf("site %d of the code: got %d, want 0 or 1", o.site(s, t), bit)
			}
		}
	}
	return g, nil
}

// Code returns the code of a graph along one of its topological orders. It panics when order is not
// a topological order of the graph.
func (o Ordered) Code(g *Graph, order []int) []int32 {
	code := make([]int32, len(o.Cards()))
	copy(code, EncodeLehmer(order))
	for s := range o.nodes {
		for t := s + 1; t < o.nodes; t++ {
			if g.Has(order[t], order[s]) {
				panic(fmt.Sprintf("graph.Ordered.Code: %v is no topological order: there is an edge from %d to %d", order, order[t], order[s]))
			}
			if g.Has(order[s], order[t]) {
				code[o.site(s, t)] = 1
			}
		}
	}
	return code
}

// Adjacency returns, inside a GoMLX computation graph, the adjacency matrices of a batch of B codes
// of S digits: [B,S] int32 -> [B,N,N] Bool.
func (o Ordered) Adjacency(codes *graph.Node) *graph.Node {
	space.AssertCodes("graph.Ordered.Adjacency", codes, len(o.Cards()))
	g, batch := codes.Graph(), codes.Shape().Dim(0)
	const number = dtypes.Float32 // exact for these counts
	permutation := o.Positions(codes)
	// U [B, N, N]: the bits of edges at their places, zeros elsewhere.
	zero := graph.Zeros(g, shapes.Make(number, batch, 1))
	var entries []*graph.Node
	bitsOf := graph.ConvertDType(codes, number)
	for s := range o.nodes {
		for t := range o.nodes {
			if s < t {
				entries = append(entries, graph.SliceAxis(bitsOf, 1, graph.AxisElem(o.site(s, t))))
			} else {
				entries = append(entries, zero)
			}
		}
	}
	upper := graph.Reshape(graph.Concatenate(entries, 1), batch, o.nodes, o.nodes)
	sorted := graph.Einsum("bsj,bst->btj", permutation, upper) // PᵀU, as [B, t, from]
	return graph.GreaterThan(graph.Einsum("btf,btj->bfj", sorted, permutation), graph.Scalar(g, number, 0.5))
}

// Positions returns, inside a GoMLX computation graph, the orders of a batch of B codes of S digits
// as matrices P, with P_tj = 1 if node j is at position t: [B,S] int32 -> [B,N,N] Float32.
func (o Ordered) Positions(codes *graph.Node) *graph.Node {
	g, batch := codes.Graph(), codes.Shape().Dim(0)
	const number = dtypes.Float32
	var rows []*graph.Node
	left := graph.Ones(g, shapes.Make(number, batch, o.nodes))
	for t := range o.nodes {
		// [B, N]: number of nodes not yet picked before each node; the digit picks by this number
		rank := graph.Dot(left, made.Earlier(g, o.nodes, number))
		digit := graph.Zeros(g, shapes.Make(number, batch, 1))
		if t < o.nodes-1 {
			digit = graph.ConvertDType(graph.SliceAxis(codes, 1, graph.AxisElem(t)), number)
		}
		row := graph.Mul(left, graph.ConvertDType(graph.Equal(rank, digit), number))
		rows = append(rows, row)
		left = graph.Sub(left, row)
	}
	return graph.Stack(rows, 1)
}

// maxOrderNodes is the largest number of nodes of a graph whose topological orders are counted. The
// count needs 2^N numbers in memory.
const maxOrderNodes = 24

// Orders returns the number of topological orders (linear extensions) of an acyclic graph, which is
// the number of its codes. For a graph with a cycle it returns zero. The count is exact below 2^53.
// It panics above 24 nodes.
func (g *Graph) Orders() float64 {
	if g.Nodes() > maxOrderNodes {
		panic(fmt.Sprintf("graph.Graph.Orders: %d nodes, at most %d can be counted", g.Nodes(), maxOrderNodes))
	}
	parents := g.ParentSets()
	counts := make([]float64, 1<<g.Nodes()) // number of orders of each set of nodes that contains the parents of its nodes
	counts[0] = 1
	for set, count := range counts {
		if count == 0 {
			continue
		}
		for j, needed := range parents {
			if set>>j&1 == 0 && needed.Within(lowSet(uint64(set))) {
				counts[set|1<<j] += count
			}
		}
	}
	return counts[len(counts)-1]
}
