package flows

import (
	"math"
	"slices"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/space"
)

// GraphTarget is the posterior over codes of graphs together with the parameters of all nodes, as
// in section 5.2 of the VTI paper (Davies et al. 2025). A code consists of an order P of the nodes
// and the edges U along it. GraphTarget satisfies vti.Target, for any mechanism. Its coordinates
// are the parameters of each node in turn. With the prior over graphs, the probability of a graph
// is divided among its orders in the proportions of random sorts ([dgraph.LogSorted]).
type GraphTarget struct {
	// Codes is the space of codes of graphs.
	Codes     *GraphSpace
	structure dgraph.Structure
	mechanism Mechanism
	logMass   float64 // log of the sum of the prior weights of all graphs; NaN if unknown
}

// NewGraphTarget returns the target for the graphs that the structure allows, with their prior.
func NewGraphTarget(s dgraph.Structure, m Mechanism) *GraphTarget {
	return &GraphTarget{&GraphSpace{Ordered: dgraph.NewOrdered(s.Nodes), mechanism: m}, s, m, s.LogMass()}
}

// Normalised reports whether the prior over graphs is normalised; if not, evidences lack a
// constant.
func (t *GraphTarget) Normalised() bool { return !math.IsNaN(t.logMass) }

// AsTarget returns the target in the form that vti.Fit takes. It has the mechanism's quadratic
// approximations of log densities, if there are any and a matrix of all coordinates is not too
// large.
func (t *GraphTarget) AsTarget() vti.Target {
	quadratic, ok := t.mechanism.(quadratics)
	if !ok || t.Codes.Dim() > cosmic.MaxCoupledDim {
		return t
	}
	return quadraticGraphs{t, quadratic}
}

// Decode appends the graph of a code and the parameters of each node, from theta, to a sample.
func (t *GraphTarget) Decode(code []int32, theta []float64, to *score.Sample) error {
	g, err := t.Codes.Graph(code)
	if err == nil {
		to.Parents, to.Thetas = append(to.Parents, g.ParentSets()), append(to.Thetas, slices.Collect(slices.Chunk(theta, t.mechanism.Dim())))
	}
	return err
}

// Lenient returns a target for Markov chains that change one digit of the code at a time. It
// ignores the bits of required and forbidden edges, so that the order can change alone. The
// probability of a graph is divided equally among all values of the ignored bits.
func (t *GraphTarget) Lenient() *GraphTarget {
	sp, out := *t.Codes, *t
	sp.lenient, out.Codes = &t.structure, &sp
	return &out
}

// GraphSpace is the space of codes of graphs: an order P of the nodes and the edges U along it.
type GraphSpace struct {
	dgraph.Ordered
	mechanism Mechanism
	// lenient, if not nil, holds constraints on edges. Required edges are then present and
	// forbidden edges absent, whatever the bits of a code are.
	lenient *dgraph.Structure
}

// Adjacency returns the adjacency matrices of B codes with S digits: [B,S] int32 -> [B,N,N] Bool.
func (s *GraphSpace) Adjacency(codes *graph.Node) *graph.Node {
	adjacency := s.Ordered.Adjacency(codes)
	if s.lenient == nil {
		return adjacency
	}
	g := codes.Graph()
	adjacency = graph.LogicalAnd(adjacency, graph.InsertAxes(graph.Const(g, dgraph.EdgeTable(s.lenient.Allowed)), 0))
	return graph.LogicalOr(adjacency, graph.LogicalAnd(s.along(codes), graph.InsertAxes(graph.Const(g, dgraph.EdgeTable(s.lenient.Required)), 0)))
}

// along marks the pairs of an earlier and a later node in each code's order: [B,S] -> [B,N,N] Bool.
func (s *GraphSpace) along(codes *graph.Node) *graph.Node {
	digits := graph.SliceAxis(codes, 1, graph.AxisRange(0, s.Nodes()-1))
	bits := graph.OnesLike(graph.SliceAxis(codes, 1, graph.AxisRange(s.Nodes()-1)))
	return s.Ordered.Adjacency(graph.Concatenate([]*graph.Node{digits, bits}, 1))
}

