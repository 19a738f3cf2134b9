package graph

// EachGraph calls visit with the parent sets of every acyclic graph whose node j takes its parents
// from families[j], until it returns false. The slice is overwritten between calls. Nodes get their
// parents in turn, and a cycle is cut off at once.
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
