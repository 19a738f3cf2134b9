package modeldist

import (
	"cmp"
	"fmt"
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/made"
	"github.com/transdim/vti/internal/memory"
	"github.com/transdim/vti/space"
)

// ListConfig sizes a [List]. The zero value is ready for use.
type ListConfig struct {
	// LogOdds holds, for each item, the initial log odds that the item is in the list. They are
	// finite. nil means 0 for all items.
	LogOdds []float64
	// Active is the number of active items, the first ones in the order of items. Only their log
	// odds depend on the members before them. 0 means all items, up to 512.
	Active int
	// Embedding is the dimension of the embedding of an item in the network, 16 by default. Hidden
	// is the number of hidden units, 64 by default.
	Embedding, Hidden int
	Seed              uint64 // root seed of the initial weights
	// DType is the type of the network, Float32 or Float64; the zero value means Float32.
	DType dtypes.DType
}

// List is a distribution over the ascending lists of at most k of p items of [space.Lists]. If item
// i is the last member so far, every later item j has a hazard π_j, the probability to be the next
// member if no item between i and j is a member:
//
//	q(next = j) = π_j ∏_{i<l<j} (1 − π_l),  q(no more) = ∏_{l>i} (1 − π_l),
//	logit π_j = a_j + e_j·h(members so far)
//
// and no members come after the k-th. The log odds a_j, the embeddings e_j and the function h (a
// network) are learned. Before training e = 0, so that items are members independently. Drawing a
// list takes k passes of the network instead of one for each item.
type List struct {
	items, slots int
	active       int
	cfg          ListConfig
}

// NewList returns the distribution over ascending lists of at most slots members out of the given
// number of items.
func NewList(items, slots int, cfg ListConfig) (*List, error) {
	switch {
	case items < 1 || slots < 1 || slots > items:
		return nil, fmt.Errorf("modeldist.NewList: lists of at most %d of %d items, want at least one item and 1 to that many", slots, items)
	case cfg.Active < 0 || cfg.Embedding < 0 || cfg.Hidden < 0:
		return nil, fmt.Errorf("modeldist.NewList: Active, Embedding and Hidden are %d, %d and %d, want none negative", cfg.Active, cfg.Embedding, cfg.Hidden)
	case cfg.LogOdds != nil && len(cfg.LogOdds) != items:
		return nil, fmt.Errorf("modeldist.NewList: %d log odds for %d items", len(cfg.LogOdds), items)
	case cfg.DType != dtypes.InvalidDType && cfg.DType != dtypes.Float32 && cfg.DType != dtypes.Float64:
		return nil, fmt.Errorf("modeldist.NewList: network of dtype %s, want Float32 or Float64", cfg.DType)
	}
	for item, odds := range cfg.LogOdds {
		if math.IsNaN(odds) || math.IsInf(odds, 0) {
			return nil, fmt.Errorf("modeldist.NewList: log odds of item %d are %v, want a finite number", item, odds)
		}
	}
	if cfg.LogOdds == nil {
		cfg.LogOdds = make([]float64, items)
	}
	cfg.DType = cmp.Or(cfg.DType, dtypes.Float32)
	cfg.Active, cfg.Embedding, cfg.Hidden = cmp.Or(cfg.Active, 512), cmp.Or(cfg.Embedding, 16), cmp.Or(cfg.Hidden, 64)
	l := &List{items: items, slots: slots, active: min(cfg.Active, items), cfg: cfg}
	hidden, embedding := float64(cfg.Hidden), float64(cfg.Embedding)
	numbers := embedding*float64(l.active+items) + 2*hidden*(embedding+hidden) // number of parameters
	subject := fmt.Sprintf("modeldist.NewList: a network of %d hidden units that embeds %d items in %d coordinates", cfg.Hidden, items, cfg.Embedding)
	if err := memory.Check(subject, numbers*float64(cfg.DType.Size())); err != nil {
		return nil, err
	}
	return l, nil
}

// hazards holds, as nodes of a computation graph, the parameters of the log odds of all p items.
// The first A items are active: their log odds depend on the members before them, with embeddings
// of length E.
type hazards struct {
	list     *List
	ctx      *context.Context
	base     *graph.Node // log odds a of the active items, [1, A]
	outward  *graph.Node // embeddings e of the active items, [A, E]
	tail     *graph.Node // log odds of the other items, [p−A] float64; nil for none
	tailSums *graph.Node // running sums of −log(1 − π) over the other items, with their hazards π, [p−A+1] float64
}

