package graph

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/space"
)

// TestLogMass compares the sum of prior weights, computed by layers of nodes, with a loop over all
// graphs, and for the uniform prior with the number of graphs.
func TestLogMass(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 3))
	for nodes := 2; nodes <= 6; nodes++ {
		for most := -1; most < nodes; most++ {
			for _, orders := range []bool{false, true} {
				s := FreeStructure(nodes)
				s.MaxParents, s.Orders = most, orders
				if most%2 == 0 {
					for range nodes {
						s.Prior.BySize = append(s.Prior.BySize, random.NormFloat64())
					}
				}
				families := s.Families()
				sum := s.Sum(families, make([]float64, len(families)), func(int, int) bool { return true })
				require.InDelta(t, sum.LogTotal(), s.LogMass(), 1e-9, "%d nodes, %d parents", nodes, most)
			}
		}
	}
	require.InDelta(t, math.Log(countGraphs(8)), FreeStructure(8).LogMass(), 1e-9)
	// the weights of 50 nodes are too large for a float64; their log is Σ_k k log 2 + log 50!
	many := FreeStructure(50)
	many.Orders = true
	factorial, _ := math.Lgamma(51)
	require.InDelta(t, 50*49/2*math.Ln2+factorial, many.LogMass(), 1e-8)
	wide := FreeStructure(12)
	wide.Allowed[1] = wide.Allowed[1].Without(0)
	require.True(t, math.IsNaN(wide.LogMass()))
	few := FreeStructure(4)
	few.Allowed[1], few.Required[2] = few.Allowed[1].Without(0), SetOf(3)
	families := few.Families()
	require.InDelta(t, few.Sum(families, make([]float64, len(families)), func(int, int) bool { return true }).LogTotal(), few.LogMass(), 1e-12)
}

// The probabilities of the orders that a random topological sort of a graph gives add up to one.
func TestLogSorted(t *testing.T) {
	backend := testkit.Backend(t)
	for nodes := 2; nodes <= 4; nodes++ {
		o := NewOrdered(nodes)
		var codes [][]int32
		for _, code := range space.All(o.Cards()) {
			codes = append(codes, append([]int32(nil), code...))
		}
		output, err := graph.ExecOnce(backend, func(codes *graph.Node) *graph.Node {
			return LogSorted(o.Adjacency(codes), o.Positions(codes))
		}, codes)
		require.NoError(t, err)
		byGraph := map[string]float64{}
		for b, logShare := range output.Value().([]float64) {
			g, err := o.Graph(codes[b])
			require.NoError(t, err)
			byGraph[g.Key()] += math.Exp(logShare)
		}
		require.Len(t, byGraph, int(countGraphs(nodes)))
		for key, sum := range byGraph {
			require.InDelta(t, 1, sum, 1e-6, key)
		}
	}
}
