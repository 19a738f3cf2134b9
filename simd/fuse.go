package simd

import (
	"container/heap"
	"slices"

	"github.com/gomlx/gomlx/backends"
	"github.com/pkg/errors"
)

// unit is the work of one pass over memory: a group of element-wise operations and reductions over
// the same elements in the same order, or one operation of another kind. Views belong to no unit.
type unit struct {
	nodes []*node // in topological order
	fused bool    // whether the unit is a group, not one operation of another kind
	size  int     // elements that a group takes
	cols  int     // length of the rows into which reductions divide the elements; 0 without reductions
	after []*unit // units that must run before, without duplicates
	next  []*unit // units that must run after
	level int     // larger than the levels of the units in after
	seen  int     // number of the last search for paths that visited the unit
}

// maxGroup is the largest number of operations in a group. The intermediate results of a larger
// group would not fit into the L1 cache together.
const maxGroup = 160

// maxGap is the largest difference between the levels of two groups that are joined, unless one of
// the groups is read only by the other group. A group that spans many levels would delay the units
// that read it, and the search for paths between groups would take long. With half and twice this
// value, the time of BenchmarkMADE changes by less than a tenth; the time of BenchmarkCompile is
// 0.7 times as long with half the value, and unchanged with twice the value.
const maxGap = 16

// fuser distributes the nodes of a graph over units. A node joins the groups of its operands unless
// another unit must run in between. Intermediate results of a group stay in the cache, and are
// stored only if another unit needs them.
type fuser struct {
	units  []*unit // the unit of each node; nil for views, parameters and constants
	search int
}

// fuse distributes nodes over units and returns these in an order in which they can run. If enabled
// is false, every node is a unit.
func fuse(nodes []*node, enabled bool) []*unit {
	f := &fuser{units: make([]*unit, len(nodes))}
	for _, n := range nodes {
		switch {
		case n.op == opView || n.op == backends.OpTypeParameter || n.op == backends.OpTypeConstant:
		case isElementwise(n.op):
			f.place(n, n.size(), 0, enabled)
		case isReduction(n.op):
			_, cols := reductionRows(n)
			f.place(n, n.inputs[0].size(), cols, enabled)
		default:
			f.newUnit(&unit{nodes: []*node{n}})
		}
	}
	return f.schedule(nodes)
}

// newUnit adds u, a unit of one node, and sets its neighbours and level.
func (f *fuser) newUnit(u *unit) *unit {
	f.units[u.nodes[0].id] = u
	u.after = f.producers(u.nodes[0])
	for _, before := range u.after {
		before.next = append(before.next, u)
		u.level = max(u.level, before.level+1)
	}
	return u
}

// raise raises the level of u to level if it is lower, and then the levels of the units that must
// run after u above the level of u.
func (f *fuser) raise(u *unit, level int) {
	if u.level >= level {
		return
	}
	u.level = level
	f.raiseNext(u)
}

func (f *fuser) raiseNext(u *unit) {
	for _, next := range u.next {
		if next = f.current(next); next != u {
			f.raise(next, u.level+1)
		}
	}
}

// place puts node n, an element-wise operation or a reduction over size elements, into a new group
// and merges that group with the groups of its operands where possible. The argument cols is the
// length of the rows of a reduction, and 0 for an element-wise operation.
func (f *fuser) place(n *node, size, cols int, enabled bool) {
	group := f.newUnit(&unit{nodes: []*node{n}, fused: true, size: size, cols: cols})
	if !enabled {
		return
	}
	for _, in := range n.inputs {
		base, v := viewOf(in)
		u := f.units[base.id]
		if u == nil || u == group || !u.fused || !isElementwise(base.op) || u.size != size || !v.dense(size) {
			continue
		}
		if merged := f.merge(u, group); merged != nil {
			group = merged
		}
	}
}

// producers returns the units that compute the operands of n.
func (f *fuser) producers(n *node) []*unit {
	var units []*unit
	for _, in := range n.inputs {
		base, _ := viewOf(in)
		if u := f.units[base.id]; u != nil && !slices.Contains(units, u) {
			units = append(units, u)
		}
	}
	return units
}

// merge joins groups a and b and returns the joined group, or nil if they cannot be joined.
func (f *fuser) merge(a, b *unit) *unit {
	if len(a.nodes)+len(b.nodes) > maxGroup || !compatible(a, b) || !f.adjacent(a, b) {
		return nil
	}
	if !f.feedsOnly(a, b) && !f.feedsOnly(b, a) {
		gap := max(a.level, b.level) - min(a.level, b.level)
		if gap > maxGap || f.connected(a, b) || f.connected(b, a) {
			return nil
		}
	}
	if len(a.nodes) < len(b.nodes) {
		a, b = b, a
	}
	for _, n := range b.nodes {
		f.units[n.id] = a
	}
	a.nodes = append(a.nodes, b.nodes...)
	slices.SortFunc(a.nodes, func(x, y *node) int { return x.id - y.id })
	a.cols = max(a.cols, b.cols)
	a.after = nil
	for _, n := range a.nodes {
		for _, u := range f.producers(n) {
			if u != a && !slices.Contains(a.after, u) {
				a.after = append(a.after, u)
			}
		}
	}
	a.next = append(a.next, b.next...)
	a.level = max(a.level, b.level)
	f.raiseNext(a)
	return a
}

