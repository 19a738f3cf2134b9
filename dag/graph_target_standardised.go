package dag

import (
	"fmt"

	"github.com/gomlx/gomlx/pkg/core/graph"

	dgraph "github.com/transdim/vti/dag/graph"
)

// standardTarget is a graphTarget of linear mechanisms in coordinates η in which every graph has
// nearly the standard normal posterior, exactly with known noise: those of a family are θ = μ + T
// η, with μ and TTᵀ the mode and the inverse curvature of its log density. The log determinant of
// this is part of the density. A coordinate has the same meaning in every family to first order, so
// that chains which keep it when the graph changes land where the posterior is.
type standardTarget struct {
	*graphTarget
	place   []int32     // of the family of node j with the set of parents pa, at j·2^N + pa [N·2^N]
	shift   [][]float64 // μ [F][D]
	scale   [][]float64 // T by rows [F][D·D], 0 where not in use
	logDets []float64   // [F]
}

func newStandardTarget(p *Problem) (*standardTarget, error) {
	t := &standardTarget{graphTarget: newGraphTarget(p)}
	l, nodes := t.space.layout, t.space.Nodes()
	t.place = make([]int32, nodes<<nodes)
	var stats *linearStats
	for i, f := range p.Families {
		if i == 0 || p.Families[i-1].Node != f.Node {
			stats = newLinearStats(p.Data, f.Node)
		}
		t.place[f.Node<<nodes|int(f.Parents[0])] = int32(i)
		q := newQuadratic(l, stats, f, p.Model.PriorSD)
		scale, logDet, err := q.transform(l.mask(f))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.familyName(f), err)
		}
		t.shift, t.scale, t.logDets = append(t.shift, q.mode), append(t.scale, scale), append(t.logDets, logDet)
	}
	return t, nil
}

// LogJoint is log p(x, η | A). codes [B,S], mask [B,D], eta [B,D] -> [B]
func (t *standardTarget) LogJoint(codes, mask, eta *graph.Node) *graph.Node {
	g, nodes, dim, batch, dtype := codes.Graph(), t.space.Nodes(), t.space.layout.dim(), eta.Shape().Dim(0), eta.DType()
	// The families of each graph: j·2^N + Σ_i A_ij 2^i.
	weights := make([][]int32, nodes)
	start := make([]int32, nodes)
	for j := range nodes {
		weights[j] = []int32{1 << j}
		start[j] = int32(j) << nodes
	}
	edges := graph.ConvertDType(t.space.Adjacency(codes), codes.DType())
	key := graph.Add(graph.ReduceSum(graph.Mul(edges, graph.InsertAxes(graph.Const(g, weights), 0)), 1), graph.Const(g, [][]int32{start}))
	// [B·N, 1]
	family := graph.InsertAxes(graph.Gather(graph.Const(g, t.place), graph.InsertAxes(graph.Reshape(key, batch*nodes), -1)), -1)
	take := func(table any) *graph.Node {
		return graph.ConvertDType(graph.Gather(graph.Const(g, table), family), dtype)
	}
	scale := graph.Reshape(take(t.scale), batch*nodes, dim, dim)
	eta = graph.Where(mask, eta, graph.ZerosLike(eta))
	theta := graph.Add(take(t.shift), graph.Einsum("bkl,bl->bk", scale, graph.Reshape(eta, batch*nodes, dim)))
	logDet := graph.ReduceSum(graph.Reshape(take(t.logDets), batch, nodes), -1)
	return graph.Add(t.graphTarget.LogJoint(codes, mask, graph.Reshape(theta, batch, nodes*dim)), logDet)
}

// parameters are θ of all nodes of a graph, zero where not in use.
func (t *standardTarget) parameters(parents []dgraph.Set, eta []float64) []float64 {
	dim := t.space.layout.dim()
	theta := make([]float64, len(eta))
	for j, set := range parents {
		family := t.place[j<<t.space.Nodes()|int(set[0])]
		own := eta[j*dim : (j+1)*dim]
		for k, on := range t.space.layout.mask(dgraph.Family{Node: j, Parents: set}) {
			if on {
				value := t.shift[family][k]
				for m, x := range own {
					value += t.scale[family][k*dim+m] * x
				}
				theta[j*dim+k] = value
			}
		}
	}
	return theta
}
