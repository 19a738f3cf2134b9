package graph

import (
	"fmt"
	"slices"
)

// Graph is a directed graph over the nodes 0 … N−1, in which no edge leads from a node to itself.
// Edges in both directions between two nodes stand for an undirected edge, as in skeletons and in
// the result of [Graph.CPDAG].
type Graph struct {
	nodes int
	edge  []bool // whether there is an edge, at index from·N + to
}

// NewGraph returns the graph over n nodes that has no edge. It panics when n is negative.
func NewGraph(n int) *Graph { return &Graph{n, make([]bool, n*n)} }

// FromParents returns the graph in which node j has the parents parents[j].
func FromParents(parents []Set) *Graph {
	g := NewGraph(len(parents))
	for to, set := range parents {
		for from := range set.Nodes() {
			g.Set(from, to, true)
		}
	}
	return g
}

// FromEdges returns the graph over n nodes with the given edges, each from its first node to its
// second. It panics on an edge from a node to itself and on nodes outside 0 … n−1.
func FromEdges(n int, edges ...[2]int) *Graph {
	g := NewGraph(n)
	for _, e := range edges {
		g.Set(e[0], e[1], true)
	}
	return g
}

// Nodes returns the number of nodes N.
func (g *Graph) Nodes() int { return g.nodes }

// Has reports whether there is an edge between two nodes in the given direction.
func (g *Graph) Has(from, to int) bool { return g.edge[g.edgeIndex("Has", from, to)] }

// Set adds or removes an edge. It panics on adding an edge from a node to itself.
func (g *Graph) Set(from, to int, on bool) {
	if from == to && on {
		panic(fmt.Sprintf("graph.Graph.Set: an edge from node %d to itself", from))
	}
	g.edge[g.edgeIndex("Set", from, to)] = on
}

func (g *Graph) edgeIndex(where string, from, to int) int {
	if from < 0 || from >= g.nodes || to < 0 || to >= g.nodes {
		panic(fmt.Sprintf("graph.Graph.%s: edge %d to %d in a graph of %d nodes", where, from, to, g.nodes))
	}
	return from*g.nodes + to
}

// Adjacent reports whether there is an edge in either direction.
func (g *Graph) Adjacent(a, b int) bool { return g.Has(a, b) || g.Has(b, a) }

// Directed reports whether there is an edge from a to b and none back.
func (g *Graph) Directed(a, b int) bool { return g.Has(a, b) && !g.Has(b, a) }

// Edges returns the number of ones in the adjacency matrix, in which an undirected edge counts
// twice.
func (g *Graph) Edges() (count int) {
	for _, on := range g.edge {
		if on {
			count++
		}
	}
	return count
}

// Parents returns the nodes with an edge to node to, ascending.
func (g *Graph) Parents(to int) (parents []int) {
	for from := range g.nodes {
		if g.Has(from, to) {
			parents = append(parents, from)
		}
	}
	return parents
}

// ParentSets returns the parents of every node. It panics above 128 nodes.
func (g *Graph) ParentSets() []Set {
	if g.nodes > MaxNodes {
		panic(fmt.Sprintf("graph.Graph.ParentSets: %d nodes do not fit a set of %d", g.nodes, MaxNodes))
	}
	sets := make([]Set, g.nodes)
	for to := range sets {
		for _, from := range g.Parents(to) {
			sets[to] = sets[to].With(from)
		}
	}
	return sets
}

// Clone returns a copy.
func (g *Graph) Clone() *Graph { return &Graph{g.nodes, slices.Clone(g.edge)} }

// Equal reports whether two graphs have the same nodes and edges.
func (g *Graph) Equal(other *Graph) bool {
	return g.nodes == other.nodes && slices.Equal(g.edge, other.edge)
}

// Key returns the rows of the adjacency matrix as a text of 0 and 1. Graphs of equal size have the
// same key if and only if they are equal.
func (g *Graph) Key() string {
	text := make([]byte, len(g.edge))
	for i, on := range g.edge {
		text[i] = '0'
		if on {
			text[i] = '1'
		}
	}
	return string(text)
}

// Order returns a topological order in which, among the nodes whose parents came before, the
// smallest comes first. If the graph has a cycle, ok is false and the order has only the nodes that
// no cycle precedes.
func (g *Graph) Order() (order []int, ok bool) {
	waiting := make([]int, g.nodes) // number of parents that are not in order yet
	for j := range waiting {
		waiting[j] = len(g.Parents(j))
	}
	for len(order) < g.nodes {
		next := slices.Index(waiting, 0)
		if next < 0 {
			return order, false
		}
		waiting[next] = -1
		order = append(order, next)
		for j := range waiting {
			if g.Has(next, j) {
				waiting[j]--
			}
		}
	}
	return order, true
}

// Cycle returns the nodes of a directed cycle, each followed by one of its children, or nil when
// the graph is acyclic.
func (g *Graph) Cycle() []int {
	placed, ok := g.Order()
	if ok {
		return nil
	}
	// every node that is not placed has a parent that is not placed
	left := func(i int) bool { return !slices.Contains(placed, i) }
	var path []int
	node := 0
	for !left(node) {
		node++
	}
	for {
		if at := slices.Index(path, node); at >= 0 {
			slices.Reverse(path[at+1:])
			return path[at:]
		}
		path = append(path, node)
		node = slices.DeleteFunc(g.Parents(node), func(i int) bool { return !left(i) })[0]
	}
}
