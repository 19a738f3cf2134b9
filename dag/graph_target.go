package dag

import (
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti/space"
)

// graphTarget is the posterior over codes (P, U) and the parameters of all nodes together, for linear mechanisms: what samplers work on that know nothing of families. It
// satisfies rjmcmc.Target. Coordinates are the weights w_ij of edges, by cause, and then log σ of every node where the noise is unknown; so coordinate i·N + j is in
// use where there is an edge from i to j. The prior is that over orders and edges along them.
type graphTarget struct {
	problem *Problem
	space   *graphSpace
	family  *familyTarget
}

func newGraphTarget(p *Problem) *graphTarget {
	nodes := p.Data.Nodes()
	dim := nodes * nodes
	if p.Model.Sigma == 0 {
		dim += nodes
	}
	return &graphTarget{p, &graphSpace{NewOrdered(nodes), dim}, newFamilyTarget(p)}
}

// graphSpace is the space of codes (P, U).
type graphSpace struct {
	Ordered
	dim int
}

// Dim returns the number of coordinates.
func (s *graphSpace) Dim() int { return s.dim }

// Mask returns the adjacency matrices, row by row, and log σ: codes [B,S] -> [B,D] Bool.
func (s *graphSpace) Mask(codes *graph.Node) *graph.Node {
	batch := codes.Shape().Dim(0)
	mask := graph.Reshape(s.Adjacency(codes), batch, s.nodes*s.nodes)
	if rest := s.dim - s.nodes*s.nodes; rest > 0 {
		always := graph.BroadcastToDims(graph.Const(codes.Graph(), true), batch, rest)
		mask = graph.Concatenate([]*graph.Node{mask, always}, 1)
	}
	return mask
}

// Space is that of codes (P, U).
func (t *graphTarget) Space() space.Space { return t.space }

// LogPrior is −λ edges, and −Inf for graphs that the constraints exclude. [B,S] -> [B] float64
func (t *graphTarget) LogPrior(codes *graph.Node) *graph.Node {
	g, nodes, s := codes.Graph(), t.space.nodes, t.problem.Structure
	edges := graph.ConvertDType(t.space.Adjacency(codes), dtypes.Float64) // [B, N, N]
	required, forbidden := square2(nodes), square2(nodes)
	most := float64(nodes)
	if s.MaxParents >= 0 {
		most = float64(s.MaxParents)
	}
	for _, e := range orderedPairs(nodes) {
		required[e.from][e.to] = indicator(s.Required[e.to].Has(e.from))
		forbidden[e.from][e.to] = indicator(!s.Allowed[e.to].Has(e.from))
	}
	table := func(values [][]float64) *graph.Node { return graph.InsertAxes(graph.Const(g, values), 0) }
	wrong := graph.ReduceSum(graph.Add(graph.Mul(edges, table(forbidden)), graph.Mul(graph.OneMinus(edges), table(required))), 1, 2)
	parents := graph.ReduceMax(graph.ReduceSum(edges, 1), -1)
	possible := graph.LogicalAnd(graph.LessThan(wrong, graph.OnesLike(wrong)), graph.LessThan(parents, graph.MulScalar(graph.OnesLike(parents), most+0.5)))
	return graph.Where(possible, graph.MulScalar(graph.ReduceSum(edges, 1, 2), -s.EdgePenalty), graph.MulScalar(graph.OnesLike(wrong), math.Inf(-1)))
}

// LogJoint is log p(x, θ | A). codes [B,S], mask [B,D], theta [B,D] -> [B]
func (t *graphTarget) LogJoint(_, mask, theta *graph.Node) *graph.Node {
	g, nodes := theta.Graph(), t.space.nodes
	batch, dtype := theta.Shape().Dim(0), theta.DType()
	theta = graph.Where(mask, theta, graph.ZerosLike(theta))
	constant := func(values []float64, dims ...int) *graph.Node {
		return graph.ConvertDType(graph.Reshape(graph.Const(g, values), dims...), dtype)
	}
	weights := graph.SliceAxis(theta, 1, graph.AxisRange(0, nodes*nodes))
	identity := make([]float64, nodes*nodes)
	for j := range nodes {
		identity[j*nodes+j] = 1
	}
	residual := graph.Reshape(graph.Sub(weights, constant(identity, 1, nodes*nodes)), batch, nodes, nodes) // [B, from, to]
	rotated := graph.Einsum("trf,bft->btr", constant(t.family.roots, nodes, nodes, nodes), residual)       // R_j (w_j − e_j)
	squares := graph.ReduceSum(graph.Square(rotated), -1)                                                  // [B, N]
	used := graph.SliceAxis(mask, 1, graph.AxisRange(0, nodes*nodes))
	sd := t.problem.Model.PriorSD
	logPrior := graph.AddScalar(graph.MulScalar(graph.Square(weights), -0.5/(sd*sd)), -math.Log(sd)-halfLog2Pi)
	sum := graph.ReduceSum(graph.Where(used, logPrior, graph.ZerosLike(weights)), -1)
	logSigma := graph.MulScalar(graph.OnesLike(squares), math.Log(math.Max(t.problem.Model.Sigma, math.SmallestNonzeroFloat64)))
	if t.problem.Model.Sigma == 0 {
		logSigma = graph.SliceAxis(theta, 1, graph.AxisRange(nodes*nodes, nodes*nodes+nodes))
		standard := graph.MulScalar(graph.Sub(logSigma, constant(t.family.logSDs, 1, nodes)), 1.0/logSigmaSD)
		own := graph.AddScalar(graph.MulScalar(graph.Square(standard), -0.5), -math.Log(logSigmaSD)-halfLog2Pi)
		sum = graph.Add(sum, graph.ReduceSum(own, -1))
	}
	logLikelihood := graph.Sub(
		graph.MulScalar(graph.Mul(squares, graph.Exp(graph.MulScalar(logSigma, -2))), -0.5),
		graph.Mul(constant(t.family.rows, 1, nodes), graph.AddScalar(logSigma, halfLog2Pi)))
	return graph.Add(sum, graph.ReduceSum(logLikelihood, -1))
}
