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
func (g *Graph) CPDAG() *Graph {
	c := g.Skeleton()
	for to := range g.nodes {
		parents := g.Parents(to)
		for _, a := range parents {
			for _, b := range parents {
				if a != b && !g.Adjacent(a, b) {
					c.Set(to, a, false)
				}
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for a := range g.nodes {
			for b := range g.nodes {
				if a != b && c.Has(a, b) && c.Has(b, a) && c.compelled(a, b) {
					c.Set(b, a, false)
					changed = true
				}
			}
		}
	}
	return c
}

// compelled reports whether one of Meek's rules directs the undirected edge a − b from a to b.
func (c *Graph) compelled(a, b int) bool {
	for k := range c.nodes {
		if k == a || k == b {
			continue
		}
		if c.Directed(k, a) && !c.Adjacent(k, b) { // else k → a ← b would be a new collider
			return true
		}
		if c.Directed(a, k) && c.Directed(k, b) { // else there would be a cycle
			return true
		}
		if !c.Has(a, k) || !c.Has(k, a) || !c.Directed(k, b) {
			continue
		}
		// a − k → b ← l − a with k and l apart: b → a would make a cycle or a collider at a
		for l := range k {
			if l != a && l != b && c.Has(a, l) && c.Has(l, a) && c.Directed(l, b) && !c.Adjacent(k, l) {
				return true
			}
		}
	}
	return false
}
