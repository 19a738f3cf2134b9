package hbm

import (
	"math"
	"slices"

	. "github.com/gomlx/gomlx/pkg/core/graph"
)

// sumPresent sums the entries of the last axis of x that are 1 in present.
func sumPresent(x, present *Node) *Node {
	if present != nil {
		x, present = broadcast2(x, present)
		x = Where(GreaterThan(present, ZerosLike(present)), x, ZerosLike(x))
	}
	return ReduceSum(x, -1)
}

// withPresence returns the log density [plates..., draws] summed over the components that are 1 in
// present, or of whole members if logProb has no components.
func withPresence(logProb, present *Node, rank int) *Node {
	if present == nil {
		return sumTrailing(logProb, rank)
	}
	if logProb.Rank() == rank {
		return wholly(logProb, present)
	}
	flat := Reshape(logProb, append(slices.Clone(logProb.Shape().Dimensions[:rank]), -1)...)
	if flat.Shape().Dim(-1) != present.Shape().Dim(-1) { // densities are not of single numbers
		return wholly(ReduceSum(flat, -1), present)
	}
	return sumPresent(flat, present)
}

// encoded returns encodings [plates..., draws or 1, width] of the members for the model of each
// draw. Each is a sum, weighted by 1 and the F features of the model, of the 1 + F blocks of
// encodings [plates..., draws or 1, (1+F)·width].
func encoded(encodings, features *Node, width, plates int) *Node {
	dims := encodings.Shape().Dimensions[:plates]
	members, draws := product(dims), encodings.Shape().Dim(plates)
	table := Reshape(encodings, members*draws, features.Shape().Dim(-1), width)
	if draws > 1 { // each draw has its own data set
		table = Reshape(table, members, draws, features.Shape().Dim(-1), width)
		return Reshape(ReduceSum(Mul(table, InsertAxes(features, 0, -1)), 2), append(slices.Clone(dims), draws, width)...)
	}
	return Reshape(Einsum("dk,mkw->mdw", features, table), append(slices.Clone(dims), features.Shape().Dim(0), width)...)
}

// follow returns the product of in.before [plates..., draws, C] with weights [C, outputs]. Over a
// space of models, weights [1 + F, C, outputs] have a matrix for each feature of a model.
func (in conditionalInputs) follow(weights *Node) *Node {
	outputs := weights.Shape().Dim(-1)
	leading := in.before.Shape().Dimensions[:in.before.Rank()-1]
	before := in.before.Shape().Dim(-1)
	if in.features == nil {
		return Reshape(MatMul(Reshape(in.before, -1, before), weights), append(slices.Clone(leading), outputs)...)
	}
	draws := leading[len(leading)-1]
	features := BroadcastToDims(in.features, draws, in.features.Shape().Dim(-1))
	transformed := Reshape(MatMul(features, Reshape(weights, features.Shape().Dim(-1), -1)), draws, before, outputs)
	flat := Reshape(in.before, -1, draws, before)
	return Reshape(Einsum("mdc,dco->mdo", flat, transformed), append(slices.Clone(leading), outputs)...)
}

// wholly returns x [..., B] if all numbers of a member are 1 in present [..., B, U], and 0 if none
// is. If only some are, it returns NaN, because no density is defined.
func wholly(x, present *Node) *Node {
	is := GreaterThan(present, ZerosLike(present))
	x, all := broadcast2(x, LogicalAll(is, -1))
	x, some := broadcast2(x, LogicalAny(is, -1))
	none := ZerosLike(x)
	return Where(all, x, Where(some, AddScalar(none, math.NaN()), none))
}
