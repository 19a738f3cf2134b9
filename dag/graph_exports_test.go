package dag

import (
	"encoding/xml"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/dag/effects"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/query"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/lab/dagtest"
	"github.com/transdim/vti/run"
	"github.com/transdim/vti/table"
)

// Exported graphs have every edge once and parents before children. Characters in names that would
// end a name in the format are replaced or escaped.
func TestGraphExports(t *testing.T) {
	names := []string{"a:b", `c"d`, "e<f"}
	g := dgraph.FromParents([]dgraph.Set{dgraph.SetOf(1, 2), {}, dgraph.SetOf(1)})
	require.Equal(t, "[c\"d][e<f|c\"d][a_b|c\"d:e<f]\n", modelString(names, g))
	require.Equal(t, "dag {\n\"a:b\"\n\"c_d\"\n\"e<f\"\n\"c_d\" -> \"a:b\"\n\"c_d\" -> \"e<f\"\n\"e<f\" -> \"a:b\"\n}\n", dagitty(names, g))
	require.Equal(t, "[a_b][a_b_][c|a_b:a_b_]\n", modelString([]string{"a|b", "a:b", "c"}, dgraph.FromParents([]dgraph.Set{{}, {}, dgraph.SetOf(0, 1)})))
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
	require.NoError(t, xml.Unmarshal([]byte(graphML(names, [][]float64{{0, 0.05, 0}, {0.25, 0, 0.1}, {0, 0, 0}}, 0.1)), &read))
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

// The BIF file of a run holds the most probable graph. Its tables of probabilities are posterior
// means, which agree with counts of the rows. DOT and GraphML have fewer edges with a higher limit
// on their probability. A format for acyclic graphs is refused if the edges make a cycle.
func TestExportsOfARun(t *testing.T) {
	p, err := score.NewProblem(dagtest.Categories(t, dagtest.Random(9), 60, true), score.ModelOptions{}, tables.Constraints{})
	require.NoError(t, err)
	dir := t.TempDir()
	r, err := RunExact(t.Context(), p, ExactConfig{Dir: dir})
	require.NoError(t, err)
	n, err := dgraph.ReadBIF(filepath.Join(dir, BIFFile))
	require.NoError(t, err)
	require.NoError(t, n.Validate())
	require.True(t, n.Graph.Equal(r.best()))
	probabilities, codes := dagtest.Joint(p.Data, r.best().ParentSets(), nil)
	for k, want := range probabilities {
		got := 1.0
		for j, level := range codes[k] {
			got *= n.Tables[j][n.Row(j, codes[k])][level]
		}
		require.InDelta(t, want, got, 1e-12)
	}
	text, err := export(p, r, ModelString, 1)
	require.NoError(t, err)
	require.Equal(t, "[a][b][c][d]\n", text)
	for _, format := range []GraphFormat{DOT, GraphML} {
		text, err = export(p, r, format, 1e-9)
		require.NoError(t, err)
		few, err := export(p, r, format, 0.5)
		require.NoError(t, err)
		require.Greater(t, len(text), len(few))
	}
	parsed, err := ParseGraphFormat("graphml")
	require.NoError(t, err)
	require.Equal(t, GraphML, parsed)
	_, err = export(p, r, Dagitty, 1e-9)
	require.ErrorContains(t, err, "make a cycle")
	_, err = (&StoredRun{run.Stored[Record, Result]{Result: r}}).Export(DOT, 2)
	require.ErrorContains(t, err, "got 2 as the least probability")
	_, err = ParseGraphFormat("gml")
	require.ErrorContains(t, err, `unknown format of graphs "gml"`)
}

// A run whose table of conditional probabilities is too large for a file lacks only this file and
// answers to queries of the node with the table.
func TestRunWithoutATableOfProbabilities(t *testing.T) {
	var text strings.Builder
	text.WriteString("a,b,c,d\n")
	for row := range 170 {
		fmt.Fprintf(&text, "a%d,b%d,c%d,d%d\n", row%170, row*3%170, row*7%170, row%2)
	}
	parsed, err := table.Parse("levels.csv", []byte(text.String()))
	require.NoError(t, err)
	d, err := tables.NewData(parsed, tables.DataOptions{})
	require.NoError(t, err)
	p, err := score.NewProblem(d, score.ModelOptions{}, tables.Constraints{Require: []string{"a->d", "b->d", "c->d"}, Exogenous: []string{"a", "b", "c"}})
	require.NoError(t, err)
	dir := t.TempDir()
	r, err := RunExact(t.Context(), p, ExactConfig{Dir: dir})
	require.NoError(t, err)
	require.Equal(t, []string{`no graph.bif: in the most probable graph node "d": with its parents it has more than 4194304 combinations of values; fewer parents (--max-parents) or levels leave a table`}, r.Notes)
	require.NoFileExists(t, filepath.Join(dir, BIFFile))
	require.FileExists(t, filepath.Join(dir, ModelStringFile))
	askQuery := func(text string) error {
		draws, err := effects.ReadDraws(p, dir)
		require.NoError(t, err)
		_, err = query.Ask(p, t.Context(), text, draws.Each(100), 20, dagtest.Random(3))
		return err
	}
	require.ErrorContains(t, askQuery("P(d)"), `the table of probabilities of node "d", which is missing`)
	require.ErrorContains(t, askQuery("P(a | d=d0)"), `node "d"`)
	require.NoError(t, askQuery("P(a)"))
}
