package dag

import (
	"testing"

	"github.com/stretchr/testify/require"
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
	for _, g := range []*Graph{
		edges(5, [2]int{0, 2}, [2]int{1, 2}, [2]int{2, 3}, [2]int{0, 3}),
		edges(3, [2]int{0, 1}, [2]int{1, 2}, [2]int{2, 0}),
		NewGraph(4),
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
		for _, e := range orderedPairs(g.nodes) {
			if g.Has(e.from, e.to) {
				require.Greater(t, places[e.from].Y, places[e.to].Y)
			}
		}
	}
}