func (l *List) bind(ctx *context.Context, g *graph.Graph) *hazards {
	ctx = ctx.In("list")
	h := &hazards{list: l, ctx: ctx}
	start := graph.ConvertDType(graph.Const(g, [][]float64{l.cfg.LogOdds[:l.active]}), l.cfg.DType)
	h.base = graph.Add(start, made.Variable(ctx, g, l.cfg.Seed, "odds", l.cfg.DType, made.Zeros, 1, l.active))
	h.outward = made.Variable(ctx, g, l.cfg.Seed, "outward", l.cfg.DType, made.Zeros, l.active, l.cfg.Embedding)
	if l.active < l.items {
		change := made.Variable(ctx, g, l.cfg.Seed, "tail", dtypes.Float64, made.Zeros, l.items-l.active)
		h.tail = graph.Add(graph.Const(g, l.cfg.LogOdds[l.active:]), change)
		h.tailSums = runningSums(made.Softplus(h.tail))
	}
	return h
}

// summary returns the function h of the members so far for each of R lists, [R, E]. members [R, E]
// is the sum of the embeddings of the members, and count [R, 1] is their number.
func (h *hazards) summary(members, count *graph.Node) *graph.Node {
	cfg := &h.list.cfg
	layer := func(name string, x *graph.Node, outputs int) *graph.Node {
		return made.Linear(h.ctx.In(name), cfg.Seed, x, outputs, made.FanIn(x.Shape().Dim(1)), made.Zeros)
	}
	x := graph.Concatenate([]*graph.Node{members, graph.DivScalar(count, float64(h.list.slots))}, 1)
	x = made.ReLU.Apply(layer("first", x, cfg.Hidden))
	x = graph.Add(x, layer("second", made.ReLU.Apply(layer("block", x, cfg.Hidden)), cfg.Hidden))
	return layer("last", x, cfg.Embedding)
}

// odds returns the log odds of all active items, given the output of summary: [R, E] -> [R, A].
func (h *hazards) odds(summary *graph.Node) *graph.Node {
	return graph.Add(graph.MatMul(summary, graph.Transpose(h.outward, 0, 1)), h.base)
}

// logOdds returns the log odds of items, 0 if not active: summary [R, E], items [R] int32 -> [R].
func (h *hazards) logOdds(summary, items *graph.Node) *graph.Node {
	active := graph.LessThan(items, graph.Const(items.Graph(), int32(h.list.active)))
	index := graph.InsertAxes(graph.Where(active, items, graph.ZerosLike(items)), -1)
	odds := graph.ReduceSum(graph.Mul(summary, graph.Gather(h.outward, index)), 1)
	odds = graph.Add(odds, graph.Gather(graph.Reshape(h.base, -1), index))
	return graph.Where(active, odds, graph.ZerosLike(odds))
}

// embedded returns the embeddings of items, and zeros for the number that stands for "no more
// members": [N] int32 -> [N, E].
func (h *hazards) embedded(items *graph.Node) *graph.Node {
	l := h.list
	table := made.Variable(h.ctx, items.Graph(), l.cfg.Seed, "inward", l.cfg.DType, made.Uniform(1), l.items+1, l.cfg.Embedding)
	member := graph.LessThan(items, graph.Const(items.Graph(), int32(l.items)))
	rows := graph.Gather(table, graph.InsertAxes(items, -1))
	return graph.Where(graph.BroadcastToShape(graph.InsertAxes(member, -1), rows.Shape()), rows, graph.ZerosLike(rows))
}

