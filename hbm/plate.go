package hbm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
)

// Plate is a repetition, made by Model.Plate: a variable on a plate has one member for each member
// of the plate.
type Plate struct {
	model   *Model
	name    string
	size    int
	parents []*membership
}

// membership says to which member of an outer plate each member of a plate belongs.
type membership struct {
	plate *Plate
	index []int32 // [size of the plate], each in 0 … plate.size-1
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

// In nests p in the plate outer, and returns p. Member i of p belongs to member index[i] of outer,
// so that members of outer may have different numbers of members of p. A plate may be nested in
// several plates, each with its own index; the outer plates are then crossed.
func (p *Plate) In(outer *Plate, index []int32) *Plate {
	m := p.model
	switch {
	case outer == nil || outer.model != m:
		m.fail("plate %q is nested in a plate that the model does not have", p.name)
		return p
	case outer.path(p) != nil || outer == p:
		m.fail("plate %q is nested in %q and %[2]q in it", p.name, outer.name)
		return p
	case len(index) != p.size:
		m.fail("plate %q has %d members, but its index into %q has %d", p.name, p.size, outer.name, len(index))
		return p
	}
	for i, member := range index {
		if member < 0 || int(member) >= outer.size {
			m.fail("member %d of plate %q belongs to member %d of %q, which has %d", i, p.name, member, outer.name, outer.size)
			return p
		}
	}
	p.parents = append(p.parents, &membership{plate: outer, index: index})
	return p
}

// Name returns the name of the plate.
func (p *Plate) Name() string { return p.name }

// Size returns the number of members of the plate.
func (p *Plate) Size() int { return p.size }

// path returns the shortest chain of memberships from p to another plate, or nil if there is none.
func (p *Plate) path(to *Plate) []*membership {
	type step struct {
		plate *Plate
		chain []*membership
	}
	for queue := []step{{plate: p}}; len(queue) > 0; queue = queue[1:] {
		for _, parent := range queue[0].plate.parents {
			chain := append(queue[0].chain[:len(queue[0].chain):len(queue[0].chain)], parent)
			if parent.plate == to {
				return chain
			}
			queue = append(queue, step{parent.plate, chain})
		}
	}
	return nil
}

// Determines reports whether to is p, or each member of p belongs to one member of the plate to.
func (p *Plate) Determines(to *Plate) bool { return p == to || p.path(to) != nil }

// carrier returns the index of p in a list of plates or, without p, of the first plate nested in p;
// -1 if there is none.
func (p *Plate) carrier(plates []*Plate) int {
	if i := slices.Index(plates, p); i >= 0 {
		return i
	}
	return slices.IndexFunc(plates, func(plate *Plate) bool { return plate.Determines(p) })
}

func sizeOf(plates []*Plate) int { return product(apply.To(plates, (*Plate).Size)) }

// String shows the plate as name[size].
func (p *Plate) String() string { return fmt.Sprintf("%s[%d]", p.name, p.size) }

// Values holds the values of variables, each [plates..., event...] in row-major order.
type Values map[*Variable][]float64

// shape returns the shape of all values of a variable, [plates..., event...].
func (v *Variable) shape() []int { return append(apply.To(v.plates, (*Plate).Size), v.event...) }

// memberName returns a name for the member of the given number: "x[group 2, sample 7]".
func (v *Variable) memberName(number int) string {
	positions := make([]string, len(v.plates))
	for i := len(v.plates) - 1; i >= 0; i-- {
		positions[i] = fmt.Sprintf("%s %d", v.plates[i].name, number%v.plates[i].size)
		number /= v.plates[i].size
	}
	return fmt.Sprintf("%s[%s]", v.name, strings.Join(positions, ", "))
}

// CheckData returns an error if values cannot be data of the model: an observed variable or a
// constant is missing, has a wrong number of values, or a value outside the support of its density.
func (m *Model) CheckData(data Values) error {
	if err := m.Err(); err != nil {
		return err
	}
	for _, v := range m.variables {
		if v.role == Latent {
			continue
		}
		values, ok := data[v]
		if !ok {
			return fmt.Errorf("hbm: %s variable %q has no values", v.role, v.name)
		}
		size := v.EventSize()
		if len(values) != v.Members()*size {
			return fmt.Errorf("hbm: variable %q: got %s, want %d of shape %v", v.name, english.Count(len(values), "value"), v.Members()*size, v.shape())
		}
		support := Reals
		if v.role == Observed {
			support = v.density.support
		}
		for member := range v.Members() {
			if err := support.check(values[member*size : (member+1)*size]); err != nil {
				return fmt.Errorf("hbm: %s: %w", v.memberName(member), err)
			}
		}
	}
	return nil
}

// wholeReplica returns the replica that holds all members of all plates in their order.
func (m *Model) wholeReplica(g *Graph, dtype dtypes.DType) *replica {
	r := &replica{graph: g, dtype: dtype, sizes: map[*Plate]int{}, index: map[*membership]*Node{}, values: map[*Variable]*Node{}}
	for _, p := range m.plates {
		r.sizes[p] = p.size
		for _, parent := range p.parents {
			r.index[parent] = Const(g, parent.index)
		}
	}
	return r
}

// tensorOf returns values of a variable in one or more data sets, [plates..., sets, event...].
func (v *Variable) tensorOf(values []float64) *tensors.Tensor {
	dims := append(v.shape()[:len(v.plates)], len(values)/(v.Members()*v.EventSize()))
	return tensors.FromFlatDataAndDimensions(values, append(dims, v.event...)...)
}
