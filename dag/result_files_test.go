package dag

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDot(t *testing.T) {
	text := dot([]string{"a", `b "x"`, "c"}, [][]float64{{0, 0.9, 0.2}, {0, 0, 0.05}, {0, 0, 0}}, drawnEdge)
	require.Equal(t, `digraph {
  "a";
  "b \"x\"";
  "c";
  "a" -> "b \"x\"" [penwidth=3.60, label="0.90"];
  "a" -> "c" [penwidth=0.80, label="0.20", style=dashed, constraint=false];
}
`, text)
}
