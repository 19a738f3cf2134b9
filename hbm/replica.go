package hbm

import (
	"slices"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/stream"
)

// replica is a set of members of each plate (such as groups) in one graph, with the values of
// variables at these members: [plates..., draws, event...], with one draw for data. A replica with
// some of the members is the reduced model of PAVI section 4.2.
type replica struct {
	graph *Graph
	dtype dtypes.DType
	sizes map[*Plate]int // number of members in the replica
	// index holds, for each member in the replica, the position in the replica of the member that
	// it belongs to: [size] int32
	index  map[*membership]*Node
	values map[*Variable]*Node
	// unconstrained holds the unconstrained values of the latent variables that were drawn
	unconstrained map[*Variable]*Node
	// weights holds the number of members of the model that each member in the replica represents,
	// [size]; nil if it is always 1.
	weights map[*Plate]*Node
	levels  map[string]level // results of an encoder, by name
	// rows holds the indices of the members of a latent variable that are in the replica, [members,
	// 1] int32; nil if all are
	rows      map[*Variable]*Node
	encodings map[*Variable]*Node // free encodings of these rows [members, width]
	// present is 1 for present unconstrained numbers of latent variables and 0 for others,
	// [plates..., draws, U]; nil: all are present
	present map[*Variable]*Node
	about   *Node // features of the model of each draw, [draws, 1 + F], or nil
}

func (r *replica) dims(v *Variable) []int { return r.sizesOf(v.plates) }

// some selects the rows of members in the replica from x [members, rest...], rows of all members.
func (r *replica) some(v *Variable, x *Node) *Node {
	if rows := r.rows[v]; rows != nil {
		return Gather(x, rows)
	}
	return x
}

// sumMembers returns the weighted sum over members of x [plates..., draws], as [draws] Float64.
func (r *replica) sumMembers(v *Variable, x *Node) *Node {
	x = ConvertDType(x, dtypes.Float64)
	x = BroadcastToDims(x, append(r.dims(v), x.Shape().Dim(-1))...)
	for i := len(v.plates) - 1; i >= 0; i-- {
		if weight := r.weights[v.plates[i]]; weight != nil {
			x = Mul(x, Reshape(ConvertDType(weight, dtypes.Float64), append(ones(i, r.sizes[v.plates[i]]), ones(x.Rank()-i-1)...)...))
		}
		x = ReduceSum(x, i)
	}
	return x
}

// align returns the values x [from..., rest...] at the members of other plates, each of which
// belongs to one member of x: [to..., rest...], with size 1 for plates on which x does not vary.
func (r *replica) align(x *Node, from, to []*Plate) *Node {
	axes := slices.Clone(from)
	for carrier, plate := range to {
		// axes of x whose members plate determines
		group := apply.Where(len(axes), func(axis int) bool { return axes[axis].carrier(to) == carrier })
		if len(group) == 0 || len(group) == 1 && axes[group[0]] == plate {
			continue
		}
		permutation := slices.Clone(group)
		left := []*Plate{plate}
		columns := apply.To(group, func(axis int) *Node { return r.position(plate, axes[axis]) })
		for axis := range x.Rank() {
			if slices.Contains(group, axis) {
				continue
			}
			permutation = append(permutation, axis)
			if axis < len(axes) {
				left = append(left, axes[axis])
			}
		}
		x, axes = Gather(transposed(x, permutation), Concatenate(columns, 1)), left
	}
	var permutation, missing []int
	for i, plate := range to {
		if axis := slices.Index(axes, plate); axis >= 0 {
			permutation = append(permutation, axis)
		} else {
			missing = append(missing, i)
		}
	}
	for axis := len(axes); axis < x.Rank(); axis++ {
		permutation = append(permutation, axis)
	}
	x = transposed(x, permutation)
	for _, axis := range missing {
		x = InsertAxes(x, axis)
	}
	return x
}

