package dag

import (
	gocontext "context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/internal/verdict"
)

// These constants control the search for probable families, that is, nodes with sets of parents.
// The search starts from a list and adds neighbours: families with one parent more, less or
// replaced. Smaller limits on probabilities make it find more families, in more time.
const (
	// The neighbours of a family (a node with its parents) are evaluated if its posterior
	// probability exceeds growthShare. In a trusted answer the posterior probabilities of the
	// families found in the last round add up to at most growthLeft. There are at most growthRounds
	// rounds.
	growthShare  = 0.01
	growthLeft   = 0.02
	growthRounds = 40
	// A swap replaces one parent by another node. The log weight of a set of parents is its log
	// evidence plus its log prior. The swapped set is evaluated if adding the new parent alone
	// loses less log weight than the constant harmless, in nats. It is also evaluated if this loss
	// and the loss by removing the old parent alone add up to less than the constant promising.
	harmless, promising = 4, 8
	// All sets of up to searchedParents parents are on the first list. With more than mostSearched
	// nodes the size is one less, to save time.
	searchedParents = 2
	mostSearched    = 20
	// All families (nodes with sets of parents) are listed if their number is at most allNetworks
	// for network mechanisms, whose evidences need particles, or allLinear for linear mechanisms.
	// Without constraints this is the case up to 8 nodes with networks, and up to 10 nodes with
	// linear mechanisms.
	allNetworks, allLinear = 1 << 10, 1 << 13
)

// foundFamilies is a list of families (nodes with sets of parents) that grows in a search for
// probable families.
type foundFamilies struct {
	structure dgraph.Structure
	list      []dgraph.Family
	place     map[dgraph.Family]int
	expanded  []expansion // for each listed family
	first     int         // number of families before the list grew
	searched  int         // all sets of up to this number of parents are on the list
}

// expansion states which neighbours of a family (a node with its parents) are already on the list.
type expansion int

const (
	unexpanded expansion = iota
	toggled              // neighbours with one parent more or less
	swapped              // also neighbours with one parent replaced
)

// newFoundFamilies returns a list of the families of the drawn graphs and all families with few
// parents. If the number of allowed families is not above the argument named most, it lists all
// families.
func newFoundFamilies(s dgraph.Structure, drawn [][]dgraph.Set, most float64) *foundFamilies {
	f := &foundFamilies{structure: s, place: map[dgraph.Family]int{}, searched: searchedParents}
	switch {
	case s.CountFamilies() <= most:
		f.searched = s.Nodes - 1
	case s.Nodes > mostSearched:
		f.searched--
	}
	for j := range s.Nodes {
		f.small(j, s.Required[j], -1, f.searched)
	}
	for _, parents := range drawn {
		for j, nodeParents := range parents {
			f.add(j, nodeParents)
		}
	}
	f.first = len(f.list)
	return f
}

// small adds, for node j, the sets of parents that consist of the set parents and further nodes
// with numbers above last. The argument more is the largest number of further nodes.
func (f *foundFamilies) small(j int, parents dgraph.Set, last, more int) {
	f.add(j, parents)
	if more == 0 {
		return
	}
	for i := range f.structure.Allowed[j].Minus(parents).Nodes() {
		if i > last {
			f.small(j, parents.With(i), i, more-1)
		}
	}
}

// judge lowers the verdict if the list does not hold all families (nodes with sets of parents). A
// family that is not on the list may be probable although none of its neighbours is, for instance
// when parents matter only together. Nothing bounds the probability of such families.
func (f *foundFamilies) judge(v *verdict.Judgement) {
	if have, all := float64(len(f.list)), f.structure.CountFamilies(); have < all {
		v.Lower(verdict.Doubtful, "%.0f of %.4g sets of parents were looked at, small ones and sets near probable ones: others may have been missed", have, all)
	}
}

// add adds node j with a set of parents unless it is already listed or the structure forbids it.
func (f *foundFamilies) add(j int, parents dgraph.Set) {
	family := dgraph.Family{Node: j, Parents: parents}
	if _, known := f.place[family]; !known && f.structure.Allows(j, parents) {
		f.place[family] = len(f.list)
		f.list, f.expanded = append(f.list, family), append(f.expanded, unexpanded)
	}
}

func (f *foundFamilies) toggle(family dgraph.Family) {
	for i := range f.structure.Allowed[family.Node].Nodes() {
		f.add(family.Node, family.Parents.Toggle(i))
	}
}

// swap adds the sets of parents with one parent replaced by another node. It leaves out a set if
// the evidences with the new parent added and with the old parent removed make the set improbable,
// by the limits harmless and promising.
func (f *foundFamilies) swap(family dgraph.Family, logEvidence []float64) {
	j, parents := family.Node, family.Parents
	weight := func(parents dgraph.Set) float64 {
		place, known := f.place[dgraph.Family{Node: j, Parents: parents}]
		if !known || place >= len(logEvidence) {
			return math.Inf(1)
		}
		return logEvidence[place] + f.structure.Prior.LogWeight(j, parents)
	}
	familyWeight := weight(parents)
	for i := range f.structure.Allowed[j].Minus(parents).Nodes() {
		more := weight(parents.With(i)) - familyWeight
		for k := range parents.Nodes() {
			if more > -harmless || more+weight(parents.Without(k))-familyWeight > -promising {
				f.add(j, parents.Without(k).With(i))
			}
		}
	}
}

// grow adds neighbours of probable families (nodes with sets of parents) until the families added
// last have almost no posterior probability, or until the function named over returns true. It
// returns the probability of the families added last, summed over nodes. The function posterior
// returns the posterior over graphs that consist of the listed families.
func (f *foundFamilies) grow(ctx gocontext.Context, posterior func(families []dgraph.Family) (*score.Posterior, error), over func() bool, status func(string)) (left float64, err error) {
	before := len(f.list)
	for range growthRounds {
		graphs, err := posterior(f.list)
		if err != nil {
			return 0, err
		}
		if err := ctx.Err(); err != nil {
			return 0, fmt.Errorf("stopped while families were found: %w", err)
		}
		if left = floats.Sum(graphs.Marginals[before:]); over() {
			break
		}
		before = len(f.list)
		for i, family := range f.list[:before] {
			if graphs.Marginals[i] <= growthShare || f.expanded[i] == swapped {
				continue
			}
			if f.expanded[i]++; f.expanded[i] == toggled {
				f.toggle(family)
			} else {
				f.swap(family, graphs.Scores.LogEvidence)
			}
		}
		status(fmt.Sprintf("families found: %d", len(f.list)))
		if len(f.list) == before {
			return 0, nil
		}
	}
	return left, nil
}

// grown returns the probability of the sets of parents added to the first list, for the node where
// this probability is largest.
func (f *foundFamilies) grown(graphs *score.Posterior) float64 {
	shares := make([]float64, f.structure.Nodes)
	for i, share := range graphs.Marginals[f.first:] {
		shares[f.list[f.first+i].Node] += share
	}
	return slices.Max(shares)
}
