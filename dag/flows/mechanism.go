package flows

import (
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
)

// Mechanism defines how the nodes of a graph depend on their parents: the coordinates of the
// parameters of a node, and the joint density of the node's data and parameters given its parents.
// [NewGraphTarget] and [NewNodeTarget] make targets of it.
//
// Its methods build computation graphs over B rows. Each row is a node with its parents: node [B]
// int32, parents [B,N] Bool.
type Mechanism interface {
	// Nodes returns the number of nodes N, and Dim the number of coordinates of a node, which is
	// the same for all nodes.
	Nodes() int
	Dim() int
	// Mask marks the coordinates that a node with these parents uses: [B,Dim] Bool.
	Mask(node, parents *graph.Node) *graph.Node
	// LogJoint returns log p(x_j, θ | x_pa) for node j with parents pa, with all constants: mask
	// and theta [B,Dim] -> [B]. It must not depend on theta where mask is false.
	LogJoint(node, parents, mask, theta *graph.Node) *graph.Node
}

// quadratics is implemented by a Mechanism with quadratic approximations of its log densities, as
// in vti.QuadraticTarget.
type quadratics interface {
	Quadratic(node, mask *graph.Node, dtype dtypes.DType) (precision, linear *graph.Node)
}
