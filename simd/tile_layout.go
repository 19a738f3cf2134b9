package simd

import (
	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
)

const (
	tileBudget = 32 << 10 // bytes of all registers of a tile program, which then stay in the L1 cache
	minTile    = 512      // smallest number of elements of a tile; with fewer, starting instructions costs much
	taskCost   = 60_000   // cost of a task, in the units of costOf: some microseconds
	maxPartial = 64       // largest number of tasks of a group that reduces down columns
)

// chooseTile sets the number of elements of tiles and tasks, then lays out registers and partial
// results.
func (c *tileCompiler) chooseTile() {
	bytes := 0
	for _, r := range c.all {
		bytes += r.elem
	}
	for _, r := range c.down {
		bytes += r.elem
	}
	c.tile = min(max(tileBudget/max(1, bytes), minTile), maxTile)
	c.tile -= c.tile % 16
	switch c.order {
	case linear:
		c.tile -= c.tile % c.repeat(c.tile)
	case shortRows:
		c.tile = max(1, c.tile/c.cols) * c.cols
	}
	c.hoist()
	c.chooseTasks()
	c.layOut()
}

// repeat returns the longest period, in elements, of a load whose elements repeat within a tile. If
// the length of tiles is a multiple of the period, the load is the same for every tile.
func (c *tileCompiler) repeat(tile int) int {
	longest := 1
	for i := range c.loads {
		if p := c.loads[i].read.period(); p <= tile {
			longest = max(longest, p)
		}
	}
	return longest
}

// hoist moves the loads that are the same for every tile from loads to fixed.
func (c *tileCompiler) hoist() {
	var varying []tileLoad
	for _, l := range c.loads {
		p := l.read.period()
		same := p == 1 || (c.order == linear || c.order == shortRows) && p < c.size && c.tile%p == 0
		if same && c.slots[l.dst].value < 0 {
			c.fixed = append(c.fixed, l)
		} else {
			varying = append(varying, l)
		}
	}
	c.loads = varying
}

// chooseTasks divides the group into tasks that take much longer than starting them.
func (c *tileCompiler) chooseTasks() {
	cost := 1 + 4*len(c.loads)
	for _, n := range c.unit.nodes {
		cost += costOf(n)
	}
	tilesPerTask := max(1, taskCost/cost/c.tile)
	c.span = tilesPerTask * c.tile
	switch c.order {
	case longRows:
		c.span = max(c.span, 16*c.tile)
		c.chunks = (c.cols + c.span - 1) / c.span
		c.tasks = c.size / c.cols * c.chunks
	case longColumns:
		c.tasks = (c.cols + c.tile - 1) / c.tile
	default:
		if len(c.down) > 0 {
			tiles := (c.size + c.tile - 1) / c.tile
			c.span = max(c.span, (tiles+maxPartial-1)/maxPartial*c.tile)
		}
		c.tasks = (c.size + c.span - 1) / c.span
	}
}

// layOut sets the offsets of registers in the memory of a worker, and the offsets of partial
// results in the shared value.
func (c *tileCompiler) layOut() {
	next := 0
	place := func(bytes int) int {
		offset := next
		next += (bytes + 63) / 64 * 64
		return offset
	}
	for _, r := range c.all {
		r.offset = place(c.tile * r.elem)
	}
	for s, r := range c.registers {
		c.slots[s].offset = r.offset
	}
	for i := range c.along {
		c.along[i].scratch = place(8)
	}
	for i := range c.down {
		c.down[i].accumulator = place(c.tile * c.down[i].elem)
	}
	c.tileMemory = max(c.tileMemory, next)

	partial := 0
	for i := range c.along {
		r := &c.along[i]
		r.directResult = c.order != longRows || c.chunks == 1
		if !r.directResult {
			r.partial = partial
			partial += (c.tasks*r.elem + 7) / 8 * 8
		}
	}
	if c.order == shortRows && c.tasks > 1 {
		for i := range c.down {
			c.down[i].partial = partial
			partial += (c.tasks*c.cols*c.down[i].elem + 7) / 8 * 8
		}
	}
	if partial > 0 {
		c.shared = c.newValue(dtypes.Uint8, partial, temporary).id
	}
}

// costOf returns an estimate of the time that an operation takes per element. The unit is the time
// of a vectorised addition of float32.
func costOf(n *node) int {
	dtype := n.dtype
	if len(n.inputs) > 0 {
		dtype = n.inputs[len(n.inputs)-1].dtype
	}
	if !dtype.IsFloat() {
		return 8
	}
	cost := dtype.Size() / 4
	switch n.op {
	case backends.OpTypeDiv, backends.OpTypeSqrt, backends.OpTypeRsqrt:
		return 4 * cost
	case backends.OpTypeExp, backends.OpTypeExpm1, backends.OpTypeLog, backends.OpTypeLog1p, backends.OpTypeTanh,
		backends.OpTypeLogistic, backends.OpTypeErf, backends.OpTypeSin, backends.OpTypeCos:
		return 10 * cost
	case backends.OpTypePow, backends.OpTypeRem:
		return 40 * cost
	}
	return cost
}
