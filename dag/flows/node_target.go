package flows

import (
	"math"
	"slices"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/space"
)

// NodeTarget is the posterior of the parameters of one node given its parents, for all nodes and
// all sets of parents at once. It satisfies vti.Target. The posterior given a graph is a product of
// such posteriors, so that one flow serves whole graphs. A code consists of the index of the node
// and a bit for each possible parent.
type NodeTarget struct{ mechanism Mechanism }

// NewNodeTarget returns the target of a single node with a mechanism. If the mechanism has
// quadratic approximations, the flow starts from them.
func NewNodeTarget(m Mechanism) vti.Target {
	t := &NodeTarget{m}
	if quadratic, ok := m.(quadratics); ok {
		return quadraticNodes{t, quadratic}
	}
	return t
}

// Space returns the space of codes of nodes with their parents.
func (t *NodeTarget) Space() space.Space { return &familySpace{t.mechanism} }

// LogPrior returns zero, or −Inf for a node that is its own parent. The prior over graphs is part
// of the learned distribution's loss. [B,S] -> [B]
func (t *NodeTarget) LogPrior(codes *graph.Node) *graph.Node {
	bits := graph.ConvertDType(parentsOf(codes), dtypes.Float64)
	selfLoops := graph.ReduceSum(graph.Mul(bits, graph.OneHot(nodeOf(codes), t.mechanism.Nodes(), dtypes.Float64)), 1)
	zero := graph.ZerosLike(selfLoops)
	return graph.Where(graph.GreaterThan(selfLoops, zero), graph.AddScalar(zero, math.Inf(-1)), zero)
}

// LogJoint returns log p(x_j, θ_j | x_pa) for the node j and the parents pa of each code. codes
// [B,S], mask [B,D], theta [B,D] -> [B]
func (t *NodeTarget) LogJoint(codes, mask, theta *graph.Node) *graph.Node {
	return t.mechanism.LogJoint(nodeOf(codes), parentsOf(codes), mask, theta)
}

// quadraticNodes is a NodeTarget whose mechanism has quadratic approximations of log densities.
type quadraticNodes struct {
	*NodeTarget
	quadratics
}

var _ vti.QuadraticTarget = quadraticNodes{}

// Quadratic returns quadratic approximations of the log densities of each node's parameters.
func (t quadraticNodes) Quadratic(codes, mask *graph.Node, dtype dtypes.DType) (precision, linear *graph.Node) {
	return t.quadratics.Quadratic(nodeOf(codes), mask, dtype)
}

// familySpace is the space of codes of nodes with their parents. The first of S digits is the node;
// a bit follows for each of N possible parents. Inputs of networks are the node one-hot and the
// bits.
type familySpace struct{ Mechanism }

var _ space.Featurer = (*familySpace)(nil)

// Cards returns the number of values of each digit: N, followed by 2 for each possible parent.
func (s *familySpace) Cards() []int {
	return append([]int{s.Nodes()}, slices.Repeat([]int{2}, s.Nodes())...)
}

// Mask returns the coordinates of θ that each node uses: codes [B,S] int32 -> [B,D] Bool.
func (s *familySpace) Mask(codes *graph.Node) *graph.Node {
	return s.Mechanism.Mask(nodeOf(codes), parentsOf(codes))
}

// FeatureDim returns the number of inputs of networks for a code, 2N.
func (s *familySpace) FeatureDim() int { return 2 * s.Nodes() }

// Features returns the node, one-hot, and the bits of the parents: codes [B,S] int32 -> [B,2N].
func (s *familySpace) Features(codes *graph.Node, dtype dtypes.DType) *graph.Node {
	parents := graph.ConvertDType(parentsOf(codes), dtype)
	return graph.Concatenate([]*graph.Node{graph.OneHot(nodeOf(codes), s.Nodes(), dtype), parents}, 1)
}

// nodeOf returns the nodes of codes: [B,S] -> [B].
func nodeOf(codes *graph.Node) *graph.Node {
	return graph.Squeeze(graph.SliceAxis(codes, 1, graph.AxisElem(0)), 1)
}

// parentsOf returns the bits of the parents of codes: [B,S] -> [B,N] Bool.
func parentsOf(codes *graph.Node) *graph.Node {
	bits := graph.SliceAxis(codes, 1, graph.AxisRange(1))
	return graph.GreaterThan(bits, graph.ZerosLike(bits))
}

func codeOf(nodes int, f dgraph.Family) []int32 {
	code := make([]int32, 1+nodes)
	code[0] = int32(f.Node)
	for i := range f.Parents.Nodes() {
		code[1+i] = 1
	}
	return code
}
