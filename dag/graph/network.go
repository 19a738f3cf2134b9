package graph

import (
	"fmt"
	"math"
	"slices"

	"github.com/transdim/vti/internal/english"
)

// Network is a Bayesian network over categories: a graph with a table of probabilities for each
// node.
type Network struct {
	// Names holds the names of the nodes.
	Names []string
	// Levels holds the values of each node.
	Levels [][]string
	// Graph holds the edges.
	Graph *Graph
	// Tables holds the probabilities of the levels of each node, by combination of the levels of
	// its parents [N][combinations][levels]. The parents are in the order of [Graph.Parents], and
	// the level of the last parent changes fastest. A table is nil if the file lacks it.
	Tables [][][]float64
}

// leastTotal is the largest accepted difference from 1 of the sum of the probabilities in a row,
// because files have rounded probabilities.
const leastTotal = 0.005

// Validate returns an error for the first defect of a network. Every node needs levels and a table,
// probabilities must add up to one up to rounding, and there must be no cycle.
func (n *Network) Validate() error {
	if cycle := n.Graph.Cycle(); cycle != nil {
		return fmt.Errorf("the network has a cycle through %s", n.Names[cycle[0]])
	}
	for j, name := range n.Names {
		if len(n.Levels[j]) == 0 {
			return fmt.Errorf("variable %q: got no list of values", name)
		}
		want := n.combinations(j)
		if len(n.Tables[j]) != want {
			return fmt.Errorf("variable %q: got a table for %s of values of its parents, want %d", name, english.Count(len(n.Tables[j]), "combination"), want)
		}
		for k, row := range n.Tables[j] {
			if len(row) != len(n.Levels[j]) {
				return fmt.Errorf("variable %q, %s: got %s, want %d", name, n.combination(j, k), english.Count(len(row), "probability"), len(n.Levels[j]))
			}
			total := 0.0
			for _, p := range row {
				if !(p >= 0) {
					return fmt.Errorf("variable %q, %s: got %g, want a probability", name, n.combination(j, k), p)
				}
				total += p
			}
			if math.Abs(total-1) > leastTotal {
				return fmt.Errorf("variable %q, %s: probabilities add up to %g, want 1", name, n.combination(j, k), total)
			}
		}
	}
	return nil
}

// combinations returns the number of combinations of levels of the parents of node j.
func (n *Network) combinations(j int) int {
	count := 1
	for _, i := range n.Graph.Parents(j) {
		count *= len(n.Levels[i])
	}
	return count
}

// Row returns the number of the combination of levels that the parents of node j have, given the
// levels of all nodes as codes [N].
func (n *Network) Row(j int, codes []int) (row int) {
	for _, i := range n.Graph.Parents(j) {
		row = row*len(n.Levels[i]) + codes[i]
	}
	return row
}

func (n *Network) values(j, row int) (values []string) {
	for _, i := range slices.Backward(n.Graph.Parents(j)) {
		values = append(values, n.Levels[i][row%len(n.Levels[i])])
		row /= len(n.Levels[i])
	}
	slices.Reverse(values)
	return values
}

// combination describes, for an error message, a combination of levels of the parents.
func (n *Network) combination(j, row int) string {
	if values := n.values(j, row); len(values) > 0 {
		return fmt.Sprintf("parents %q", values)
	}
	return "no parents"
}
