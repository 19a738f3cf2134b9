package flows

import (
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/space"
)

// GraphTarget is the posterior over codes (P, U) and the parameters of all nodes together: what
// samplers work on that do not use families. It satisfies vti.Target. The coordinates are those of
// each node in turn, as the layout has them for a family.
type GraphTarget struct {
	problem *score.Problem
	Codes   *graphSpace
	family  *Target
	logMass float64 // of the prior before it is normalised
}

func NewGraphTarget(p *score.Problem) *GraphTarget {
	none := make([]float64, len(p.Families))
	sp := &graphSpace{Ordered: dgraph.NewOrdered(p.Data.Nodes()), Layout: p.Layout()}
	return &GraphTarget{p, sp, NewTarget(p), p.Structure.Sum(p.Families, none, func(int, int) bool { return true }).LogTotal()}
}

// Lenient is the same for chains, which change a site at a time: the bits of edges that the
// structure requires or forbids say nothing, so that the order can change without them, and all
// their values share the probability of the rest.
func (t *GraphTarget) Lenient() *GraphTarget {
	sp, out := *t.Codes, *t
	sp.lenient, out.Codes = &t.problem.Structure, &sp
	return &out
}

// graphSpace is the space of codes (P, U).
type graphSpace struct {
	dgraph.Ordered
	Layout sem.Layout
	// whose required edges are there along the order, and whose forbidden ones are not, whatever
	// the bits; nil: bits decide
	lenient *dgraph.Structure
}

// Adjacency decodes codes [B,S] int32 to adjacency matrices [B,N,N] Bool.
func (s *graphSpace) Adjacency(codes *graph.Node) *graph.Node {
	adjacency := s.Ordered.Adjacency(codes)
	if s.lenient == nil {
		return adjacency
	}
	g := codes.Graph()
	adjacency = graph.LogicalAnd(adjacency, graph.InsertAxes(graph.Const(g, dgraph.EdgeTable(s.lenient.Allowed)), 0))
	return graph.LogicalOr(adjacency, graph.LogicalAnd(s.along(codes), graph.InsertAxes(graph.Const(g, dgraph.EdgeTable(s.lenient.Required)), 0)))
}

// along has all edges along the orders of codes: [B,S] -> [B,N,N] Bool.
func (s *graphSpace) along(codes *graph.Node) *graph.Node {
	digits := graph.SliceAxis(codes, 1, graph.AxisRange(0, s.Nodes()-1))
	bits := graph.OnesLike(graph.SliceAxis(codes, 1, graph.AxisRange(s.Nodes()-1)))
	return s.Ordered.Adjacency(graph.Concatenate([]*graph.Node{digits, bits}, 1))
}

// Graph decodes a code.
func (s *graphSpace) Graph(code []int32) (*dgraph.Graph, error) {
	g, err := s.Ordered.Graph(code)
	if err != nil || s.lenient == nil {
		return g, err
	}
	for _, e := range dgraph.OrderedPairs(s.Nodes()) {
		// along the order, or the code has no probability
		required := s.lenient.Required[e.To].Has(e.From)
		g.Set(e.From, e.To, required || g.Has(e.From, e.To) && s.lenient.Allowed[e.To].Has(e.From))
	}
	return g, nil
}

var _ space.Featurer = (*graphSpace)(nil)

// Dim returns the number of coordinates.
func (s *graphSpace) Dim() int { return s.Nodes() * s.Layout.Dim() }

// Mask returns the coordinates that the families of each graph use: codes [B,S] -> [B,D] Bool.
func (s *graphSpace) Mask(codes *graph.Node) *graph.Node {
	l, batch := s.Layout, codes.Shape().Dim(0)
	parents := graph.Transpose(s.Adjacency(codes), 1, 2) // [B, node, parent]
	parts := []*graph.Node{parents}
	if l.Mechanism == sem.MLP {
		parts[0] = graph.Reshape(graph.BroadcastToDims(graph.InsertAxes(parents, -1), batch, s.Nodes(), s.Nodes(), l.Hidden), batch, s.Nodes(), s.Nodes()*l.Hidden)
		parts = append(parts, graph.BroadcastToDims(graph.InsertAxes(graph.ReduceLogicalOr(parents, -1), -1), batch, s.Nodes(), l.Weights()-s.Nodes()*l.Hidden))
	}
	if l.Sigma == 0 {
		parts = append(parts, graph.BroadcastToDims(graph.Const(codes.Graph(), true), batch, s.Nodes(), 1))
	}
	return graph.Reshape(graph.Concatenate(parts, 2), batch, s.Dim())
}

// FeatureDim returns N².
func (s *graphSpace) FeatureDim() int { return s.Nodes() * s.Nodes() }

