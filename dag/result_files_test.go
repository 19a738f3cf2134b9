package dag

import (
	"testing"

	"github.com/stretchr/testify/require"

	dgraph "github.com/transdim/vti/dag/graph"
)

func TestDot(t *testing.T) {
	text := dot([]string{"a", `b "x"`, "c"}, [][]float64{{0, 0.9, 0.2}, {0, 0, 0.05}, {0, 0, 0}})
	require.Equal(t, `digraph {
  "a";
  "b \"x\"";
  "c";
  "a" -> "b \"x\"" [penwidth=3.60, label="0.90"];
  "a" -> "c" [penwidth=0.80, label="0.20", style=dashed, constraint=false];
}
`, text)
}

// Parents are above their children, no two nodes are at one place, and a cycle of separately
// probable edges does not hang.
func TestLayOut(t *testing.T) {
	for _, g := range []*dgraph.Graph{
		dgraph.FromEdges(5, [2]int{0, 2}, [2]int{1, 2}, [2]int{2, 3}, [2]int{0, 3}),
		dgraph.FromEdges(3, [2]int{0, 1}, [2]int{1, 2}, [2]int{2, 0}),
		dgraph.NewGraph(4),
	} {
		places, width, height := layOut(g)
		seen := map[[2]float64]bool{}
		for _, p := range places {
			require.False(t, seen[[2]float64{float64(p.X), float64(p.Y)}])
			seen[[2]float64{float64(p.X), float64(p.Y)}] = true
			require.True(t, p.X > 0 && p.X < width && p.Y > 0 && p.Y < height)
		}
		if g.Cycle() != nil {
			continue
		}
		for _, e := range dgraph.OrderedPairs(g.Nodes()) {
			if g.Has(e.From, e.To) {
				require.Greater(t, places[e.From].Y, places[e.To].Y)
			}
		}
	}
}
