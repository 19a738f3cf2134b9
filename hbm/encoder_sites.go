package hbm

import (
	"fmt"
	"math/rand/v2"
	"slices"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/made"
)

// siteEncoder encodes the members of a variable as the natural parameters of normal distributions. Each datum j is read as a normal observation r_j = F_j'x + noise of the member x that it belongs to, with a precision w_j.
// Together these have the precision Σ w F F' and the precision times the mean Σ w F r, which only have to be added up, however many data a member has. F is linear in the constants and r in the data, so that this is exact where the
// model is linear with normal noise, and no network has to learn to solve its normal equations; w is a network's. What a setEncoder finds goes with it.
type siteEncoder struct{ *setEncoder }

// largestSites is the largest number of unconstrained numbers of a member that has sites: equations of that many unknowns are written out in the graph.
const largestSites = 32

// hasSites tells whether a siteEncoder finds sites for a variable. Those without plates have no members to share a map with, and equations of very many unknowns are not written out.
func (v *Variable) hasSites() bool {
	d, _ := v.link.Dim(v.event) // checked when it was added
	return d <= largestSites && len(v.plates) > 0
}

// siteNumbers is how many numbers of an encoding are sites of d unconstrained numbers: the precision [d, d] and the precision times the mean [d]. They come first.
func siteNumbers(d int) int { return d * (d + 1) }

// splitSites takes an encoding [..., width] apart: the precision [..., d, d], the precision times the mean [..., d], and the rest.
func splitSites(encoding *Node, d int) (precision, linear, rest *Node) {
	last := encoding.Rank() - 1
	precision = reshapeLast(SliceAxis(encoding, last, AxisRange(0, d*d)), []int{d, d})
	return precision, SliceAxis(encoding, last, AxisRange(d*d, siteNumbers(d))), SliceAxis(encoding, last, AxisRange(siteNumbers(d)))
}

func (s siteEncoder) encode(ctx *context.Context, r *replica, v *Variable, width int) *Node {
	if !v.hasSites() {
		return s.setEncoder.encode(ctx, r, v, width)
	}
	d, _ := v.link.Dim(v.event)
	var sum *Node // [plates..., draws, d + 1, d]: Σ w F F' above Σ w F r
	for i, x := range v.model.variables {
		if x.role != Observed {
			continue
		}
		own := ctx.In(fmt.Sprintf("sites%d", i))
		l := s.sites(own, s.dataScope(ctx, i), r, x, v.plates, d)
		part := r.align(l.value, l.plates, v.plates)
		sum = plus(sum, BroadcastToDims(part, append(r.dims(v), part.Shape().Dimensions[len(v.plates):]...)...))
	}
	// What was observed is counted from an origin, so that a change of F alone does not move the mean.
	last := sum.Rank() - 1
	precision, linear := SliceAxis(sum, last-1, AxisRange(0, d)), Squeeze(SliceAxis(sum, last-1, AxisRange(d)), last-1)
	origin := made.Variable(ctx, r.graph, s.seed, "origin", r.dtype, made.Zeros, d)
	linear = Add(linear, timesVector(precision, Reshape(origin, ones(last-1, d)...)))
	precision = Reshape(precision, append(slices.Clone(precision.Shape().Dimensions[:last-1]), d*d)...)
	return Concatenate([]*Node{precision, linear, s.setEncoder.encode(ctx, r, v, width-siteNumbers(d))}, -1)
}

// sites adds up the sites of the data of x: those of the members of the level that the last contraction on the way to the plates given starts from, [plates..., draws, d + 1, d].
func (s siteEncoder) sites(own, shared *context.Context, r *replica, x *Variable, plates []*Plate, d int) level {
	l := s.datum(shared, r, x)
	direct := s.standard(r, x, false)                                          // what is read linearly: what was observed, and then constants
	observed, noises, linear := x.EventSize(), x.EventSize(), own.In("linear") // a scope that learns as fast as free encodings
	start := made.Init(func(_ *rand.Rand, weights []float64) {                 // r is what was observed
		for i := range noises {
			weights[i*noises+i] = 1
		}
	})
	axis, by := contraction(l.plates, plates)
	for axis >= 0 {
		nextAxis, nextBy := contraction(contracted(l.plates, axis, by), plates)
		if nextAxis < 0 {
			break
		}
		l = s.contractOnce(shared, r, x, l, axis, by)
		direct, observed, noises, linear = l.value, s.hidden, d, own.In(networkScope).In("linear")
		start = made.FanIn(s.hidden)
		axis, by = nextAxis, nextBy
	}
	// Where noise is normal the precision depends on constants only. F starts at zero, so that it grows to the side that r asks for: from elsewhere it may have to pass through singular matrices.
	last := direct.Rank() - 1
	constants := OnesLike(SliceAxis(direct, last, AxisElem(0)))
	if observed < direct.Shape().Dim(last) {
		constants = Concatenate([]*Node{constants, SliceAxis(direct, last, AxisRange(observed))}, last)
	}
	inputs := constants.Shape().Dim(last)
	loads := MatMul(Reshape(constants, -1, inputs), made.Variable(linear, r.graph, s.seed, "loads", r.dtype, made.Zeros, inputs, d*noises))
	loads = Reshape(loads, append(slices.Clone(constants.Shape().Dimensions[:last]), d, noises)...)
	values := reshapeLast(s.linear(linear.In("values"), direct, noises, start), []int{1, noises})
	read := Concatenate([]*Node{loads, values}, -2) // [..., d + 1, m]: F above r
	// How precise each observation is. Where noise is normal that is not in the data, and elsewhere a network tells.
	logWeight := made.Variable(own, r.graph, s.seed, "weight", r.dtype, made.Zeros, noises)
	logWeight = Reshape(logWeight, ones(last, noises)...)
	if !x.density.gaussian {
		logWeight = Add(logWeight, s.bounded(own.In(networkScope).In("weight"), l.value, noises))
	} else if inputs > 1 {
		logWeight = Add(logWeight, s.bounded(own.In(networkScope).In("weight"), constants, noises))
	}
	read = Mul(read, InsertAxes(Exp(logWeight), -2))
	site := ReduceSum(Mul(InsertAxes(read, -2), InsertAxes(loads, -3)), -1) // [..., d + 1, d]
	if axis < 0 {
		return level{l.plates, l.path, site}
	}
	set := &sets{replica: r, from: l.plates, axis: axis, to: contracted(l.plates, axis, by)}
	total := set.sum(Mul(site, r.memberWeights(set.from, site.Rank())))
	return level{set.to, l.path, Div(total, MaxScalar(r.memberWeights(set.to, total.Rank()), 1e-6))}
}

// largestLogWeight bounds how much more precise one observation may be than others: e to that.
const largestLogWeight = 4

// bounded is a layer on the last axis of x that starts at zero and stays between bounds.
func (s siteEncoder) bounded(ctx *context.Context, x *Node, outputs int) *Node {
	return MulScalar(Tanh(MulScalar(s.linear(ctx, x, outputs, made.Zeros), 1./largestLogWeight)), largestLogWeight)
}
