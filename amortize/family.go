package amortize

import (
	"fmt"
	"math/rand/v2"

	"github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/space"
)

// Family is a set of problems of one kind that differ in their data: a Target whose densities take
// a data set. It also simulates data sets and encodes them for a network. All problems have arrays
// of the same shapes, in which masks mark the valid entries.
type Family interface {
	// Space is the space of the largest problem: smaller ones have models that never use the rest.
	Space() space.Space
	// Simulate draws a problem from the prior; other problems train by ReverseKL only.
	Simulate(random *rand.Rand) (*Problem, error)
	// Encode is the network that reads data: arrays [B, ...], in the order of Problem.Data, to
	// contexts [B, Width]. Its weights live in ctx.
	Encode(ctx *vti.Context, data []*graph.Node) *graph.Node
	// Width is the dimension of a context.
	Width() int
	// LogPrior and LogJoint are as in a Target; row b belongs to the data in row b of the arrays.
	// An inactive coordinate of theta may have any finite value.
	LogPrior(data []*graph.Node, codes *graph.Node) *graph.Node
	LogJoint(data []*graph.Node, codes, mask, theta *graph.Node) *graph.Node
	// Settings describe the family as JSON; networks open for families of equal settings only.
	Settings() any
}

// Array is an array of numbers in row-major order.
type Array struct {
	Values []float64
	Dims   []int
}

// Problem is a data set of a Family.
type Problem struct {
	// Data are the arrays of the data set, without the axis of a batch.
	Data []Array
	// Code [S] and Theta [D], 0 where inactive, are the simulated model and parameters, or nil.
	Code  []int32
	Theta []float64
	// LogMass [M], nil for none, are cheap approximations of log p(m | D) of all models of the
	// family's space, in the order of their index, up to a constant: q(m | D) before any training.
	// All problems of a family have them, or none.
	LogMass []float64
	// Precision [D·D] and Linear [D], nil for none, are the quadratic −½ θᵀHθ + bᵀθ of an
	// approximation of the log density of the largest model: q(θ | m, D) before any training. With
	// [M·D·D] and [M·D] each model has a separate quadratic, in the order of their index. The data
	// set's Target must then be a [QuadraticTarget] with the same quadratics. All problems of a
	// family have the same number of them.
	Precision, Linear []float64
}

// check returns an error if a problem of a family differs in shape from another one.
func (p *Problem) check(like *Problem, sp space.Space, truth bool) error {
	sites, dim := len(sp.Cards()), sp.Dim()
	switch {
	case len(p.Data) != len(like.Data):
		return fmt.Errorf("got %s of data, want %d as in other problems", english.Count(len(p.Data), "array"), len(like.Data))
	case truth && (len(p.Code) != sites || len(p.Theta) != dim):
		return fmt.Errorf("got a code of %s and %s, want %d and %d: without what data was made from only reverse training is possible", english.Count(len(p.Code), "site"), english.Count(len(p.Theta), "parameter"), sites, dim)
	case len(p.LogMass) != len(like.LogMass):
		return fmt.Errorf("got %s of models, want %d as in other problems", english.Count(len(p.LogMass), "approximate mass"), len(like.LogMass))
	case len(p.Precision) != len(like.Precision) || len(p.Precision) != len(p.Linear)*dim:
		return fmt.Errorf("got quadratics of %d and %d numbers, want %d and %d as in other problems", len(p.Precision), len(p.Linear), len(like.Precision), len(like.Precision)/dim)
	case len(p.Linear) != 0 && len(p.Linear) != dim:
		if count, ok := space.CountCodes(sp.Cards()); !ok || len(p.Linear) != count*dim {
			return fmt.Errorf("got quadratics of %d and %d numbers, want %d and %d, or so many for each model", len(p.Precision), len(p.Linear), dim*dim, dim)
		}
	}
	for i, array := range p.Data {
		size := 1
		for _, d := range array.Dims {
			size *= d
		}
		if fmt.Sprint(array.Dims) != fmt.Sprint(like.Data[i].Dims) || len(array.Values) != size {
			return fmt.Errorf("array %d: got %s of shape %v, want shape %v as in other problems", i, english.Count(len(array.Values), "number"), array.Dims, like.Data[i].Dims)
		}
	}
	return nil
}
