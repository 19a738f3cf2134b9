package amortize

import (
	"fmt"
	"math/rand/v2"

	"github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/space"
)

// Family is a set of problems of one kind that differ in their data. It is like a Target whose
// densities take a data set as an argument. It also simulates data sets and encodes them for a
// network. All problems have arrays of the same shapes, and masks among the arrays mark the valid
// entries.
type Family interface {
	// Space returns the space of the largest problem. In smaller problems no model uses the
	// remaining coordinates.
	Space() space.Space
	// Simulate draws a model, its parameters and a data set from the prior. If problems do not come
	// from the prior, training must minimise ReverseKL.
	Simulate(random *rand.Rand) (*Problem, error)
	// Encode builds the network that encodes data sets: from arrays [B, ...], in the order of
	// Problem.Data, to contexts [B, Width], on which q is conditioned. Its weights live in ctx.
	Encode(ctx *vti.Context, data []*graph.Node) *graph.Node
	// Width returns the number of components of a context.
	Width() int
	// LogPrior and LogJoint return the same densities as the methods of vti.Target with these
	// names. Row b belongs to the data set in row b of the arrays. An inactive coordinate of theta
	// may have any finite value.
	LogPrior(data []*graph.Node, codes *graph.Node) *graph.Node
	LogJoint(data []*graph.Node, codes, mask, theta *graph.Node) *graph.Node
	// Settings returns a description of the family, which is encoded as JSON. A network can be
	// opened only for a family with the same settings.
	Settings() any
}

// Array is an array of numbers in row-major order.
type Array struct {
	// Values holds the numbers, and Dims the length of each axis.
	Values []float64
	Dims   []int
}

// Problem is a data set of a Family.
type Problem struct {
	// Data holds the arrays of the data set, without an axis for the batch.
	Data []Array
	// Code [S] holds the outcomes of the simulated model at the S sites of the space. Theta [D]
	// holds its parameters, with inactive coordinates 0. They are nil if unknown.
	Code  []int32
	Theta []float64
	// LogMass [M] holds cheap approximations of log p(m | D), up to a constant, of all M models of
	// the space of the family, in the order of their index. Before any training q(m | D) equals
	// these approximations. LogMass is nil if there are none. Either all problems of a family have
	// approximations, or none has.
	LogMass []float64
	// Precision H [D·D] and Linear b [D] give a quadratic approximation −½ θᵀHθ + bᵀθ of the log
	// density of the largest model, from which q(θ | m, D) starts before any training. They are nil
	// if there is none. With [M·D·D] and [M·D] each model has a separate approximation, in the
	// order of the index of models. The Target of the data set must then be a [vti.QuadraticTarget]
	// with the same approximations. All problems of a family have the same number of
	// approximations.
	Precision, Linear []float64
}

// check returns an error if the arrays of p differ in shape from the arrays of the problem like. If
// truth is true, p must also have Code and Theta.
func (p *Problem) check(like *Problem, sp space.Space, truth bool) error {
	sites, dim := len(sp.Cards()), sp.Dim()
	switch {
	case len(p.Data) != len(like.Data):
		return fmt.Errorf("got %s of data, want %d as in other problems", english.Count(len(p.Data), "array"), len(like.Data))
	case truth && (len(p.Code) != sites || len(p.Theta) != dim):
		return fmt.Errorf("got a code of %s and %s, want %d and %d: without the model and the parameters behind simulated data only the objective reverse can train", english.Count(len(p.Code), "site"), english.Count(len(p.Theta), "parameter"), sites, dim)
	case len(p.LogMass) != len(like.LogMass):
		return fmt.Errorf("got %s of models, want %d as in other problems", english.Count(len(p.LogMass), "approximate mass"), len(like.LogMass))
	case len(p.Precision) != len(like.Precision) || len(p.Precision) != len(p.Linear)*dim:
		return fmt.Errorf("got %d numbers in Precision and %d in Linear, want %d and %d as in other problems", len(p.Precision), len(p.Linear), len(like.Precision), len(like.Precision)/dim)
	case len(p.Linear) != 0 && len(p.Linear) != dim:
		if count, ok := space.CountCodes(sp.Cards()); !ok || len(p.Linear) != count*dim {
			return fmt.Errorf("got %d numbers in Precision and %d in Linear, want %d and %d, or as many for each model", len(p.Precision), len(p.Linear), dim*dim, dim)
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
