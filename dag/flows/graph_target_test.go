package flows

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/space"
)

// The joint density of a graph is the product over its nodes given their parents, and the mask of
// parameters joins the masks of the nodes. The prior over codes sums to one. The prior of a graph,
// summed over its codes, depends only on its number of edges with the prior over graphs. With the
// prior over orders it is also proportional to the number of topological orders of the graph.
func TestGraphTargetAgainstFamilies(t *testing.T) {
	backend := testkit.Backend(t)
	random := rand.New(rand.NewPCG(1, 2))
	for name, free := range problems(t) {
		model := free.Model
		model.EdgePenalty, model.Orders = 0.3, free.Data.Counted != nil
		if model.Orders {
			model.EdgePenalty, model.EdgePrior = 0, &score.EdgePrior{Nodes: free.Data.Names, Probabilities: slices.Repeat([][]float64{slices.Repeat([]float64{1 / (1 + math.Exp(0.3))}, free.Data.Nodes())}, free.Data.Nodes())}
		}
		p, err := score.NewProblem(free.Data, model, tables.Constraints{Require: []string{"a->c"}, Forbid: []string{"c->a"}, MaxParents: 1})
		require.NoError(t, err)
		target := NewGraphTarget(p.Structure, MechanismOf(p))
		l := p.Layout()
		dim := target.Codes.Dim()
		var codes [][]int32
		var thetas [][]float64
		for _, code := range space.All(target.Codes.Cards()) {
			theta := make([]float64, dim)
			for k := range theta {
				theta[k] = random.NormFloat64()
			}
			codes, thetas = append(codes, append([]int32(nil), code...)), append(thetas, theta)
		}
		outputs, err := graph.MustNewExec(backend, func(codes, theta *graph.Node) (*graph.Node, *graph.Node, *graph.Node) {
			mask := target.Codes.Mask(codes)
			return target.LogPrior(codes), target.LogJoint(codes, mask, theta), mask
		}).Exec(codes, thetas)
		require.NoError(t, err, name)
		priors, values, masks := outputs[0].Value().([]float64), outputs[1].Value().([]float64), outputs[2].Value().([][]bool)
		total := 0.0
		byGraph := map[string]float64{}
		edges, orders := map[string]int{}, map[string]float64{}
		for b, code := range codes {
			g, err := target.Codes.Graph(code)
			require.NoError(t, err)
			var want float64
			possible := g.Has(0, 2) && !g.Has(2, 0)
			for j, parents := range g.ParentSets() {
				want += naiveLogJoint(p, dgraph.Family{Node: j, Parents: parents}, thetas[b][j*l.Dim():(j+1)*l.Dim()])
				require.Equal(t, l.Mask(dgraph.Family{Node: j, Parents: parents}), masks[b][j*l.Dim():(j+1)*l.Dim()], name)
				possible = possible && parents.Len() <= 1
			}
			require.InDelta(t, want, values[b], 1e-8*(1+math.Abs(want)), name)
			require.Equal(t, possible, !math.IsInf(priors[b], -1), name)
			total += math.Exp(priors[b])
			if possible {
				byGraph[g.Key()] += math.Exp(priors[b])
				edges[g.Key()], orders[g.Key()] = g.Edges(), 1
				if model.Orders {
					orders[g.Key()] = g.Orders()
				}
			}
		}
		require.InDelta(t, 1, total, 1e-10, name)

		// graphs keep their probabilities if the bits of required and forbidden edges are ignored
		lenient := target.Lenient()
		output, err := graph.ExecOnce(backend, lenient.LogPrior, codes)
		require.NoError(t, err)
		adjacency, err := graph.ExecOnce(backend, lenient.Codes.Adjacency, codes)
		require.NoError(t, err)
		shares := map[string]float64{}
		for b, logPrior := range output.Value().([]float64) {
			g, err := lenient.Codes.Graph(codes[b])
			require.NoError(t, err)
			if math.IsInf(logPrior, -1) {
				continue
			}
			shares[g.Key()] += math.Exp(logPrior)
			for _, e := range dgraph.OrderedPairs(3) {
				require.Equal(t, g.Has(e.From, e.To), adjacency.Value().([][][]bool)[b][e.From][e.To])
			}
		}
		require.Len(t, shares, len(byGraph))
		for key, share := range byGraph {
			require.InDelta(t, share, shares[key], 1e-10, name)
		}
		for key, a := range byGraph {
			for other, b := range byGraph {
				ratio := math.Log(a/b) - math.Log(orders[key]/orders[other])
				require.InDelta(t, -0.3*float64(edges[key]-edges[other]), ratio, 1e-9, name)
			}
		}
	}
}
