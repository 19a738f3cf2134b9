package hbm

import "fmt"

// Plate stands for repetition: a variable on a plate has one member for each member of the plate.
// Plates are made by Model.Plate.
type Plate struct {
	model   *Model
	name    string
	size    int
	parents []*membership
}

// membership says that each member of a plate belongs to one member of another.
type membership struct {
	of    *Plate
	index []int32 // [size of the plate], each in 0 … of.size-1
}

// Plate adds a plate with size members.
func (m *Model) Plate(name string, size int) *Plate {
	p := &Plate{model: m, name: name, size: size}
	if size < 1 {
		m.fail("plate %q: got %d members, want at least 1", name, size)
	}
	for _, other := range m.plates {
		if other.name == name {
			m.fail("there are two plates %q", name)
		}
	}
	m.plates = append(m.plates, p)
	return p
}

// In nests the plate in another, whose members may have different numbers of members of p: member i
// of p belongs to member index[i] of the plate given. A plate may be nested in several others, each
// with an index of its own: then those are crossed. It returns p.
func (p *Plate) In(of *Plate, index []int32) *Plate {
	m := p.model
	switch {
	case of == nil || of.model != m:
		m.fail("plate %q is nested in a plate that the model does not have", p.name)
		return p
	case of.path(p) != nil || of == p:
		m.fail("plate %q is nested in %q and %[2]q in it", p.name, of.name)
		return p
	case len(index) != p.size:
		m.fail("plate %q has %d members, but its index into %q has %d", p.name, p.size, of.name, len(index))
		return p
	}
	for i, member := range index {
		if member < 0 || int(member) >= of.size {
			m.fail("member %d of plate %q belongs to member %d of %q, which has %d", i, p.name, member, of.name, of.size)
			return p
		}
	}
	p.parents = append(p.parents, &membership{of: of, index: index})
	return p
}

// Name is the name of the plate.
func (p *Plate) Name() string { return p.name }

// Size is the number of members of the plate.
func (p *Plate) Size() int { return p.size }

// path is the shortest chain of memberships that leads from p to another plate; nil if there is
// none.
func (p *Plate) path(to *Plate) []*membership {
	type step struct {
		at    *Plate
		chain []*membership
	}
	for queue := []step{{at: p}}; len(queue) > 0; queue = queue[1:] {
		for _, parent := range queue[0].at.parents {
			chain := append(queue[0].chain[:len(queue[0].chain):len(queue[0].chain)], parent)
			if parent.of == to {
				return chain
			}
			queue = append(queue, step{parent.of, chain})
		}
	}
	return nil
}

// Determines reports whether a member of p determines a member of the other plate.
func (p *Plate) Determines(to *Plate) bool { return p == to || p.path(to) != nil }

// carrier is the number of the first of plates whose members determine a member of p; -1 if there
// is none.
func (p *Plate) carrier(plates []*Plate) int {
	for i, plate := range plates {
		if plate == p {
			return i
		}
	}
	for i, plate := range plates {
		if plate.Determines(p) {
			return i
		}
	}
	return -1
}

// sizeOf is the number of members of a product of plates.
func sizeOf(plates []*Plate) int {
	size := 1
	for _, p := range plates {
		size *= p.size
	}
	return size
}

// String shows the plate as name[size].
func (p *Plate) String() string { return fmt.Sprintf("%s[%d]", p.name, p.size) }
