package simd

import (
	"fmt"
	"slices"

	"github.com/gomlx/gomlx/backends"
	"github.com/pkg/errors"
)

// tileCompiler translates one group into a tile program.
type tileCompiler struct {
	*lowering
	*tileProgram
	unit      *unit
	slotOf    map[string]int // slots of operands in memory and of registers that loads fill
	result    map[*node]int  // slot with the elements of each node
	lastUse   map[int]int    // for each node by id, the index in the group of the last node that reads it
	registers map[int]*register
	pool      map[int][]*register // free registers, by the number of bytes of an element
	all       []*register
	reads     map[int]bool // ids of the values that the group reads
	stridden  map[int]bool // ids of the values that loads read in another order than the group's
}

// register is scratch memory for one tile.
type register struct{ elem, offset int }

// lowerGroup emits the step of a group.
func (l *lowering) lowerGroup(u *unit) {
	c := &tileCompiler{
		lowering: l, tileProgram: &tileProgram{size: u.size, cols: u.cols, shared: -1}, unit: u,
		slotOf: map[string]int{}, result: map[*node]int{}, lastUse: map[int]int{}, registers: map[int]*register{},
		pool: map[int][]*register{}, reads: map[int]bool{}, stridden: map[int]bool{},
	}
	c.slots = append(c.slots, slot{value: -1}) // the slot of operands that an instruction does not have
	c.choosePath()
	c.findLastUses()
	var written []*value
	for i, n := range u.nodes {
		if isReduction(n.op) {
			c.reduce(n)
		} else {
			c.instruction(i, n)
		}
		if v := l.stored[n.id]; v != nil {
			written = append(written, v)
		}
	}
	c.chooseTile()
	s := scheduled{step: c.tileProgram, writes: written, reuse: c.reusable()}
	for id := range c.reads {
		s.reads = append(s.reads, l.values[id])
	}
	slices.SortFunc(s.reads, func(a, b *value) int { return a.id - b.id })
	if c.shared >= 0 {
		s.writes = append(s.writes, l.values[c.shared])
	}
	l.tileSlots = max(l.tileSlots, len(c.slots))
	l.emit(s)
}

// choosePath sets the order in which the tile program visits the elements of the group.
func (c *tileCompiler) choosePath() {
	if c.cols == 0 {
		c.order, c.cols = linear, c.size
		return
	}
	c.order = shortRows
	if c.cols > maxTile {
		c.order = longColumns
		for _, n := range c.unit.nodes {
			if isReduction(n.op) {
				if kind, _ := reductionRows(n); kind == alongRows {
					c.order = longRows
				}
			}
		}
	}
}

// inGroup returns the node of the group that computes the elements of operand in, or nil if these
// are read from memory.
func (c *tileCompiler) inGroup(in *node) *node {
	base, v := viewOf(in)
	if c.lowering.unit[base] == c.unit && isElementwise(base.op) && v.dense(base.size()) {
		return base
	}
	return nil
}

// findLastUses finds the last node of the group that reads each result of the group. Reductions run
// after all instructions and therefore count as later than every instruction.
func (c *tileCompiler) findLastUses() {
	for i, n := range c.unit.nodes {
		if isReduction(n.op) {
			i = len(c.unit.nodes)
		}
		for _, in := range n.inputs {
			if base := c.inGroup(in); base != nil {
				c.lastUse[base.id] = max(c.lastUse[base.id], i)
			}
		}
	}
}

// operandSlot returns the slot of operand in, and whether the slot holds a single element that
// stands for all elements of the operand. This is possible only if scalarFits is true, which means
// that the instruction has a variant for a single element.
func (c *tileCompiler) operandSlot(in *node, scalarFits bool) (s int, scalar bool) {
	if base := c.inGroup(in); base != nil {
		return c.result[base], false
	}
	v, seen := c.operand(in)
	c.reads[v.id] = true
	elem := v.dtype.Size()
	read := c.backend.kernels.strided(seen, elem)
	inPlace := len(read.dims) == 0 && c.size == 1 || len(read.dims) == 1 && read.strides[0] == 1
	scalar = read.uniform() && !inPlace && scalarFits
	key := fmt.Sprint(v.id, read.view, scalar)
	if s, ok := c.slotOf[key]; ok {
		return s, scalar
	}
	memory := slot{value: v.id, offset: read.offset * elem}
	switch {
	case inPlace:
		memory.scale = elem
		s = c.newSlot(memory)
	case scalar:
		s = c.newSlot(memory)
	default:
		c.stridden[v.id] = true
		memory.offset = 0
		s = c.newRegister(elem, true)
		c.loads = append(c.loads, tileLoad{dst: s, src: c.newSlot(memory), read: read})
	}
	c.slotOf[key] = s
	return s, scalar
}

func (c *tileCompiler) newSlot(s slot) int {
	c.slots = append(c.slots, s)
	return len(c.slots) - 1
}

// newRegister returns a slot with a register for elements of elem bytes. It reuses a free register
// if there is one, unless fresh is true: then no earlier instruction has written the register.
func (c *tileCompiler) newRegister(elem int, fresh bool) int {
	var r *register
	if free := c.pool[elem]; len(free) > 0 && !fresh {
		r = free[len(free)-1]
		c.pool[elem] = free[:len(free)-1]
	} else {
		r = &register{elem: elem}
		c.all = append(c.all, r)
	}
	s := c.newSlot(slot{value: -1})
	c.registers[s] = r
	return s
}