// position returns, for each member of plate in the replica, the position in the replica of the
// member of outer to which it belongs, [size, 1] int32.
func (r *replica) position(plate, outer *Plate) *Node {
	var position *Node
	for _, step := range plate.path(outer) {
		if position == nil {
			position = InsertAxes(r.index[step], 1)
		} else {
			position = InsertAxes(Gather(r.index[step], position), 1)
		}
	}
	if position == nil {
		position = Iota(r.graph, shapes.Make(dtypes.Int32, r.sizes[plate], 1), 0)
	}
	return position
}

func transposed(x *Node, permutation []int) *Node {
	if slices.IsSorted(permutation) {
		return x
	}
	return TransposeAllAxes(x, permutation...)
}

// parameters evaluates the terms of a variable's density on its plates.
func (r *replica) parameters(v *Variable) []*Node {
	return apply.To(v.density.terms, func(term Term) *Node { return term.node(r, v.plates) })
}

// logProb returns the log density of each member of a variable at its value in the replica,
// [plates..., draws].
func (r *replica) logProb(v *Variable) *Node {
	logProb := v.density.logProb(r.values[v], r.parameters(v), len(v.event))
	return withPresence(logProb, r.present[v], len(v.plates)+1)
}

// sumTrailing sums x over its axes with indices of rank or more.
func sumTrailing(x *Node, rank int) *Node {
	if x.Rank() == rank {
		return x
	}
	axes := apply.UpTo(x.Rank()-rank, func(i int) int { return rank + i })
	return ReduceSum(x, axes...)
}

// densities draws from the family at the members of a replica, leaves the values in it, and returns
// the log density of each draw under the model (logJoint) and under the family (logQ), [draws]
// Float64. The noise of draws comes in pairs of opposite sign (antithetic draws). So the part of
// the gradient that is odd in the noise cancels; near the optimum it is most of the gradient with
// respect to locations.
func (p *Posterior) densities(ctx *context.Context, r *replica, draws int) (logJoint, logQ *Node) {
	noise := make([]*Node, len(p.family.latents))
	for i, l := range p.family.latents {
		dims := append(r.dims(l.Variable), (draws+1)/2, l.dim)
		half := stream.Normal(ctx, r.graph, p.config.Seed, "noise/"+l.scope(), shapes.Make(r.dtype, dims...))
		noise[i] = SliceAxis(Concatenate([]*Node{half, Neg(half)}, -2), -2, AxisRange(0, draws))
	}
	return p.densitiesAt(ctx, r, noise)
}

// densitiesAt computes densities from standard normal noise [plates..., draws, U] of each latent
// variable.
func (p *Posterior) densitiesAt(ctx *context.Context, r *replica, noise []*Node) (logJoint, logQ *Node) {
	logPs, logQs := p.termsAt(ctx, r, noise)
	for _, v := range p.model.variables {
		if v.role != Constant {
			logJoint = plus(logJoint, r.sumMembers(v, logPs[v]))
		}
		if v.role == Latent {
			logQ = plus(logQ, r.sumMembers(v, logQs[v]))
		}
	}
	return logJoint, logQ
}

// termsAt returns the terms of densitiesAt: for each member, [plates..., draws], the log density
// under the model of every variable with a density, and under the family of every latent variable.
func (p *Posterior) termsAt(ctx *context.Context, r *replica, noise []*Node) (logP, logQ map[*Variable]*Node) {
	z := map[*Variable]*Node{}
	for i, l := range p.family.latents {
		z[l.Variable] = ConvertDType(noise[i], r.dtype)
	}
	logQ = p.family.draw(ctx.Checked(false), r, z)
	logP = map[*Variable]*Node{}
	for _, v := range p.model.variables {
		if v.role != Constant {
			logP[v] = r.logProb(v)
		}
	}
	return logP, logQ
}

// plus adds x to a sum, with broadcasting over draws. The sum may be nil for zero.
func plus(sum, x *Node) *Node {
	if sum == nil {
		return x
	}
	return Add(sum, x)
}
