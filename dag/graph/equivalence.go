package graph

// Skeleton returns the graph with every edge of g in both directions.
func (g *Graph) Skeleton() *Graph { return &Graph{newMixedGraph(g).open} }

// CPDAG returns the completed partially directed graph for all graphs that observational data
// cannot distinguish from g, which must be acyclic. An edge is directed if it has the same
// direction in all these graphs, and otherwise it has both directions.
//
// The directed edges are the edges of unshielded colliders a → c ← b and the edges that follow from
// them by Meek's rules (1995).
func (g *Graph) CPDAG() *Graph { return g.Essential(nil) }

// Essential returns the essential graph of g for data without interventions together with data in
// which the nodes of each set in targets were set from outside (Hauser and Bühlmann 2012). It
// stands for all graphs that such data cannot distinguish from g, as [Graph.CPDAG] does without
// interventions. An edge with exactly one node in a set of targets is directed, because the data
// show whether the intervention removes the dependence.
func (g *Graph) Essential(targets []Set) *Graph {
	m := newMixedGraph(g)
	for to, parents := range g.ParentSets() {
		for a := range parents.Nodes() {
			apart := !parents.Without(a).Minus(m.adjacent(a)).Empty() // whether some other parent is not adjacent to a
			for _, set := range targets {
				apart = apart || set.Has(a) != set.Has(to)
			}
			if apart {
				m.direct(a, to)
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for a := range g.Nodes() {
			for b := range m.open[a].Nodes() {
				if m.compelled(a, b) {
					m.direct(a, b)
					changed = true
				}
			}
		}
	}
	for a := range m.in {
		m.in[a] = m.in[a].Or(m.open[a])
	}
	return &Graph{m.in}
}

// mixedGraph holds, for each node, the nodes with a directed edge to it, with a directed edge from
// it, and with an undirected edge.
type mixedGraph struct{ in, out, open []Set }

// newMixedGraph returns the mixed graph that has all edges of g as undirected edges.
func newMixedGraph(g *Graph) *mixedGraph {
	m := &mixedGraph{make([]Set, g.Nodes()), make([]Set, g.Nodes()), make([]Set, g.Nodes())}
	for to, parents := range g.ParentSets() {
		for from := range parents.Nodes() {
			m.open[from], m.open[to] = m.open[from].With(to), m.open[to].With(from)
		}
	}
	return m
}

func (m *mixedGraph) adjacent(a int) Set { return m.in[a].Or(m.out[a]).Or(m.open[a]) }

func (m *mixedGraph) direct(a, b int) {
	m.open[a], m.open[b] = m.open[a].Without(b), m.open[b].Without(a)
	m.out[a], m.in[b] = m.out[a].With(b), m.in[b].With(a)
}

// compelled reports whether one of Meek's four rules directs the undirected edge a − b from a to b.
// The fourth rule is needed only if interventions direct edges.
func (m *mixedGraph) compelled(a, b int) bool {
	nearA, nearB := m.adjacent(a), m.adjacent(b)
	// k → a, with k and b not adjacent: k → a ← b would be a new collider
	if !m.in[a].Minus(nearB).Empty() {
		return true
	}
	// a → k → b: b → a would make a cycle
	if !m.out[a].And(m.in[b]).Empty() {
		return true
	}
	// a − k → b ← l − a, k and l not adjacent: b → a would make a cycle or the collider k → a ← l
	between := m.open[a].And(m.in[b])
	for k := range between.Nodes() {
		if !between.Without(k).Minus(m.adjacent(k)).Empty() {
			return true
		}
	}
	// a − l → k → b, with a and k adjacent but b and l not: b → a would make a → l to avoid the
	// collider b → a ← l, and then the cycle a → l → k → b → a
	far := m.open[a].Without(b).Minus(nearB)
	for k := range m.in[b].And(nearA).Nodes() {
		if !far.And(m.in[k]).Empty() {
			return true
		}
	}
	return false
}
