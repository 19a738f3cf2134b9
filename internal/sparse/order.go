package sparse

import (
	"container/heap"
	"slices"
)

// minimumDegree returns an order of elimination for a graph given by the neighbours of each node:
// the result lists the nodes in the order in which they are eliminated. The next node is always the
// node with the smallest bound on its degree, which bounds the fill-in; ties are broken by number.
// The nodes for which the argument last is true follow all others; nil means that there are no such
// nodes.
func minimumDegree(neighbours [][]int, last []bool) []int {
	n := len(neighbours)
	g := &quotient{
		nodes: make([][]int, n), elements: make([][]int, n), members: make([][]int, n),
		degree: make([]int, n), gone: make([]bool, n), mark: make([]int, n), later: make([]int, n),
	}
	queue := make(byRank, 0, n)
	for i, list := range neighbours {
		g.nodes[i] = slices.Clone(list)
		g.degree[i] = len(list)
		if last != nil && last[i] {
			g.later[i] = n
		}
		queue = append(queue, candidate{g.rank(i), i})
	}
	heap.Init(&queue)
	order := make([]int, 0, n)
	for queue.Len() > 0 {
		next := heap.Pop(&queue).(candidate)
		if g.gone[next.node] || g.rank(next.node) != next.rank {
			continue // the node is eliminated, or queued again with another rank
		}
		order = append(order, next.node)
		for _, i := range g.eliminate(next.node) {
			heap.Push(&queue, candidate{g.rank(i), i})
		}
	}
	return order
}

// quotient represents the graph that remains after some eliminations. An element is an eliminated
// node, and its members are the nodes that the elimination made neighbours of each other. A node is
// adjacent to the nodes in its list, and to all members of the elements in its list.
type quotient struct {
	nodes, elements, members [][]int
	degree                   []int // an upper bound of the number of neighbours
	later                    []int // number added to the degree, large for nodes that come last
	gone                     []bool
	mark                     []int // the last step that visited each node
	step                     int
}

// rank returns the priority of a node: the node with the smallest rank is eliminated next.
func (g *quotient) rank(i int) int { return g.degree[i] + g.later[i] }

// eliminate turns a node into an element. It returns the element's members, whose degrees it has
// recomputed.
func (g *quotient) eliminate(node int) []int {
	g.step++
	g.gone[node] = true
	g.mark[node] = g.step
	var members []int
	add := func(list []int) {
		for _, i := range list {
			if !g.gone[i] && g.mark[i] != g.step {
				g.mark[i] = g.step
				members = append(members, i)
			}
		}
	}
	add(g.nodes[node])
	absorbed := g.elements[node]
	for _, e := range absorbed {
		add(g.members[e])
		g.members[e] = nil
	}
	g.members[node], g.nodes[node], g.elements[node] = members, nil, nil
	for _, i := range members {
		g.nodes[i] = slices.DeleteFunc(g.nodes[i], func(k int) bool { return g.gone[k] || g.mark[k] == g.step })
		g.elements[i] = append(slices.DeleteFunc(g.elements[i], func(e int) bool { return g.members[e] == nil }), node)
		degree := len(g.nodes[i])
		for _, e := range g.elements[i] {
			degree += len(g.members[e]) - 1
		}
		g.degree[i] = degree
	}
	return members
}

// candidate is a node, with its rank at the time when it was queued.
type candidate struct{ rank, node int }

type byRank []candidate

func (q byRank) Len() int      { return len(q) }
func (q byRank) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q byRank) Less(i, j int) bool {
	return q[i].rank < q[j].rank || q[i].rank == q[j].rank && q[i].node < q[j].node
}
func (q *byRank) Push(x any) { *q = append(*q, x.(candidate)) }
func (q *byRank) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
