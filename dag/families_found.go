package dag

import (
	gocontext "context"
	"fmt"
	"slices"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/internal/verdict"
)

// How families are found around those that q(m) draws. Chosen by hand.
const (
	// growthShare is the probability from which on the neighbours of a family are looked at, and
	// growthLeft the probability of all families of a round at which no more rounds are made.
	growthShare  = 0.01
	growthLeft   = 0.01
	growthRounds = 20
	// searchedParents is the size up to which all sets of parents are looked at whatever q(m)
	// draws, where mostSearched nodes or fewer make them affordable, and one less elsewhere.
	searchedParents = 2
	mostSearched    = 20
	// The number of families up to which all of them are listed, of networks, whose evidences need
	// particles, and of linear mechanisms: 8 and 10 nodes.
	allNetworks, allLinear = 1 << 10, 1 << 13
)

// foundFamilies is a list of families that grows.
type foundFamilies struct {
	structure dgraph.Structure
	list      []dgraph.Family
	place     map[dgraph.Family]bool
	searched  int // sets of parents up to this size are all there
}

// newFoundFamilies has those that q(m) drew and all small ones, or all where they are at most so
// many.
func newFoundFamilies(s dgraph.Structure, drawn [][]dgraph.Set, most float64) *foundFamilies {
	f := &foundFamilies{structure: s, place: map[dgraph.Family]bool{}, searched: searchedParents}
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
		for j, own := range parents {
			f.add(j, own)
		}
	}
	return f
}

// small adds all sets of parents of a node with so many members more, beyond the last one.
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

// judge lowers the verdict where families are missing: none of their neighbours may be probable
// while they are, as where parents matter only together, and nothing bounds what they have.
func (f *foundFamilies) judge(v *verdict.Judgement) {
	if have, all := float64(len(f.list)), f.structure.CountFamilies(); have < all {
		v.Lower(verdict.Doubtful, "%.0f of %.4g sets of parents were looked at, those that q(m) drew and sets near probable ones: others may have been missed", have, all)
	}
}

// add adds a family unless it is there, or the structure excludes it.
func (f *foundFamilies) add(j int, parents dgraph.Set) {
	family := dgraph.Family{Node: j, Parents: parents}
	if !f.place[family] && f.structure.Allows(j, parents) {
		f.place[family] = true
		f.list = append(f.list, family)
	}
}

// neighbours adds the families with one parent more, one less, or another in place of one.
func (f *foundFamilies) neighbours(family dgraph.Family) {
	j, parents := family.Node, family.Parents
	outside := f.structure.Allowed[j].Minus(parents)
	for i := range outside.Nodes() {
		f.add(j, parents.With(i))
	}
	for k := range parents.Nodes() {
		f.add(j, parents.Without(k))
		for i := range outside.Nodes() {
			f.add(j, parents.Without(k).With(i))
		}
	}
}

// growth is how the list grew.
type growth struct {
	// grown is the probability of the families of a node that q(m) did not draw and that are not
	// small, of the node that has most; left the probability of all families of the last round.
	grown, left float64
}

// grow adds neighbours of probable families until they have hardly any probability. posterior is
// that over the graphs whose families are on the list so far.
func (f *foundFamilies) grow(ctx gocontext.Context, posterior func(families []dgraph.Family) (*score.Posterior, error), status func(string)) (g growth, err error) {
	expanded, first := map[dgraph.Family]bool{}, len(f.list)
	before := 0
	for round := range growthRounds {
		grown := make([]float64, f.structure.Nodes)
		graphs, err := posterior(f.list)
		if err != nil {
			return g, err
		}
		if err := ctx.Err(); err != nil {
			return g, fmt.Errorf("stopped while families were found: %w", err)
		}
		g = growth{}
		for i, probability := range graphs.Marginals {
			if i >= first {
				grown[f.list[i].Node] += probability
			}
			if i >= before {
				g.left += probability
			}
		}
		g.grown = slices.Max(grown)
		if round > 0 && g.left < growthLeft {
			break
		}
		before = len(f.list)
		for i, family := range f.list[:before] {
			if graphs.Marginals[i] > growthShare && !expanded[family] {
				expanded[family] = true
				f.neighbours(family)
			}
		}
		status(fmt.Sprintf("families found: %d", len(f.list)))
		if len(f.list) == before {
			g.left = 0
			break
		}
	}
	return g, nil
}
