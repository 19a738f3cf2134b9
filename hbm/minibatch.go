package hbm

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/rank"
)

// selection holds the members of each plate (a set of members over which variables are repeated)
// that are in one replica, a small copy of the model for a training step. They are drawn without
// replacement.
type selection struct {
	members map[*Plate][]int32
	// weight is one over the probability of each selected member to be selected. It is N_i / N_i^r
	// of PAVI eq. 5 and 6 if all members have the same probability. A row of the replica without a
	// member has weight 0.
	weight map[*Plate][]float64
	index  map[*membership][]int32 // for each selected member, the index of its outer member in the selection of the outer plate
}

// selector draws selections of members, all of one size.
type selector struct {
	plates []*Plate // each plate comes after the plate whose selection determines its own selection
	plans  map[*Plate]*plan
}

// plan is the rule that selects the members of a plate.
type plan struct {
	kind  wayKind
	size  int // number of rows for members in a replica; rows may stay unused
	share int // takeAmong: the most members for each selected member of the outer plate
	below below
	// lists are the members of the plate that belong to each member of the plate above. With
	// takeListed the only list is of the members themselves.
	lists [][]int32
}

type wayKind int

const (
	takeAll     wayKind = iota // all members, in order
	takeSome                   // random members, all with the same probability
	takeListed                 // the members of one list
	takeAmong                  // some members of each selected member of the plate above
	takeParents                // the members to which the selected members of a plate below belong
)

// below is a plate that determines the selection of an outer plate: a member of the outer plate is
// selected if a selected member of this plate belongs to it.
type below struct {
	chain  []*membership
	plate  *Plate
	counts []float64 // for each member of the outer plate, the number of members of plate that belong to it
}

// newSelector prepares to draw batch[p] members of each plate p in batch, and all members of the
// other plates. For a plate nested in one outer plate, batch[p] is the largest number for each
// selected member of the outer plate. For a plate nested in several outer plates, members are drawn
// from all of its members, and the outer members to which they belong are selected.
func newSelector(m *Model, batch map[*Plate]int) (*selector, error) {
	s := &selector{plans: map[*Plate]*plan{}}
	for p, n := range batch {
		if p == nil || p.model != m {
			return nil, fmt.Errorf("hbm: Batch names a plate that is not of this model")
		}
		if n < 0 {
			return nil, fmt.Errorf("hbm: got Batch[%q] %d, want a number that is not negative", p.name, n)
		}
	}
	part := func(p *Plate) int { // 0 stands for all
		if n := batch[p]; n < p.size {
			return n
		}
		return 0
	}
	// The drawn members of a plate nested in several outer plates determine the selection of these.
	for _, p := range m.plates {
		if len(p.parents) < 2 || part(p) == 0 {
			continue
		}
		s.plans[p] = &plan{kind: takeSome, size: part(p)}
		for _, q := range m.plates {
			chain := p.path(q)
			if chain == nil {
				continue
			}
			if part(q) > 0 {
				return nil, fmt.Errorf("hbm: got Batch for %q and %q, want only the first, whose members decide which members of the second are selected", p.name, q.name)
			}
			counts := make([]float64, q.size)
			for member := range p.size {
				counts[follow(chain, int32(member))]++
			}
			if empty := slices.Index(counts, 0); empty >= 0 {
				return nil, fmt.Errorf("hbm: no member of %q belongs to member %d of %q: Batch would never select that member", p.name, empty, q.name)
			}
			if s.plans[q] != nil {
				return nil, fmt.Errorf("hbm: plate %q contains several plates for which Batch is given, want Batch for one of them", q.name)
			}
			s.plans[q] = &plan{kind: takeParents, size: min(q.size, part(p)), below: below{chain, p, counts}}
		}
	}
	for _, p := range byDepth(m.plates) {
		if s.plans[p] == nil {
			w, err := s.planNested(p, part(p))
			if err != nil {
				return nil, err
			}
			s.plans[p] = w
		}
	}
	for len(s.plates) < len(m.plates) {
		for _, p := range m.plates {
			if after := s.after(p); !slices.Contains(s.plates, p) && (after == nil || slices.Contains(s.plates, after)) {
				s.plates = append(s.plates, p)
			}
		}
	}
	return s, s.checkProducts(m)
}

// after returns the plate whose selection determines the selection of p, or nil if none does.
func (s *selector) after(p *Plate) *Plate {
	switch w := s.plans[p]; w.kind {
	case takeAmong:
		return p.parents[0].plate
	case takeParents:
		return w.below.plate
	}
	return nil
}

// byDepth orders plates so that each plate comes after the plates in which it is nested.
func byDepth(plates []*Plate) []*Plate {
	var depth func(p *Plate) int
	depth = func(p *Plate) int {
		deepest := 0
		for _, parent := range p.parents {
			deepest = max(deepest, 1+depth(parent.plate))
		}
		return deepest
	}
	return slices.SortedStableFunc(slices.Values(plates), func(a, b *Plate) int { return depth(a) - depth(b) })
}

