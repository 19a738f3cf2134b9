package graph

// EachGraph calls visit with the parent sets of every acyclic graph in which each node j has one of
// the parent sets families[j], until visit returns false. The slice is overwritten between calls.
// Nodes get their parents in turn, and partial graphs with a cycle are not continued.
func EachGraph(families [][]Set, visit func(parents []Set) bool) {
	parents := make([]Set, len(families))
	var choose func(j int) bool
	choose = func(j int) bool {
		if j == len(families) {
			return visit(parents)
		}
		for _, set := range families[j] {
			parents[j] = set
			if Acyclic(parents) && !choose(j+1) {
				return false
			}
		}
		parents[j] = Set{}
		return true
	}
	choose(0)
}
