package simd

import (
	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
)

// Operations that exist only inside this backend, numbered after GoMLX's.
const (
	// opView is its input seen through the view in attr; it replaces reshapes, transposes,
	// broadcasts, slices, reverses.
	opView = backends.OpTypeLast + 1 + iota
	// opRandomState and opRandomBits are the two outputs of RNGBitGenerator.
	opRandomState
	opRandomBits
)

// node is one operation of a graph. Builders record nodes as GoMLX asks for them; the compiler
// rewrites them into nodes of its own graph. Inputs come before the node in the list of its graph.
type node struct {
	id     int
	op     backends.OpType
	dtype  dtypes.DType
	dims   []int
	inputs []*node
	// parameters of the operation, by value: two nodes that print the same attr do the same thing
	attr  any
	owner *Builder
}

func (n *node) size() int  { return product(n.dims) }
func (n *node) bytes() int { return n.size() * n.dtype.Size() }

func (n *node) shape() shapes.Shape { return shapes.Make(n.dtype, n.dims...) }

// Attributes of nodes; those with one slice or number (axes, permutations, the iota axis) are plain
// []int or int.
type (
	parameterAttr struct {
		name  string
		index int
	}
	constantAttr  struct{ data *block }
	broadcastAttr struct{ dims, axes []int }
	sliceAttr     struct{ starts, limits, steps []int }
	padAttr       struct{ axes []backends.PadAxis }
	productAttr   struct{ lhsContract, lhsBatch, rhsContract, rhsBatch []int }
	gatherAttr    struct {
		indexAxis                                      int
		offsetAxes, collapsedAxes, startMap, sliceDims []int
	}
	scatterAttr struct {
		indexAxis                             int
		windowAxes, insertedAxes, operandAxes []int
	}
	argAttr struct {
		axis int
		min  bool
	}
	windowAttr struct {
		reduce                                backends.ReduceOpType
		window, steps, baseDilation, dilation []int
		paddings                              [][2]int
	}
)