// LogProb returns the log probability of each code, a list of k entries: codes [B, k] int32 -> [B]
// float64. It is −Inf for a code that is not an ascending list.
func (l *List) LogProb(ctx *context.Context, codes *graph.Node) *graph.Node {
	space.AssertCodes("modeldist.List.LogProb", codes, l.slots)
	g := codes.Graph()
	batch := codes.Shape().Dim(0)
	h := l.bind(ctx, g)
	none := graph.Const(g, int32(l.items))

	// Each row is one slot (the place of a member) of one list, first the first slots of all lists.
	drawn := graph.Transpose(codes, 0, 1) // [k, B]
	last := graph.BroadcastToDims(graph.Const(g, int32(-1)), 1, batch)
	if l.slots > 1 {
		last = graph.Concatenate([]*graph.Node{last, graph.SliceAxis(drawn, 0, graph.AxisRange(0, l.slots-1))}, 0)
	}
	valid := graph.LogicalOr(graph.GreaterThan(drawn, last), graph.LogicalAnd(graph.Equal(drawn, none), graph.Equal(last, none)))
	valid = graph.LogicalAnd(valid, graph.LogicalAnd(graph.GreaterOrEqual(drawn, graph.Const(g, int32(0))), graph.LessOrEqual(drawn, none)))
	drawn = graph.Where(valid, drawn, graph.BroadcastToShape(none, drawn.Shape()))

	embedded := graph.Reshape(h.embedded(graph.Reshape(drawn, -1)), l.slots, batch*l.cfg.Embedding)
	member := graph.ConvertDType(graph.LessThan(drawn, none), l.cfg.DType)
	later := graph.Transpose(made.Earlier(g, l.slots, l.cfg.DType), 0, 1)
	members := graph.Reshape(graph.MatMul(later, embedded), l.slots*batch, l.cfg.Embedding)
	count := graph.Reshape(graph.MatMul(later, member), l.slots*batch, 1)

	// A list is drawn in increasing order: each slot passes over the items after the last member,
	// one by one, until it takes one. The log probability of a slot is the sum over these
	// decisions, which depend on the members before the slot. Each item is decided in one slot at
	// most. The log odds that all slots need therefore fit in one row.
	summary := h.summary(members, count)
	odds := graph.Reshape(h.odds(summary), l.slots, batch, l.active)
	item := graph.Iota(g, shapes.Make(dtypes.Int32, odds.Shape().Dimensions...), 2)
	column := func(x *graph.Node) *graph.Node { return graph.BroadcastToShape(graph.InsertAxes(x, -1), item.Shape()) }
	passed := graph.LogicalAnd(graph.GreaterThan(item, column(last)), graph.LessOrEqual(item, column(drawn)))
	odds = graph.ReduceSum(graph.Where(passed, odds, graph.ZerosLike(odds)), 0)
	// A full list has no term for the items after its last member.
	end := graph.SliceAxis(drawn, 0, graph.AxisElem(l.slots-1))
	item = graph.Iota(g, shapes.Make(dtypes.Int32, batch, l.active), 1)
	reached := graph.LessOrEqual(item, graph.BroadcastToShape(graph.Transpose(end, 0, 1), item.Shape()))
	total := graph.ReduceSum(graph.ConvertDType(graph.Where(reached, made.Softplus(odds), graph.ZerosLike(odds)), dtypes.Float64), 1)
	chosen := h.logOdds(summary, graph.Reshape(drawn, -1))
	total = graph.Sub(graph.ReduceSum(graph.Reshape(graph.ConvertDType(chosen, dtypes.Float64), l.slots, batch), 0), total)
	if h.tail != nil {
		rest := h.tailLogProb(graph.Reshape(drawn, -1), graph.Reshape(last, -1))
		total = graph.Add(total, graph.ReduceSum(graph.Reshape(rest, l.slots, batch), 0))
	}
	allValid := graph.ReduceMin(graph.ConvertDType(valid, dtypes.Int32), 0)
	return graph.Where(graph.Equal(allValid, graph.Const(g, int32(1))), total, graph.BroadcastToShape(graph.Const(g, math.Inf(-1)), total.Shape()))
}

// tailLogProb returns the terms of the log probability for the items that are not active. drawn is
// the item of each slot and last the member before it: [R] -> [R].
func (h *hazards) tailLogProb(drawn, last *graph.Node) *graph.Node {
	l := h.list
	g := drawn.Graph()
	place := func(x *graph.Node) *graph.Node { // index among the items that are not active, clipped to their range
		x = graph.AddScalar(x, -float64(l.active))
		return graph.Min(graph.Max(x, graph.Const(g, int32(0))), graph.Const(g, int32(l.items-l.active)))
	}
	sumUpTo := func(x *graph.Node) *graph.Node { return graph.Gather(h.tailSums, graph.InsertAxes(place(x), -1)) }
	passed := graph.Sub(sumUpTo(graph.AddScalar(drawn, 1)), sumUpTo(graph.AddScalar(last, 1)))
	inside := graph.LogicalAnd(graph.GreaterOrEqual(drawn, graph.Const(g, int32(l.active))), graph.LessThan(drawn, graph.Const(g, int32(l.items))))
	tailPlace := graph.Where(inside, place(drawn), graph.ZerosLike(drawn))
	odds := graph.Gather(h.tail, graph.InsertAxes(tailPlace, -1))
	return graph.Sub(graph.Where(inside, odds, graph.ZerosLike(odds)), passed)
}

