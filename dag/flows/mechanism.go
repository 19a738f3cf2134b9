package flows

import (
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
)

// Mechanism defines how the nodes of a graph depend on their parents: the parameters of a node, and
// the density of its data and parameters given its parents. [NewGraphTarget] and [NewNodeTarget]
// make Targets of it.
//
// Its methods build graphs over rows, each a node with parents: node [B] int32, parents [B,N] Bool.
type Mechanism interface {
	// Nodes returns N, and Dim the number of coordinates that the nodes share.
	Nodes() int
	Dim() int
	// Mask marks the used coordinates: [B,Dim] Bool.
	Mask(node, parents *graph.Node) *graph.Node
	// LogJoint returns log p(x_j, θ | x_pa) with all constants: mask and theta [B,Dim] -> [B]. It
	// must not depend on theta where mask is false.
	LogJoint(node, parents, mask, theta *graph.Node) *graph.Node
}

// quadratics is a Mechanism with quadratics of its log densities, as in vti.QuadraticTarget.
type quadratics interface {
	Quadratic(node, mask *graph.Node, dtype dtypes.DType) (precision, linear *graph.Node)
}

// oneHot returns 1 at the node of each row: node [B] int32 -> [B,N].
func oneHot(node *graph.Node, nodes int, dtype dtypes.DType) *graph.Node {
	all := graph.Iota(node.Graph(), shapes.Make(dtypes.Int32, 1, nodes), 1)
	return graph.ConvertDType(graph.Equal(graph.InsertAxes(node, -1), all), dtype)
}