// Graph returns the graph of a code.
func (s *GraphSpace) Graph(code []int32) (*dgraph.Graph, error) {
	g, err := s.Ordered.Graph(code)
	if err != nil || s.lenient == nil {
		return g, err
	}
	for _, e := range dgraph.OrderedPairs(s.Nodes()) {
		// a code whose order contradicts a required edge has probability zero
		required := s.lenient.Required[e.To].Has(e.From)
		g.Set(e.From, e.To, required || g.Has(e.From, e.To) && s.lenient.Allowed[e.To].Has(e.From))
	}
	return g, nil
}

var _ space.Featurer = (*GraphSpace)(nil)

// Dim returns the number of coordinates.
func (s *GraphSpace) Dim() int { return s.Nodes() * s.mechanism.Dim() }

// Mask returns the coordinates of θ that each graph uses: codes [B,S] -> [B,D] Bool.
func (s *GraphSpace) Mask(codes *graph.Node) *graph.Node {
	node, parents := s.rows(codes)
	return graph.Reshape(s.mechanism.Mask(node, parents), codes.Shape().Dim(0), s.Dim())
}

// rows returns the nodes [B·N] and their parents [B·N,N] in the graphs of codes [B,S].
func (s *GraphSpace) rows(codes *graph.Node) (node, parents *graph.Node) {
	batch, nodes := codes.Shape().Dim(0), s.Nodes()
	parents = graph.Reshape(graph.Transpose(s.Adjacency(codes), 1, 2), batch*nodes, nodes)
	return graph.Reshape(graph.Iota(codes.Graph(), shapes.Make(dtypes.Int32, batch, nodes), 1), batch*nodes), parents
}

// FeatureDim returns the number of inputs of networks for a graph, N².
func (s *GraphSpace) FeatureDim() int { return s.Nodes() * s.Nodes() }

// Features returns adjacency matrices as inputs of networks: codes [B,S] int32 -> [B,N²].
func (s *GraphSpace) Features(codes *graph.Node, dtype dtypes.DType) *graph.Node {
	return graph.ConvertDType(graph.Reshape(s.Adjacency(codes), codes.Shape().Dim(0), s.FeatureDim()), dtype)
}

// Space returns the space of codes of graphs.
func (t *GraphTarget) Space() space.Space { return t.Codes }

// LogPrior returns the log prior weight of codes: normalised if the normalising constant is known,
// and −Inf for graphs that the constraints exclude. [B,S] -> [B] float64
func (t *GraphTarget) LogPrior(codes *graph.Node) *graph.Node {
	g, s, adjacency := codes.Graph(), t.structure, t.Codes.Adjacency(codes)
	node, parents := t.Codes.rows(codes)
	logPrior := graph.ReduceSum(graph.Reshape(logPriorOfFamilies(s, node, parents), -1, s.Nodes), 1)
	if t.Normalised() {
		logPrior = graph.AddScalar(logPrior, -t.logMass)
	}
	if !s.Orders {
		logPrior = graph.Add(logPrior, dgraph.LogSorted(adjacency, t.Codes.Positions(codes)))
	}
	if t.Codes.lenient != nil {
		// the diagonal does not matter, because it is never along an order
		number := func(x *graph.Node) *graph.Node { return graph.ConvertDType(x, dtypes.Float64) }
		allowed, required := number(graph.Const(g, dgraph.EdgeTable(s.Allowed))), number(graph.Const(g, dgraph.EdgeTable(s.Required)))
		decided := graph.InsertAxes(graph.Add(graph.OneMinus(allowed), required), 0)
		mute := graph.ReduceSum(graph.Mul(number(t.Codes.along(codes)), decided), 1, 2)
		logPrior = graph.Sub(logPrior, graph.MulScalar(mute, math.Ln2))
	}
	return logPrior
}