// instruction adds the instruction of element-wise node n, which has index i in the group.
func (c *tileCompiler) instruction(i int, n *node) {
	key := opTypeOf(n)
	in := tileInstruction{do: c.backend.kernels.find(n)}
	if in.do == nil {
		panic(errors.Errorf("simd: operation %s is not defined for %s", n.op, n.inputs[0].dtype))
	}
	stored := c.stored[n.id]
	if n.op == backends.OpTypeIdentity && stored != nil && c.inGroup(n.inputs[0]) == nil && c.copyStraight(n, stored) {
		return
	}
	operands := [3]*int{&in.a, &in.b, &in.c}
	for j, operand := range n.inputs {
		var scalarDo tileFunc
		if len(n.inputs) == 2 && j == 1 {
			scalarDo = c.backend.kernels.scalarB[key]
		} else if len(n.inputs) == 2 {
			scalarDo = c.backend.kernels.scalarA[key]
		}
		s, scalar := c.operandSlot(operand, scalarDo != nil && !c.otherIsScalar(n, j))
		*operands[j] = s
		if scalar {
			in.do = scalarDo
		}
	}
	// The result may overwrite an operand with elements of the same size that no later instruction
	// reads.
	c.free(i, n, func(elem int) bool { return elem == n.dtype.Size() })
	if stored != nil {
		in.dst = c.newSlot(slot{value: stored.id, scale: stored.dtype.Size()})
	} else {
		in.dst = c.newRegister(n.dtype.Size(), false)
	}
	c.free(i, n, func(elem int) bool { return elem != n.dtype.Size() })
	c.result[n] = in.dst
	c.code = append(c.code, in)
}

// free makes the registers of operands of node n available again if n, with index i in the group,
// is the last node that reads them. Only registers whose number of bytes per element satisfies the
// function chosen are made available.
func (c *tileCompiler) free(i int, n *node, chosen func(elem int) bool) {
	for _, operand := range n.inputs {
		base := c.inGroup(operand)
		if base == nil || c.lastUse[base.id] != i {
			continue
		}
		r := c.registers[c.result[base]]
		if r != nil && chosen(r.elem) && !slices.Contains(c.pool[r.elem], r) {
			c.pool[r.elem] = append(c.pool[r.elem], r)
		}
	}
}

// otherIsScalar reports whether j is the second operand of binary operation n and the first operand
// is a scalar. There is no instruction for two scalars.
func (c *tileCompiler) otherIsScalar(n *node, j int) bool {
	if j == 0 || c.inGroup(n.inputs[0]) != nil {
		return false
	}
	_, v := viewOf(n.inputs[0])
	return v.uniform() && c.size > 1
}

// copyStraight adds a load that writes the rearranged elements of the operand of n directly to the
// memory of the result; n is a copy. It returns false if elements are not rearranged.
func (c *tileCompiler) copyStraight(n *node, stored *value) bool {
	v, seen := c.operand(n.inputs[0])
	read := c.backend.kernels.strided(seen, v.dtype.Size())
	if len(read.dims) == 1 && read.strides[0] == 1 || c.size == 1 {
		return false
	}
	c.reads[v.id] = true
	c.stridden[v.id] = true
	dst := c.newSlot(slot{value: stored.id, scale: v.dtype.Size()})
	c.loads = append(c.loads, tileLoad{dst: dst, src: c.newSlot(slot{value: v.id}), read: read})
	c.result[n] = dst
	return true
}

// reduce adds reduction n to the tile program.
func (c *tileCompiler) reduce(n *node) {
	src, _ := c.operandSlot(n.inputs[0], false)
	result, elem := c.stored[n.id], n.dtype.Size()
	k := c.backend.kernels
	combine := k.vectors[opType{combines[n.op], n.dtype}]
	do := k.rows[opType{n.op, n.dtype}]
	if combine == nil || do == nil {
		panic(errors.Errorf("simd: operation %s is not defined for %s", n.op, n.dtype))
	}
	if kind, _ := reductionRows(n); kind == alongRows {
		c.along = append(c.along, rowReduction{do: do, combine: combine, src: src, result: result.id, elem: elem})
		return
	}
	c.down = append(c.down, columnReduction{combine: combine, copy: k.vectors[opType{backends.OpTypeIdentity, n.dtype}],
		src: src, result: result.id, elem: elem})
}

// reusable returns the results that may be written over an operand. The result must have the size
// of the operand. The operand must be read element by element in the order of the group, and not by
// an instruction after the one that writes the result.
func (c *tileCompiler) reusable() []reuse {
	lastRead := map[int]int{} // for each value, the last instruction that reads it
	for i, in := range c.code {
		for _, s := range []int{in.a, in.b, in.c} {
			if v := c.slots[s].value; v >= 0 {
				lastRead[v] = i
			}
		}
	}
	blocked := map[int]bool{}
	for _, r := range c.along {
		blocked[c.slots[r.src].value] = true
	}
	for _, r := range c.down {
		blocked[c.slots[r.src].value] = true
	}
	// The result must not overwrite scalars, which every tile reads, or operands with an offset,
	// which are read at other positions than the result is written.
	for _, s := range c.slots {
		if s.value >= 0 && (s.scale == 0 || s.offset != 0) {
			blocked[s.value] = true
		}
	}
	var list []reuse
	for i, in := range c.code {
		dst := c.slots[in.dst]
		if dst.value < 0 {
			continue
		}
		result := c.values[dst.value]
		for v, last := range lastRead {
			operand := c.values[v]
			if last <= i && v != dst.value && !blocked[v] && !c.stridden[v] && (operand.kind == temporary || operand.kind == parameter) &&
				operand.size == result.size && operand.dtype.Size() == result.dtype.Size() && c.reads[v] {
				list = append(list, reuse{result: result, operand: operand})
			}
		}
	}
	slices.SortFunc(list, func(a, b reuse) int {
		if a.result.id != b.result.id {
			return a.result.id - b.result.id
		}
		return a.operand.id - b.operand.id
	})
	return list
}
