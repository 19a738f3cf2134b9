package graph

import (
	"fmt"
	"slices"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
)

// maxListedNodes is the largest number of nodes for which families are listed. There are N 2^(N−1)
// families.
const maxListedNodes = 20

// Family is a node with a set of parents.
type Family struct {
	Node    int
	Parents Set
}

// Known holds values of families that were computed before.
type Known[V any] map[Family]V

// Of returns the value of a family, computed only if it is not known. All known values are
// forgotten once there are as many as most.
func (k Known[V]) Of(f Family, most int, compute func(f Family) V) V {
	value, ok := k[f]
	if !ok {
		if len(k) >= most {
			clear(k)
		}
		value = compute(f)
		k[f] = value
	}
	return value
}

// Structure is the set of possible graphs with their prior weights.
type Structure struct {
	// Nodes is the number of nodes N.
	Nodes int
	// Required holds the parents that each node must have, and Allowed the parents that it may
	// have.
	Required, Allowed []Set
	// MaxParents is the largest number of parents of a node; negative for no limit.
	MaxParents int
	// Prior is the prior weight of a graph.
	Prior FamilyPrior
	// Orders makes Prior a prior over codes (P, U), see [Ordered], instead of graphs, as in the VTI
	// paper: a graph then counts once for each of its topological orders.
	Orders bool
}

// FreeStructure returns a structure without constraints whose prior is uniform over graphs.
func FreeStructure(nodes int) Structure {
	return Structure{Nodes: nodes, Required: make([]Set, nodes), Allowed: apply.UpTo(nodes, Below(nodes).Without), MaxParents: -1}
}

// Families returns the families that the constraints allow, ordered by node, size of the set of
// parents, and value of the set.
func (s Structure) Families() []Family {
	var families []Family
	for j := range s.Nodes {
		var sets []Set
		for free := range subsets(s.Allowed[j].Minus(s.Required[j]).low[0]) {
			if set := s.Required[j].Or(lowSet(free)); s.MaxParents < 0 || set.Len() <= s.MaxParents {
				sets = append(sets, set)
			}
		}
		slices.SortFunc(sets, Set.Compare)
		families = append(families, apply.To(sets, func(set Set) Family { return Family{j, set} })...)
	}
	return families
}

// CountFamilies returns the length of Families without listing them.
func (s Structure) CountFamilies() (count float64) {
	for j := range s.Nodes {
		free, most := s.Allowed[j].Minus(s.Required[j]).Len(), s.Nodes
		if s.MaxParents >= 0 {
			most = s.MaxParents - s.Required[j].Len()
		}
		binomial := 1.0
		for k := 0; k <= min(free, most); k++ {
			count += binomial
			binomial *= float64(free-k) / float64(k+1)
		}
	}
	return count
}

// Validate returns an error if no graph is possible or a field is out of its range. Its errors name
// nodes by number; NewStructure of package tables checks constraints given by names.
func (s Structure) Validate() error {
	if s.Nodes < 2 || s.Nodes > MaxNodes {
		return fmt.Errorf("got %s, want 2 to %d", english.Count(s.Nodes, "node"), MaxNodes)
	}
	if len(s.Required) != s.Nodes || len(s.Allowed) != s.Nodes {
		return fmt.Errorf("got constraints for %d and %d nodes, want %d", len(s.Required), len(s.Allowed), s.Nodes)
	}
	if got := len(s.Prior.BySize); got != 0 && got != s.Nodes {
		return fmt.Errorf("prior of families: got %d sizes, want %d", got, s.Nodes)
	}
	if !s.Prior.finite() {
		return fmt.Errorf("prior of families: got a log weight that is not finite")
	}
	for j, required := range s.Required {
		if s.Allowed[j].Has(j) {
			return fmt.Errorf("node %d must not be allowed as its own parent", j)
		}
		for i := range required.Minus(s.Allowed[j]).Nodes() {
			return fmt.Errorf("the edge from node %d to node %d is required and not allowed", i, j)
		}
		if s.MaxParents >= 0 && required.Len() > s.MaxParents {
			return fmt.Errorf("node %d has %s and may have %d", j, english.Count(required.Len(), "required parent"), s.MaxParents)
		}
	}
	if cycle := FromParents(s.Required).Cycle(); cycle != nil {
		return fmt.Errorf("the required edges make a cycle through nodes %v", cycle)
	}
	return nil
}

// Allows reports whether the constraints allow a family.
func (s Structure) Allows(j int, parents Set) bool {
	return parents.Within(s.Allowed[j]) && s.Required[j].Within(parents) && (s.MaxParents < 0 || parents.Len() <= s.MaxParents)
}

// ExactLimit returns the largest number of nodes for which sums over all graphs are possible.
func (s Structure) ExactLimit() int {
	if s.Orders {
		return maxListedNodes
	}
	return maxLayerNodes
}

// PriorName returns a description of the objects that the prior is over.
func (s Structure) PriorName() string {
	if s.Orders {
		return "orders and graphs along them"
	}
	return "graphs"
}

// Sum returns the sum over all graphs of the structure. The weight of a graph is the product of the
// weights of its families, and the log weight of a family is its score plus its log prior weight.
// families are the families of the structure in its order, and scores their scores [F]. goOn is
// called with the progress of the sum, and reports whether to continue; a stopped sum is of no use.
// Sum panics above [Structure.ExactLimit] nodes.
func (s Structure) Sum(families []Family, scores []float64, goOn func(done, total int) bool) Sum {
	if s.Nodes > s.ExactLimit() {
		panic(fmt.Sprintf("graph.Structure.Sum: got %d nodes, want at most %d", s.Nodes, s.ExactLimit()))
	}
	sets := make([][]weightedSet, s.Nodes) // by node
	for i, f := range families {
		sets[f.Node] = append(sets[f.Node], weightedSet{f.Parents.low[0], scores[i] + s.Prior.LogWeight(f.Node, f.Parents), i})
	}
	if s.Orders {
		return newOrderSum(sets, goOn)
	}
	return newLayerSum(sets, goOn)
}

// weightedSet is a set of parents with its log weight. family is its index in the list of families.
type weightedSet struct {
	parents   uint64
	logWeight float64
	family    int
}