// planNested returns the rule for a plate, given the rules of the plates in which it is nested. If
// the argument part is 0, the rule takes all members.
func (s *selector) planNested(p *Plate, part int) (*plan, error) {
	if len(p.parents) == 0 {
		if part == 0 {
			return &plan{kind: takeAll, size: p.size}, nil
		}
		return &plan{kind: takeSome, size: part}, nil
	}
	partly := func(parent *membership) bool { return s.plans[parent.plate].kind != takeAll }
	if part == 0 && !slices.ContainsFunc(p.parents, partly) {
		return &plan{kind: takeAll, size: p.size}, nil
	}
	if len(p.parents) > 1 {
		return nil, fmt.Errorf("hbm: plate %q is nested in several plates, and Batch takes a part of one: give Batch for %[1]q only", p.name)
	}
	above := p.parents[0]
	lists := make([][]int32, above.plate.size)
	for member, parent := range above.index {
		lists[parent] = append(lists[parent], int32(member))
	}
	share := 0
	for _, list := range lists {
		share = max(share, len(list))
	}
	if part > 0 {
		share = min(share, part)
	}
	return &plan{kind: takeAmong, size: share * s.plans[above.plate].size, share: share, lists: lists}, nil
}

// checkProducts returns an error for a variable on two plates whose selections depend on each
// other, since the product of their weights would be wrong.
func (s *selector) checkProducts(m *Model) error {
	for _, v := range m.variables {
		for i, a := range v.plates {
			for _, b := range v.plates[:i] {
				for _, root := range m.plates {
					if s.plans[root].kind != takeAll && linked(a, root) && linked(b, root) {
						return fmt.Errorf("hbm: variable %q is on plates %q and %q, whose members Batch would not select independently of each other", v.name, b.name, a.name)
					}
				}
			}
		}
	}
	return nil
}

func linked(a, b *Plate) bool { return a.Determines(b) || b.Determines(a) }

// follow returns the outer member to which a member belongs through a chain of memberships.
func follow(chain []*membership, member int32) int32 {
	for _, step := range chain {
		member = step.index[member]
	}
	return member
}

func (s *selector) size(p *Plate) int { return s.plans[p].size }

// isWhole reports whether every selection holds all members in their order.
func (s *selector) isWhole() bool {
	for _, w := range s.plans {
		if w.kind != takeAll {
			return false
		}
	}
	return true
}

func (s *selector) draw(random *rand.Rand) *selection {
	chosen := &selection{members: map[*Plate][]int32{}, weight: map[*Plate][]float64{}, index: map[*membership][]int32{}}
	for _, p := range s.plates {
		w := s.plans[p]
		members, weight := make([]int32, 0, w.size), make([]float64, 0, w.size)
		switch w.kind {
		case takeAll, takeSome:
			for _, i := range draw(random, p.size, w.size) {
				members, weight = append(members, int32(i)), append(weight, float64(p.size)/float64(w.size))
			}
		case takeListed:
			for _, i := range w.lists[0] {
				members, weight = append(members, i), append(weight, float64(p.size)/float64(w.size))
			}
		case takeAmong:
			above := p.parents[0].plate
			for place, parent := range chosen.members[above] {
				list := w.lists[parent]
				n := min(len(list), w.share)
				if chosen.weight[above][place] == 0 {
					n = 0
				}
				picks := draw(random, len(list), n)
				for _, i := range picks {
					members = append(members, list[i])
					weight = append(weight, chosen.weight[above][place]*float64(len(list))/float64(n))
				}
			}
		case takeParents:
			from := w.below
			total := map[int32]float64{}
			for place, member := range chosen.members[from.plate] {
				above := follow(from.chain, member)
				if _, seen := total[above]; !seen {
					members = append(members, above)
				}
				total[above] += chosen.weight[from.plate][place] / from.counts[above]
			}
			for _, member := range members {
				weight = append(weight, total[member])
			}
		}
		for len(members) < w.size { // fill rows without a member
			members, weight = append(members, 0), append(weight, 0)
		}
		chosen.members[p], chosen.weight[p] = members, weight
	}
	for _, p := range s.plates {
		for _, parent := range p.parents {
			place := make(map[int32]int32, len(chosen.members[parent.plate]))
			for i, member := range chosen.members[parent.plate] {
				if _, seen := place[member]; !seen {
					place[member] = int32(i)
				}
			}
			chosen.index[parent] = apply.To(chosen.members[p], func(member int32) int32 { return place[parent.index[member]] })
		}
	}
	return chosen
}

// draw picks k of n numbers without replacement, in increasing order if all are picked.
func draw(random *rand.Rand, n, k int) []int {
	if k == n {
		return rank.UpTo(n)
	}
	// Floyd's method: work and memory grow with k, not with n.
	list, seen := make([]int, 0, k), make(map[int]bool, k)
	for j := n - k; j < n; j++ {
		i := random.IntN(j + 1)
		if seen[i] {
			i = j
		}
		seen[i] = true
		list = append(list, i)
	}
	return list
}

// rows returns the row-major indices of the selected members of a variable.
func (c *selection) rows(v *Variable) []int {
	rows := []int{0}
	for _, p := range v.plates {
		next := make([]int, 0, len(rows)*len(c.members[p]))
		for _, row := range rows {
			for _, member := range c.members[p] {
				next = append(next, row*p.size+int(member))
			}
		}
		rows = next
	}
	return rows
}

// thin keeps a random share of the members of each plate. A member is also left out if a member to
// which it belongs is left out. It returns whether each member is kept.
func (c *selection) thin(m *Model, random *rand.Rand) map[*Plate][]bool {
	all := map[*Plate][]bool{}
	for _, p := range byDepth(m.plates) {
		share := ThinnestShare + (1-ThinnestShare)*random.Float64()
		for i := range c.weight[p] {
			left := random.Float64() < share
			for _, parent := range p.parents {
				left = left && c.weight[parent.plate][c.index[parent][i]] > 0
			}
			if !left {
				c.weight[p][i] = 0
			}
			all[p] = append(all[p], left)
		}
	}
	return all
}