// Features returns the adjacency matrices, row by row: codes [B,S] int32 -> [B,N²].
func (s *graphSpace) Features(codes *graph.Node, dtype dtypes.DType) *graph.Node {
	return graph.ConvertDType(graph.Reshape(s.Adjacency(codes), codes.Shape().Dim(0), s.FeatureDim()), dtype)
}

// Space is that of codes (P, U).
func (t *GraphTarget) Space() space.Space { return t.Codes }

// LogPrior is the weight of the graph before the data, normalised over the codes, and −Inf for
// graphs that the constraints exclude. Where the prior is that over graphs, the codes of a graph
// share its probability. [B,S] -> [B] float64
func (t *GraphTarget) LogPrior(codes *graph.Node) *graph.Node {
	g, nodes, s := codes.Graph(), t.Codes.Nodes(), t.problem.Structure
	adjacency := t.Codes.Adjacency(codes)
	edges := graph.ConvertDType(adjacency, dtypes.Float64) // [B, N, N]
	most := float64(nodes)
	if s.MaxParents >= 0 {
		most = float64(s.MaxParents)
	}
	table := func(sets []dgraph.Set) *graph.Node {
		return graph.InsertAxes(graph.ConvertDType(graph.Const(g, dgraph.EdgeTable(sets)), dtypes.Float64), 0)
	}
	allowed, required := table(s.Allowed), table(s.Required)
	wrong := graph.ReduceSum(graph.Add(graph.Mul(edges, graph.OneMinus(allowed)), graph.Mul(graph.OneMinus(edges), required)), 1, 2)
	sizes := graph.ReduceSum(edges, 1) // [B, N]
	parents := graph.ReduceMax(sizes, -1)
	possible := graph.LogicalAnd(graph.LessThan(wrong, graph.OnesLike(wrong)), graph.LessThan(parents, graph.MulScalar(graph.OnesLike(parents), most+0.5)))
	logPrior := graph.AddScalar(graph.ZerosLike(parents), -t.logMass)
	if s.Prior.BySize != nil {
		index := graph.Reshape(graph.ConvertDType(sizes, dtypes.Int32), -1, 1)
		weights := graph.Reshape(graph.Gather(graph.Const(g, s.Prior.BySize), index), -1, nodes)
		logPrior = graph.Add(logPrior, graph.ReduceSum(weights, -1))
	}
	if s.Prior.ByEdge != nil {
		logPrior = graph.Add(logPrior, graph.ReduceSum(graph.Mul(edges, graph.InsertAxes(graph.Const(g, s.Prior.ByEdge), 0)), 1, 2))
	}
	if !s.Orders {
		logPrior = graph.Sub(logPrior, graph.Log(dgraph.CountOrders(adjacency)))
	}
	if t.Codes.lenient != nil {
		// the diagonal is never along an order
		decided := graph.Add(graph.OneMinus(allowed), required)
		mute := graph.ReduceSum(graph.Mul(graph.ConvertDType(t.Codes.along(codes), dtypes.Float64), decided), 1, 2)
		logPrior = graph.Sub(logPrior, graph.MulScalar(mute, math.Ln2))
	}
	return graph.Where(possible, logPrior, graph.MulScalar(graph.OnesLike(wrong), math.Inf(-1)))
}

// LogJoint is log p(x, θ | A), the sum over nodes. codes [B,S], mask [B,D], theta [B,D] -> [B]
func (t *GraphTarget) LogJoint(_, mask, theta *graph.Node) *graph.Node {
	nodes, dim, batch := t.Codes.Nodes(), t.Codes.Layout.Dim(), theta.Shape().Dim(0)
	node := graph.Reshape(graph.Iota(theta.Graph(), shapes.Make(dtypes.Int32, batch, nodes), 1), batch*nodes)
	each := t.family.logJointOfNode(node, graph.Reshape(mask, batch*nodes, dim), graph.Reshape(theta, batch*nodes, dim))
	return graph.ReduceSum(graph.Reshape(each, batch, nodes), -1)
}

// Gather is the draws of chains.
func (t *GraphTarget) Gather(chains *rjmcmc.Result) (d score.Sample, err error) {
	dim := t.Codes.Layout.Dim()
	for k := range chains.Draws() {
		g, err := t.Codes.Graph(chains.Codes(k))
		if err != nil {
			return d, err
		}
		thetas := make([][]float64, t.Codes.Nodes())
		for j := range thetas {
			thetas[j] = chains.Theta(k)[j*dim : (j+1)*dim]
		}
		d.Parents, d.Thetas = append(d.Parents, g.ParentSets()), append(d.Thetas, thetas)
		d.Chain = append(d.Chain, int32(k%chains.Chains+1))
	}
	return d, nil
}
