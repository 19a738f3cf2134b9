package dag

import (
	"encoding/xml"
	"testing"

	"github.com/stretchr/testify/require"

	dgraph "github.com/transdim/vti/dag/graph"
)

// What other programs read: every edge once, parents before children, names that end nothing.
func TestGraphExports(t *testing.T) {
	names := []string{"a:b", `c"d`, "e<f"}
	g := dgraph.FromParents([]dgraph.Set{dgraph.SetOf(1, 2), {}, dgraph.SetOf(1)})
	require.Equal(t, "[c\"d][e<f|c\"d][a_b|c\"d:e<f]\n", modelString(names, g))
	require.Equal(t, "dag {\n\"a:b\"\n\"c'd\"\n\"e<f\"\n\"c'd\" -> \"a:b\"\n\"c'd\" -> \"e<f\"\n\"e<f\" -> \"a:b\"\n}\n", dagitty(names, g))
	var read struct {
		Graph struct {
			Nodes []struct {
				Label string `xml:"data"`
			} `xml:"node"`
			Edges []struct {
				Source      string  `xml:"source,attr"`
				Target      string  `xml:"target,attr"`
				Probability float64 `xml:"data"`
			} `xml:"edge"`
		} `xml:"graph"`
	}
	require.NoError(t, xml.Unmarshal([]byte(graphML(names, [][]float64{{0, 0.05, 0}, {0.25, 0, 0.1}, {0, 0, 0}})), &read))
	require.Len(t, read.Graph.Nodes, 3)
	require.Equal(t, "e<f", read.Graph.Nodes[2].Label)
	require.Len(t, read.Graph.Edges, 2)
	require.Equal(t, "n1", read.Graph.Edges[0].Source)
	require.Equal(t, "n0", read.Graph.Edges[0].Target)
	require.Equal(t, 0.25, read.Graph.Edges[0].Probability)
	r := &Result{Data: DataSummary{Nodes: names}, Graphs: []GraphReport{{Edges: [][2]string{{`c"d`, "a:b"}}}}}
	require.True(t, r.best().Has(1, 0))
	require.Equal(t, 1, r.best().Edges())
}
