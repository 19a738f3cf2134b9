package score

import (
	"flag"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/table"
)

// bnlearnFolder is the folder with the output of benchmarks/scores_bnlearn.R. The folder in
// testdata has eight seeds (9 to 16), computed by bnlearn 4.8.3 and BiDAG 2.1.4.
var bnlearnFolder = flag.String("bnlearn", "testdata/bnlearn", "`folder` of benchmarks/scores_bnlearn.R")

// Log evidences of nodes given their parents equal the scores of bnlearn, and sums over the nodes
// of a graph equal the scores of BiDAG.
func TestScoresAgainstBnlearn(t *testing.T) {
	t.Parallel()
	read := func(name string) *table.Table {
		text, err := os.ReadFile(filepath.Join(*bnlearnFolder, name))
		require.NoError(t, err)
		parsed, err := table.Parse(name, text)
		require.NoError(t, err)
		return parsed
	}
	text, err := os.ReadFile(filepath.Join(*bnlearnFolder, "scores.csv"))
	require.NoError(t, err)
	forms := map[string][]Form{}
	data := map[string]*tables.Data{}
	type summary struct {
		families, graphs int
		worst            float64
	}
	found := map[string]*summary{}
	sums := map[string]float64{} // sums of scores by graph
	asked := map[string]float64{}
	for number, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		cells := strings.Split(line, ",") // columns: table, graph, iss, node, parents, bnlearn, bidag_graph
		require.Len(t, cells, 7, "line %d", number+2)
		value := func(cell string) float64 {
			x, err := strconv.ParseFloat(cell, 64)
			require.NoError(t, err, "line %d", number+2)
			return x
		}
		name := cells[0]
		if forms[name] == nil {
			options := tables.DataOptions{Intervened: "INT", Scaling: tables.Unscaled}
			if strings.HasPrefix(name, "bge") {
				options.Continuous = []string{tables.EveryNode}
			}
			d, err := tables.NewData(read(name), options)
			require.NoError(t, err, name)
			model := ModelOptions{}
			if d.Discrete() {
				model.ImaginarySampleSize = value(cells[2])
			}
			p, err := NewProblem(d, model, tables.Constraints{})
			require.NoError(t, err, name)
			forms[name], data[name] = p.Forms(), d
		}
		kind := strings.Split(name, "-")[0]
		if data[name].Counted != nil {
			kind += " with interventions"
		}
		if found[kind] == nil {
			found[kind] = &summary{}
		}
		node, err := data[name].Node(cells[3])
		require.NoError(t, err)
		var parents dgraph.Set
		for _, parent := range strings.FieldsFunc(cells[4], func(r rune) bool { return r == ';' }) {
			i, err := data[name].Node(parent)
			require.NoError(t, err)
			parents = parents.With(i)
		}
		score := forms[name][node].LogEvidence(parents)
		s := found[kind]
		s.families++
		s.worst = max(s.worst, math.Abs(score-value(cells[5])))
		require.InDelta(t, value(cells[5]), score, 1e-8, line)
		if cells[6] != "NA" {
			graph := name + cells[1]
			if _, begun := sums[graph]; !begun {
				s.graphs++
			}
			sums[graph] += score
			asked[graph] = value(cells[6])
		}
	}
	var worst float64
	for graph, sum := range sums {
		worst = max(worst, math.Abs(sum-asked[graph]))
		require.InDelta(t, asked[graph], sum, 1e-8, graph)
	}
	for kind, s := range found {
		require.NotZero(t, s.families)
		t.Logf("%s: %d families, largest difference %.1e; %d graphs by BiDAG", kind, s.families, s.worst, s.graphs)
	}
	require.Len(t, found, 4, "BGe and BDeu, each with and without interventions")
	t.Logf("graphs by BiDAG: largest difference %.1e", worst)
}
