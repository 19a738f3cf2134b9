package simd

import (
	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
)

// These operations exist only inside this backend. Their numbers follow the numbers of GoMLX's
// operations.
const (
	// opView rearranges its input according to the view in attr. It replaces reshapes, transposes,
	// broadcasts, slices and reverses.
	opView = backends.OpTypeLast + 1 + iota
	// opRandomState and opRandomBits are the two outputs of RNGBitGenerator.
	opRandomState
	opRandomBits
)

// node is one operation of a graph. Builders record nodes as GoMLX calls their methods; the
// compiler translates these nodes into nodes of its own graph. In the list of nodes of a builder or
// graph, a node comes after its inputs.
type node struct {
	id     int
	op     backends.OpType
	dtype  dtypes.DType
	dims   []int
	inputs []*node
	// attr holds the parameters of the operation. Two nodes with the same operation, type,
	// dimensions and inputs are equal if package fmt prints the same text for their attr.
	attr  any
	owner *Builder
}

func (n *node) size() int  { return product(n.dims) }
func (n *node) bytes() int { return n.size() * n.dtype.Size() }

func (n *node) shape() shapes.Shape { return shapes.Make(n.dtype, n.dims...) }

// These types are the values of node.attr. Operations with one slice or number (axes, a
// permutation, the axis of Iota) use a plain []int or int instead.
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
