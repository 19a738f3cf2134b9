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

// Settings of the search around probable families. Smaller probabilities find more families, in
// more time.
const (
	// growthShare is the probability above which the neighbours of a family are evaluated.
	// growthLeft is the largest probability of the last round's families in a trusted answer.
	growthShare  = 0.01
	growthLeft   = 0.02
	growthRounds = 40
	// A swap of a parent is evaluated if the new parent alone takes less than harmless nats from
	// the weight of a family, or both changes together less than promising nats.
	harmless, promising = 4, 8
	// searchedParents is the size up to which all sets of parents are evaluated, whatever q(m)
	// draws, if mostSearched nodes or fewer make them affordable; otherwise it is one less.
	searchedParents = 2
	mostSearched    = 20
	// All families are listed up to these numbers: for networks, whose evidences need particles,
	// and for linear mechanisms. They allow 8 and 10 nodes.
	allNetworks, allLinear = 1 << 10, 1 << 13
)

// foundFamilies is a list of families that grows.
type foundFamilies struct {
	structure dgraph.Structure
	list      []dgraph.Family
	place     map[dgraph.Family]int
	expanded  []expansion // [F]
	first     int         // families that were there before the list grew
	searched  int         // sets of parents up to this size are all there
}

// expansion states which neighbours of a family are on the list.
type expansion int

const (
	unexpanded expansion = iota
	toggled              // those with one parent more or less
	swapped              // and those with another parent in place of one
)

// newFoundFamilies returns the drawn graphs' and all small families, or all if there are at most
// most.
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

// small adds all sets that extend the parents of a node by at most more members after last.
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

// judge lowers the verdict if families are missing. None of their neighbours may be probable though
// they are, such as parents that matter only together, and nothing bounds their probability.
func (f *foundFamilies) judge(v *verdict.Judgement) {
	if have, all := float64(len(f.list)), f.structure.CountFamilies(); have < all {
		v.Lower(verdict.Doubtful, "%.0f of %.4g sets of parents were looked at, small ones and sets near probable ones: others may have been missed", have, all)
	}
}

// add adds a family unless it is listed or the structure excludes it.
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

// swap adds the families with one parent replaced, except hardly probable ones by the separate
// effects of both changes on the weights of the family.
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

// grow adds neighbours of probable families until they have hardly any probability, or until over
// reports true, and returns the probability of the last round's families. posterior returns the
// posterior over graphs of the listed families.
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

// grown returns the probability of families added to the first list, for the node with the most.
func (f *foundFamilies) grown(graphs *score.Posterior) float64 {
	shares := make([]float64, f.structure.Nodes)
	for i, share := range graphs.Marginals[f.first:] {
		shares[f.list[f.first+i].Node] += share
	}
	return slices.Max(shares)
}