// logPriorOfFamilies returns the log prior weights of R nodes with their sets of parents, −Inf for
// sets that the constraints exclude: node [R], parents [R,N] Bool -> [R] float64
func logPriorOfFamilies(s dgraph.Structure, node, parents *graph.Node) *graph.Node {
	g := node.Graph()
	index := graph.InsertAxes(node, -1)
	edges := graph.ConvertDType(parents, dtypes.Float64)
	gather := func(byEdge any) *graph.Node { // table by cause and effect -> [R,N]
		return graph.Gather(graph.Transpose(graph.ConvertDType(graph.Const(g, byEdge), dtypes.Float64), 0, 1), index)
	}
	allowed, required := gather(dgraph.EdgeTable(s.Allowed)), gather(dgraph.EdgeTable(s.Required))
	wrong := graph.ReduceSum(graph.Add(graph.Mul(edges, graph.OneMinus(allowed)), graph.Mul(graph.OneMinus(edges), required)), -1)
	size := graph.ReduceSum(edges, -1)
	if s.MaxParents >= 0 {
		wrong = graph.Add(wrong, graph.MaxScalar(graph.AddScalar(size, -float64(s.MaxParents)), 0))
	}
	logPrior := graph.ZerosLike(size)
	if s.Prior.BySize != nil {
		logPrior = graph.Gather(graph.Const(g, s.Prior.BySize), graph.InsertAxes(graph.ConvertDType(size, dtypes.Int32), -1))
	}
	if s.Prior.ByEdge != nil {
		logPrior = graph.Add(logPrior, graph.ReduceSum(graph.Mul(edges, gather(s.Prior.ByEdge)), -1))
	}
	none := graph.MulScalar(graph.OnesLike(wrong), math.Inf(-1))
	return graph.Where(graph.GreaterThan(wrong, graph.MulScalar(graph.OnesLike(wrong), 0.5)), none, logPrior)
}

// LogJoint returns log p(x, θ | A) for the data x, parameters θ and graph A of each code, as a sum
// over nodes. codes [B,S], mask [B,D], theta [B,D] -> [B]
func (t *GraphTarget) LogJoint(codes, mask, theta *graph.Node) *graph.Node {
	node, parents := t.Codes.rows(codes)
	batch, dim := codes.Shape().Dim(0), t.mechanism.Dim()
	each := t.mechanism.LogJoint(node, parents, graph.Reshape(mask, -1, dim), graph.Reshape(theta, -1, dim))
	return graph.ReduceSum(graph.Reshape(each, batch, -1), -1)
}

// quadraticGraphs is a GraphTarget whose mechanism has quadratic approximations of log densities.
type quadraticGraphs struct {
	*GraphTarget
	quadratic quadratics
}

var _ vti.QuadraticTarget = quadraticGraphs{}

// Quadratic returns quadratic approximations of the log density given each graph: precision
// matrices with a block for each node, and linear terms. codes [B,S], mask [B,D] -> [B,D,D], [B,D]
func (t quadraticGraphs) Quadratic(codes, mask *graph.Node, dtype dtypes.DType) (precision, linear *graph.Node) {
	batch, nodes, dim := codes.Shape().Dim(0), t.Codes.Nodes(), t.mechanism.Dim()
	node, _ := t.Codes.rows(codes)
	h, b := t.quadratic.Quadratic(node, graph.Reshape(mask, -1, dim), dtype)
	blocks := graph.Reshape(graph.ConvertDType(graph.Diagonal(codes.Graph(), nodes), dtype), 1, nodes, 1, nodes, 1)
	h = graph.Mul(graph.Reshape(h, batch, nodes, dim, 1, dim), blocks)
	return graph.Reshape(h, batch, nodes*dim, nodes*dim), graph.Reshape(b, batch, nodes*dim)
}
