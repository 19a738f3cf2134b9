package hbm

import (
	"fmt"
	"math/rand/v2"
	"slices"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/made"
)

// siteEncoder encodes the members of a variable as the natural parameters of normal distributions.
// Each datum j is read as a normal observation r_j = F_j'x + noise of the member x that it belongs
// to, with a precision w_j. Together these have the precision Σ w F F' and the precision times the
// mean Σ w F r, which only have to be added up, however many data a member has. F is linear in the
// constants and r in the data, so that this is exact where the model is linear with normal noise,
// and no network has to learn to solve its normal equations; w is a network's. What a setEncoder
// finds goes with it.
type siteEncoder struct{ *setEncoder }

// largestSites is the largest number of unconstrained numbers of a member that has sites: equations
// of that many unknowns are written out in the graph.
const largestSites = 32

// hasSites reports whether a siteEncoder finds sites for a variable. Those without plates have no
// members to share a map with, and equations of very many unknowns are not written out.
func (v *Variable) hasSites() bool {
	d, _ := v.link.Dim(v.event) // checked when it was added
	return d <= largestSites && len(v.plates) > 0 && slices.ContainsFunc(v.model.variables, (*Variable).isSite)
}

// isSite reports whether data of v are observations of latent variables.
func (v *Variable) isSite() bool { return v.role == Observed && v.density.says != ambiguous }

// siteNumbers is how many numbers of an encoding are sites of d unconstrained numbers: the
// precision [d, d] and the precision times the mean [d]. They come first.
func siteNumbers(d int) int { return d * (d + 1) }

// splitSites takes an encoding [..., width] apart: the precision [..., d, d], the precision times
// the mean [..., d], and the rest.
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
		if !x.isSite() {
			continue
		}
		own := ctx.In(fmt.Sprintf("sites%d", i))
		l := s.sites(own, s.dataScope(ctx, i), r, x, v.plates, d)
		part := r.align(l.value, l.plates, v.plates)
		sum = plus(sum, BroadcastToDims(part, append(r.dims(v), part.Shape().Dimensions[len(v.plates):]...)...))
	}
	// What was observed is counted from an origin, so that a change of F alone does not move the
	// mean.
	last := sum.Rank() - 1
	precision, linear := SliceAxis(sum, last-1, AxisRange(0, d)), Squeeze(SliceAxis(sum, last-1, AxisRange(d)), last-1)
	origin := made.Variable(ctx, r.graph, s.seed, "origin", r.dtype, made.Zeros, d)
	linear = Add(linear, timesVector(precision, Reshape(origin, ones(last-1, d)...)))
	precision = Reshape(precision, append(slices.Clone(precision.Shape().Dimensions[:last-1]), d*d)...)
	return Concatenate([]*Node{precision, linear, s.setEncoder.encode(ctx, r, v, width-siteNumbers(d))}, -1)
}

// reading is what the sites of the members of a level are read from.
type reading struct {
	level
	noises    int   // numbers of r
	values    *Node // what r is linear in, [plates..., draws, numbers]
	constants *Node // and F: 1, and constants that do not depend on what was observed
	weigh     *Node // what a network tells the precision from; nil if all are alike
	scope     *context.Context
	start     made.Init // of r
}

// ofData reads data of x: r starts as what was observed.
func (s siteEncoder) ofData(own, shared *context.Context, r *replica, x *Variable) reading {
	// this scope learns as fast as free encodings
	d := reading{level: s.datum(shared, r, x), noises: x.EventSize(), scope: own.In("linear")}
	d.values = s.standard(r, x, append([]*Variable{x}, x.constants()...))
	lead := d.values.Shape().Dimensions[:d.values.Rank()-1]
	of := func(variables []*Variable) *Node {
		values := s.standard(r, x, variables)
		return BroadcastToDims(values, append(slices.Clone(lead), values.Shape().Dim(-1))...)
	}
	d.constants = OnesLike(SliceAxis(d.values, len(lead), AxisElem(0)))
	if known := slices.DeleteFunc(x.constants(), func(v *Variable) bool { return v.estimated }); len(known) > 0 {
		d.constants = Concatenate([]*Node{d.constants, of(known)}, -1)
	}
	if x.density.says != plainObservation {
		d.weigh = d.value
	} else if len(x.constants()) > 0 { // where noise is normal the precision does not depend on what was observed
		d.weigh = of(x.constants())
	}
	d.start = func(_ *rand.Rand, weights []float64) {
		for i := range d.noises {
			weights[i*d.noises+i] = 1
		}
	}
	return d
}