// compatible reports whether the reductions of groups a and b can be in one group. Their rows must
// have the same length. If rows are longer than a tile, the number of elements that are processed
// at once, all reductions must also be along the same axis.
func compatible(a, b *unit) bool {
	if a.size != b.size || a.cols != 0 && b.cols != 0 && a.cols != b.cols {
		return false
	}
	kinds := 0
	for _, n := range slices.Concat(a.nodes, b.nodes) {
		if isReduction(n.op) {
			kind, _ := reductionRows(n)
			kinds |= 1 << kind
		}
	}
	return kinds != 1<<alongRows|1<<downColumns || max(a.cols, b.cols) <= maxTile
}

// adjacent reports whether groups a and b read each other's results only element by element, in the
// order of the group. It is false if one of them reads a broadcast or a reduction from the other,
// because then all of one group must run before the other can start.
func (f *fuser) adjacent(a, b *unit) bool {
	for _, pair := range [2][2]*unit{{a, b}, {b, a}} {
		from, to := pair[0], pair[1]
		for _, n := range from.nodes {
			for _, in := range n.inputs {
				base, v := viewOf(in)
				if f.units[base.id] == to && (!isElementwise(base.op) || !v.dense(to.size)) {
					return false
				}
			}
		}
	}
	return true
}

// feedsOnly reports whether b is the only unit that reads the results of a, and a has a lower
// level, so that a does not need results of b. Such groups can be joined whatever their levels.
func (f *fuser) feedsOnly(a, b *unit) bool {
	if a.level >= b.level {
		return false
	}
	for _, next := range a.next {
		if next = f.current(next); next != a && next != b {
			return false
		}
	}
	return true
}

// connected reports whether a needs b through a unit other than a and b.
func (f *fuser) connected(a, b *unit) bool {
	f.search++
	for _, u := range a.after {
		if u = f.current(u); u != a && u != b && f.reaches(u, b) {
			return true
		}
	}
	return false
}

// reaches reports whether u needs the results of target.
func (f *fuser) reaches(u, target *unit) bool {
	if u == target {
		return true
	}
	if u.seen == f.search || u.level <= target.level {
		return false
	}
	u.seen = f.search
	for _, before := range u.after {
		if before = f.current(before); before != u && f.reaches(before, target) {
			return true
		}
	}
	return false
}

// current returns the group that u was merged into, or u itself if it was not merged.
func (f *fuser) current(u *unit) *unit { return f.units[u.nodes[0].id] }

// schedule orders the units: each comes after the units that it needs, and units that do not depend
// on each other are in the order of their last nodes, so that results are used soon after they are
// computed.
func (f *fuser) schedule(nodes []*node) []*unit {
	waiting := map[*unit]int{}
	next := map[*unit][]*unit{}
	ready := &unitHeap{}
	for _, n := range nodes {
		u := f.units[n.id]
		if u == nil || u.nodes[0] != n {
			continue
		}
		var needs []*unit
		for _, before := range u.after {
			if before = f.current(before); before != u && !slices.Contains(needs, before) {
				needs = append(needs, before)
			}
		}
		u.after = needs
		waiting[u] = len(needs)
		for _, before := range needs {
			next[before] = append(next[before], u)
		}
		if len(needs) == 0 {
			heap.Push(ready, u)
		}
	}
	var order []*unit
	for ready.Len() > 0 {
		u := heap.Pop(ready).(*unit)
		order = append(order, u)
		for _, after := range next[u] {
			if waiting[after]--; waiting[after] == 0 {
				heap.Push(ready, after)
			}
		}
	}
	return order
}

// unitHeap is a heap of units. The smallest unit has the earliest last node.
type unitHeap []*unit

func (h unitHeap) last(i int) int     { return h[i].nodes[len(h[i].nodes)-1].id }
func (h unitHeap) Len() int           { return len(h) }
func (h unitHeap) Less(i, j int) bool { return h.last(i) < h.last(j) }
func (h unitHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *unitHeap) Push(x any)        { *h = append(*h, x.(*unit)) }
func (h *unitHeap) Pop() any {
	old := *h
	u := old[len(old)-1]
	*h = old[:len(old)-1]
	return u
}

// reductionKind is the axis along which a reduction combines the rows × cols elements of a group.
type reductionKind int

const (
	alongRows   reductionKind = iota // one result per row
	downColumns                      // one result per column
)

// reductionRows returns the kind of reduction n and the length of the rows of its operand.
func reductionRows(n *node) (reductionKind, int) {
	kind, cols, ok := rowsOf(n.inputs[0].dims, n.attr.([]int))
	if !ok {
		panic(errors.Errorf("simd: internal: reduction over axes %v of %s", n.attr, n.inputs[0].shape()))
	}
	return kind, cols
}

// rowsOf returns the kind of a reduction of an array of shape dims over axes, and the length of
// rows. ok is false if the axes, apart from axes of size 1, are neither the last axes nor the first
// axes.
func rowsOf(dims, axes []int) (kind reductionKind, cols int, ok bool) {
	var summed, kept []int // axes longer than 1
	cols, keptSize := 1, 1
	for axis, d := range dims {
		switch {
		case d == 1:
		case slices.Contains(axes, axis):
			summed = append(summed, axis)
			cols *= d
		default:
			kept = append(kept, axis)
			keptSize *= d
		}
	}
	switch {
	case len(kept) == 0 || len(summed) == 0 || kept[len(kept)-1] < summed[0]:
		return alongRows, cols, true
	case summed[len(summed)-1] < kept[0]:
		return downColumns, keptSize, true
	}
	return 0, 0, false
}
