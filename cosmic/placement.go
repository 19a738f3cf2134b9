package cosmic

import (
	"fmt"
	"slices"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/ml/context"
)

// Placement makes a flow a part of a larger flow, for example of one that was trained on many
// problems. The layers are the layers of the larger flow, with its variables, evaluated at a model
// that uses the coordinates listed in the field At. The anchor belongs to the smaller flow. The
// features of the larger flow are its mask, converted to numbers, and the field Context.
type Placement struct {
	// Dim is the number of coordinates of the larger flow.
	Dim int `json:"dim"`
	// At lists, for each coordinate of this flow, its index among the coordinates of the larger
	// flow. The indices are distinct.
	At []int `json:"at"`
	// Context holds features that all rows share, after their masks.
	Context []float64 `json:"context,omitempty"`
	// Given reports whether the larger flow was trained with [Flow.Given]. This flow then needs
	// [Flow.Given] too.
	Given bool `json:"given,omitempty"`
}

func (p *Placement) validate(dim int) error {
	if p == nil {
		return nil
	}
	if len(p.At) != dim {
		return fmt.Errorf("cosmic: Placement.At has %d places, want Dim = %d", len(p.At), dim)
	}
	for i, at := range p.At {
		if at < 0 || at >= p.Dim || slices.Contains(p.At[:i], at) {
			return fmt.Errorf("cosmic: Placement.At[%d] = %d, want a place of its own below %d", i, at, p.Dim)
		}
	}
	return validateVector("Placement.Context", "", p.Context, len(p.Context))
}

// MaskFeatures returns the features [B, D + C] of a larger flow, as Placement describes them: mask
// [B, D] converted to numbers, followed by context [B, C]. A nil context adds no columns.
func MaskFeatures(mask, context *graph.Node, dtype dtypes.DType) *graph.Node {
	features := graph.ConvertDType(mask, dtype)
	if context == nil {
		return features
	}
	return graph.Concatenate([]*graph.Node{features, graph.ConvertDType(context, dtype)}, 1)
}

// larger returns the configuration of the flow that the placement refers to.
func (c Config) larger() Config {
	c.Features, c.Dim = c.Placement.Dim+len(c.Placement.Context), c.Placement.Dim
	c.Placement, c.Precision, c.Linear = nil, nil, nil
	return c
}

// placed returns the trained stages of the larger flow as one stage of this flow.
func (f *Flow) placed(ctx *context.Context, mask, x *graph.Node) stages {
	p, g := f.cfg.Placement, x.Graph()
	matrix := make([]float64, len(p.At)*p.Dim)
	for i, at := range p.At {
		matrix[i*p.Dim+at] = 1
	}
	spread := graph.ConvertDType(graph.Reshape(graph.Const(g, matrix), len(p.At), p.Dim), x.DType())
	number := graph.MatMul(graph.ConvertDType(mask, x.DType()), spread)
	wide := graph.GreaterThan(number, graph.ZerosLike(number))
	var about *graph.Node
	if len(p.Context) > 0 {
		about = graph.BroadcastToDims(graph.Reshape(graph.Const(g, p.Context), 1, -1), x.Shape().Dim(0), len(p.Context))
	}
	like := graph.Zeros(g, shapes.Make(x.DType(), x.Shape().Dim(0), p.Dim))
	return stages{placed{spread, f.larger.trained(ctx, newPacking(wide), wide, MaskFeatures(wide, about, x.DType()), like)}}
}

// placed is a stage that runs in the coordinates of the larger flow. spread [D, larger D] has a one
// at the index that a coordinate of x has in the larger flow. The whole log-determinant, which is a
// sum over coordinates, is returned at the first coordinate.
type placed struct {
	spread *graph.Node
	stages stages
}

func (s placed) toParams(x *graph.Node) (y, logSlope *graph.Node) {
	wide, logDet := s.stages.toParams(graph.MatMul(x, s.spread))
	return s.back(wide), s.first(x, logDet)
}

func (s placed) toBase(y *graph.Node) (x, logSlope *graph.Node) {
	wide, logDet := s.stages.toBase(graph.MatMul(y, s.spread))
	return s.back(wide), s.first(y, logDet)
}

func (s placed) back(wide *graph.Node) *graph.Node {
	return graph.MatMul(wide, graph.Transpose(s.spread, 0, 1))
}

func (s placed) first(like, logDet *graph.Node) *graph.Node {
	coordinate := graph.Iota(like.Graph(), shapes.Make(dtypes.Int32, like.Shape().Dimensions...), 1)
	all := graph.BroadcastToShape(graph.InsertAxes(logDet, -1), like.Shape())
	return graph.Where(graph.Equal(coordinate, graph.ZerosLike(coordinate)), all, graph.ZerosLike(all))
}