// Sample maps uniform random numbers [B, k] float64 in [0, 1) to codes [B, k] int32, one member
// after the other. The next member is the first item at which the sum of −log(1 − π) over the
// hazards π of the items after the last member exceeds −log(1 − u), with u a uniform number.
func (l *List) Sample(ctx *context.Context, uniforms *graph.Node) *graph.Node {
	assertUniforms("modeldist.List.Sample", uniforms, l.slots)
	g := uniforms.Graph()
	batch := uniforms.Shape().Dim(0)
	h := l.bind(ctx, g)
	none := graph.Const(g, int32(l.items))
	last := graph.BroadcastToDims(graph.Const(g, int32(-1)), batch)
	members := graph.Zeros(g, shapes.Make(l.cfg.DType, batch, l.cfg.Embedding))
	count := graph.Zeros(g, shapes.Make(l.cfg.DType, batch, 1))
	columns := make([]*graph.Node, l.slots)
	for t := range columns {
		odds := h.odds(h.summary(members, count))
		item := graph.Iota(g, shapes.Make(dtypes.Int32, odds.Shape().Dimensions...), 1)
		behind := graph.GreaterThan(item, graph.BroadcastToShape(graph.InsertAxes(last, -1), item.Shape()))
		weight := graph.ConvertDType(graph.Where(behind, made.Softplus(odds), graph.ZerosLike(odds)), dtypes.Float64)
		sum := graph.ReduceSum(weight, 1)
		target := graph.Neg(graph.Log1P(graph.Neg(graph.Squeeze(graph.SliceAxis(uniforms, 1, graph.AxisElem(t)), 1))))
		within := graph.LessThan(target, sum)
		share := graph.Where(within, graph.Div(target, graph.Where(within, sum, graph.OnesLike(sum))), graph.ZerosLike(sum))
		drawn := invertCDF(weight, share)
		drawn = graph.Where(within, drawn, h.tailDraw(last, graph.Sub(target, sum), none))
		drawn = graph.Where(graph.Equal(last, none), last, drawn)
		columns[t] = graph.InsertAxes(drawn, -1)
		last = drawn
		members = graph.Add(members, h.embedded(drawn))
		count = graph.Add(count, graph.InsertAxes(graph.ConvertDType(graph.LessThan(drawn, none), l.cfg.DType), -1))
	}
	return graph.StopGradient(graph.Concatenate(columns, 1))
}

// tailDraw returns the first item after last, among the items that are not active, at which the sum
// of −log(1 − hazard) exceeds target. It returns the argument none if there is no such item: last
// [B] int32, target [B] -> [B].
func (h *hazards) tailDraw(last, target, none *graph.Node) *graph.Node {
	if h.tail == nil {
		return graph.BroadcastToShape(none, last.Shape())
	}
	l := h.list
	g := last.Graph()
	n := l.items - l.active
	first := graph.Max(graph.AddScalar(last, 1-float64(l.active)), graph.Const(g, int32(0)))
	first = graph.Min(first, graph.Const(g, int32(n)))
	target = graph.Add(graph.Max(target, graph.ZerosLike(target)), graph.Gather(h.tailSums, graph.InsertAxes(first, -1)))
	whole := graph.Squeeze(graph.SliceAxis(h.tailSums, 0, graph.AxisElem(n)), 0)
	within := graph.LessThan(target, whole)
	share := graph.Where(within, graph.Div(target, whole), graph.ZerosLike(target))
	drawn := invertCDF(graph.InsertAxes(made.Softplus(h.tail), 0), share)
	drawn = graph.Max(drawn, first) // in spite of rounding, not the last member or an earlier item
	return graph.Where(within, graph.AddScalar(drawn, float64(l.active)), graph.BroadcastToShape(none, drawn.Shape()))
}

// runningSums returns the sums of the first 0, 1, 2, … entries: x [N] -> [N+1]. The entries are
// arranged in a square, whose rows are summed by products with a triangular matrix.
func runningSums(x *graph.Node) *graph.Node {
	g := x.Graph()
	n := x.Shape().Dim(0)
	side := int(math.Ceil(math.Sqrt(float64(n))))
	if padding := side*side - n; padding > 0 {
		x = graph.Concatenate([]*graph.Node{x, graph.Zeros(g, shapes.Make(x.DType(), padding))}, 0)
	}
	square := graph.Reshape(x, side, side)
	earlier := made.Earlier(g, side, x.DType())
	within := graph.Add(graph.MatMul(square, earlier), square)
	rows := graph.MatMul(graph.Reshape(graph.ReduceSum(square, 1), 1, side), earlier)
	sums := graph.Reshape(graph.Add(within, graph.Transpose(rows, 0, 1)), side*side)
	sums = graph.Concatenate([]*graph.Node{graph.Zeros(g, shapes.Make(x.DType(), 1)), sums}, 0)
	return graph.Gather(sums, graph.InsertAxes(graph.Iota(g, shapes.Make(dtypes.Int32, n+1), 0), -1))
}
