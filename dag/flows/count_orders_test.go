package flows

import (
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/internal/testkit"
	"github.com/transdim/vti/space"
)

// Inside a graph function topological orders are counted as outside: all graphs of up to four
// nodes, and random ones of more.
func TestCountOrders(t *testing.T) {
	backend := testkit.Backend(t)
	random := rand.New(rand.NewPCG(3, 5))
	for nodes := 2; nodes <= 7; nodes++ {
		o := dgraph.NewOrdered(nodes)
		var codes [][]int32
		if nodes <= 4 {
			for _, code := range space.All(o.Cards()) {
				codes = append(codes, append([]int32(nil), code...))
			}
		} else {
			for range 50 {
				code := make([]int32, len(o.Cards()))
				dense := random.Float64()
				for site, card := range o.Cards() {
					if code[site] = random.Int32N(int32(card)); card == 2 {
						code[site] = int32(score.Indicator(random.Float64() < dense))
					}
				}
				codes = append(codes, code)
			}
		}
		output, err := graph.ExecOnce(backend, func(codes *graph.Node) *graph.Node { return dgraph.CountOrders(o.Adjacency(codes)) }, codes)
		require.NoError(t, err)
		for b, count := range output.Value().([]float64) {
			g, err := o.Graph(codes[b])
			require.NoError(t, err)
			require.Equal(t, g.Orders(), count, "%v", codes[b])
		}
	}
	_, err := graph.ExecOnce(backend, func(codes *graph.Node) *graph.Node { return dgraph.CountOrders(dgraph.NewOrdered(11).Adjacency(codes)) }, [][]int32{make([]int32, 10+55)})
	require.ErrorContains(t, err, "at most 10")
}

// keyGraph is the graph over three nodes with a key.
func keyGraph(key string) *dgraph.Graph {
	g := dgraph.NewGraph(3)
	for k, c := range key {
		if c == '1' {
			g.Set(k/3, k%3, true)
		}
	}
	return g
}
