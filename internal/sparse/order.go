package sparse

import (
	"container/heap"
	"slices"
)

// minimumDegree is an order of elimination, new to old, of a graph given by the neighbours of each
// node: the next node is always the one that would fill in least, by a bound on its degree; ties by
// number. Nodes in last follow all others; nil stands for none.
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
			continue // eliminated, or queued again with another rank
		}
		order = append(order, next.node)
		for _, i := range g.eliminate(next.node) {
			heap.Push(&queue, candidate{g.rank(i), i})
		}
	}
	return order
}

// quotient is the rest of the graph after some eliminations. A node is next to the nodes in its
// list, and to all members of the elements in its list: an element is an eliminated node, and its
// members are the nodes that the elimination made neighbours of each other.
type quotient struct {
	nodes, elements, members [][]int
	degree                   []int // a bound
	later                    []int // what is added to it, so that some nodes come last
	gone                     []bool
	mark                     []int // by the step that saw a node last
	step                     int
}

// rank orders the candidates: the smallest is chosen first.
func (g *quotient) rank(i int) int { return g.degree[i] + g.later[i] }

// eliminate turns a node into an element, and returns its members, whose degrees are known anew.
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

// candidate is a node with the rank that it had when it was queued.
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
