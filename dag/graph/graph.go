package graph

import (
	"fmt"
	"slices"
	"strconv"
)

// Graph is a directed graph over the nodes 0 … N−1, in which no edge leads from a node to itself.
// Edges in both directions between two nodes stand for an undirected edge, as in skeletons and in
// the result of [Graph.CPDAG].
type Graph struct{ parents []Set }

// NewGraph returns the graph over n nodes that has no edge. It panics when n is negative.
func NewGraph(n int) *Graph { return &Graph{make([]Set, n)} }

// FromParents returns the graph in which node j has the parents parents[j].
func FromParents(parents []Set) *Graph {
	g := NewGraph(len(parents))
	for to, set := range parents {
		for from := range set.Nodes() {
			g.checkEdge("FromParents", from, to)
		}
		g.parents[to] = set
	}
	return g
}

// Nodes returns the number of nodes N.
func (g *Graph) Nodes() int { return len(g.parents) }

// Has reports whether there is an edge between two nodes in the given direction.
func (g *Graph) Has(from, to int) bool { return g.parents[to].Has(from) }

// Set adds or removes an edge. It panics on adding an edge from a node to itself.
func (g *Graph) Set(from, to int, on bool) {
	if !on {
		g.parents[to] = g.parents[to].Without(from)
		return
	}
	g.checkEdge("Set", from, to)
	g.parents[to] = g.parents[to].With(from)
}

func (g *Graph) checkEdge(where string, from, to int) {
	if from < 0 || from >= g.Nodes() || to < 0 || to >= g.Nodes() || from == to {
		panic(fmt.Sprintf("graph.Graph.%s: edge from node %d to node %d in a graph of %d nodes", where, from, to, g.Nodes()))
	}
}

// Adjacent reports whether there is an edge in either direction.
func (g *Graph) Adjacent(a, b int) bool { return g.Has(a, b) || g.Has(b, a) }

// Directed reports whether there is an edge from a to b and none back.
func (g *Graph) Directed(a, b int) bool { return g.Has(a, b) && !g.Has(b, a) }

// Edges returns the number of ones in the adjacency matrix, in which an undirected edge counts
// twice.
func (g *Graph) Edges() (count int) {
	for _, parents := range g.parents {
		count += parents.Len()
	}
	return count
}

// Parents returns the nodes with an edge to node to, ascending.
func (g *Graph) Parents(to int) []int { return g.parents[to].List() }

// ParentSets returns the parents of every node.
func (g *Graph) ParentSets() []Set { return slices.Clone(g.parents) }

// Equal reports whether two graphs have the same nodes and edges.
func (g *Graph) Equal(other *Graph) bool { return slices.Equal(g.parents, other.parents) }

// Key returns a text of the parents of each node, as numbers. Graphs of equal size have the same
// key if and only if they are equal.
func (g *Graph) Key() string {
	var text []byte
	for _, parents := range g.parents {
		for from := range parents.Nodes() {
			text = append(strconv.AppendInt(text, int64(from), 10), ' ')
		}
		text = append(text, ';')
	}
	return string(text)
}

// Order returns a topological order in which, among the nodes whose parents came before, the
// smallest comes first. If the graph has a cycle, ok is false and the order has only the nodes that
// no cycle precedes.
func (g *Graph) Order() (order []int, ok bool) {
	waiting, children := make([]int, g.Nodes()), make([][]int, g.Nodes()) // number of parents that are not in order yet
	for j, parents := range g.parents {
		waiting[j] = parents.Len()
		for i := range parents.Nodes() {
			children[i] = append(children[i], j)
		}
	}
	for len(order) < g.Nodes() {
		next := slices.Index(waiting, 0)
		if next < 0 {
			return order, false
		}
		waiting[next] = -1
		order = append(order, next)
		for _, j := range children[next] {
			waiting[j]--
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