// ofLevel reads the encodings of members in between, which networks made.
func (s siteEncoder) ofLevel(own *context.Context, l level, noises int) reading {
	return reading{
		level: l, noises: noises, values: l.value, constants: OnesLike(SliceAxis(l.value, l.value.Rank()-1, AxisElem(0))), weigh: l.value,
		scope: own.In(networkScope).In("linear"), start: made.FanIn(s.hidden),
	}
}

// sites adds up the sites of the data of x: those of the members of the level that the last
// contraction on the way to the plates given starts from, [plates..., draws, d + 1, d].
func (s siteEncoder) sites(own, shared *context.Context, r *replica, x *Variable, plates []*Plate, d int) level {
	from := s.ofData(own, shared, r, x)
	axis, by := contraction(from.plates, plates)
	for axis >= 0 {
		nextAxis, nextBy := contraction(contracted(from.plates, axis, by), plates)
		if nextAxis < 0 {
			break
		}
		from = s.ofLevel(own, s.contractOnce(shared, r, x, from.level, axis, by), d)
		axis, by = nextAxis, nextBy
	}
	// F starts at zero, so that it grows to the side that r asks for: from elsewhere it may have to
	// pass through singular matrices.
	last, inputs := from.constants.Rank()-1, from.constants.Shape().Dim(-1)
	loads := MatMul(Reshape(from.constants, -1, inputs), made.Variable(from.scope, r.graph, s.seed, "loads", r.dtype, made.Zeros, inputs, d*from.noises))
	// F, [..., d, m]
	loads = Reshape(loads, append(slices.Clone(from.constants.Shape().Dimensions[:last]), d, from.noises)...)
	// r, [..., m]
	values := s.linear(from.scope.In("values"), from.values, from.noises, from.start)
	if from.path == "" {
		for _, other := range crossedPlates(x, plates) {
			about := s.level(shared, r, x, []*Plate{other})
			values = Add(values, s.linear(own.In(networkScope).In("of"+other.scope()), r.align(about.value, about.plates, x.plates), from.noises, made.Zeros))
		}
	}
	logWeight := made.Variable(own, r.graph, s.seed, "weight", r.dtype, made.Zeros, from.noises)
	logWeight = Reshape(logWeight, ones(last, from.noises)...)
	if from.weigh != nil {
		logWeight = Add(logWeight, s.bounded(own.In(networkScope).In("weight"), from.weigh, from.noises))
	}
	both := Concatenate([]*Node{loads, InsertAxes(values, -2)}, -2) // F above r
	site := ReduceSum(Mul(InsertAxes(Mul(both, InsertAxes(Exp(logWeight), -2)), -2), InsertAxes(loads, -3)), -1)
	if axis < 0 {
		return level{from.plates, from.path, site}
	}
	set := &sets{replica: r, from: from.plates, axis: axis, to: contracted(from.plates, axis, by)}
	total := set.sum(Mul(site, r.memberWeights(set.from, site.Rank())))
	return level{set.to, from.path, Div(total, MaxScalar(r.memberWeights(set.to, total.Rank()), 1e-6))}
}

// crossedPlates are the plates that decide about the data of x as well, through latent variables of
// theirs, and that are crossed with the plates given: what a student's rating says of the student
// depends on the lecturer.
func crossedPlates(x *Variable, plates []*Plate) (others []*Plate) {
	for _, q := range x.model.plates {
		above := slices.ContainsFunc(x.plates, func(p *Plate) bool { return p.Determines(q) })
		own := slices.ContainsFunc(plates, func(p *Plate) bool { return linked(p, q) })
		latent := slices.ContainsFunc(x.model.Latents(), func(v *Variable) bool { return slices.Contains(v.plates, q) })
		if above && latent && !own {
			others = append(others, q)
		}
	}
	return others
}

// largestLogWeight bounds how much more precise one observation may be than others: e to that.
const largestLogWeight = 4

// bounded is a layer on the last axis of x that starts at zero and stays between bounds.
func (s siteEncoder) bounded(ctx *context.Context, x *Node, outputs int) *Node {
	return MulScalar(Tanh(MulScalar(s.linear(ctx, x, outputs, made.Zeros), 1./largestLogWeight)), largestLogWeight)
}
