package graph

// Skeleton returns the graph with every edge in both directions.
func (g *Graph) Skeleton() *Graph {
	s := NewGraph(g.nodes)
	for i := range g.nodes {
		for j := range g.nodes {
			if i != j {
				s.Set(i, j, g.Adjacent(i, j))
			}
		}
	}
	return s
}

// CPDAG returns the completed partially directed graph that stands for all graphs that
// observational data cannot tell from g, which must be acyclic: an edge is directed if it has the
// same direction in all of them, and otherwise there in both directions.
//
// These are the edges of unshielded colliders a → c ← b and what follows from them by Meek's rules
// (1995).
func (g *Graph) CPDAG() *Graph { return g.Essential(nil) }

// Essential returns the essential graph of g given data in which the nodes of each of some sets
// were set from outside, beside data without interventions (Hauser and Bühlmann 2012): it stands
// for all graphs that such data cannot tell from g, as [Graph.CPDAG] does without interventions. An
// edge with exactly one of its nodes in a set of targets is directed besides: the data show whether
// it is cut off there.
func (g *Graph) Essential(targets []Set) *Graph {
	c := g.Skeleton()
	for to := range g.nodes {
		parents := g.Parents(to)
		for _, a := range parents {
			for _, b := range parents {
				if a != b && !g.Adjacent(a, b) {
					c.Set(to, a, false)
				}
			}
			for _, set := range targets {
				if set.Has(a) != set.Has(to) {
					c.Set(to, a, false)
				}
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for a := range g.nodes {
			for b := range g.nodes {
				if a != b && c.undirected(a, b) && c.compelled(a, b) {
					c.Set(b, a, false)
					changed = true
				}
			}
		}
	}
	return c
}

// undirected reports whether there are edges in both directions.
func (g *Graph) undirected(a, b int) bool { return g.Has(a, b) && g.Has(b, a) }

// compelled reports whether one of Meek's four rules directs the undirected edge a − b from a to b.
// The fourth is of use only where edges are directed for other reasons than colliders.
func (g *Graph) compelled(a, b int) bool {
	for k := range g.nodes {
		if k == a || k == b {
			continue
		}
		if g.Directed(k, a) && !g.Adjacent(k, b) { // else k → a ← b would be a new collider
			return true
		}
		if g.Directed(a, k) && g.Directed(k, b) { // else there would be a cycle
			return true
		}
		for l := range g.nodes {
			if l == a || l == b || l == k {
				continue
			}
			// a − k → b ← l − a with k and l apart: b → a would make a cycle or a collider at a
			if g.undirected(a, k) && g.Directed(k, b) && g.undirected(a, l) && g.Directed(l, b) && !g.Adjacent(k, l) {
				return true
			}
			// a − l → k → b with b and l apart: b → a would make l → a, else l and b collide there,
			// and then a cycle
			if g.undirected(a, l) && g.Directed(l, k) && g.Directed(k, b) && g.Adjacent(a, k) && !g.Adjacent(l, b) {
				return true
			}
		}
	}
	return false
}
