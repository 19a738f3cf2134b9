package dag

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strings"

	dgraph "github.com/transdim/vti/dag/graph"
)

// Names of the files in which other programs read the graphs of an answer.
const (
	ModelStringFile = "graph.bnlearn"
	DagittyFile     = "graph.dagitty"
	GraphMLFile     = "graph.graphml"
)

// modelString writes a graph as R's bnlearn reads it: [a][b|a:c]. Nodes come after their parents.
// Characters that end a name there become underscores.
func modelString(names []string, g *dgraph.Graph) string {
	clean := strings.NewReplacer("[", "_", "]", "_", "|", "_", ":", "_")
	var text strings.Builder
	order, _ := g.Order()
	for _, j := range order {
		text.WriteString("[" + clean.Replace(names[j]))
		for k, i := range g.Parents(j) {
			text.WriteString([]string{"|", ":"}[min(k, 1)] + clean.Replace(names[i]))
		}
		text.WriteString("]")
	}
	return text.String() + "\n"
}

// dagitty writes a graph as dagitty reads it.
func dagitty(names []string, g *dgraph.Graph) string {
	quote := func(name string) string { return `"` + strings.ReplaceAll(name, `"`, `'`) + `"` }
	var text strings.Builder
	text.WriteString("dag {\n")
	for _, name := range names {
		text.WriteString(quote(name) + "\n")
	}
	for _, e := range dgraph.OrderedPairs(len(names)) {
		if g.Has(e.From, e.To) {
			text.WriteString(quote(names[e.From]) + " -> " + quote(names[e.To]) + "\n")
		}
	}
	return text.String() + "}\n"
}

// graphML writes all edges of some probability, which is an attribute of them.
func graphML(names []string, probabilities [][]float64) string {
	escape := func(text string) string {
		var out strings.Builder
		_ = xml.EscapeText(&out, []byte(text)) // a Builder takes everything
		return out.String()
	}
	var text strings.Builder
	text.WriteString(xml.Header + `<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="label" for="node" attr.name="label" attr.type="string"/>
<key id="probability" for="edge" attr.name="probability" attr.type="double"/>
<graph id="posterior" edgedefault="directed">
`)
	for j, name := range names {
		fmt.Fprintf(&text, "<node id=\"n%d\"><data key=\"label\">%s</data></node>\n", j, escape(name))
	}
	for _, e := range dgraph.OrderedPairs(len(names)) {
		if p := probabilities[e.From][e.To]; p >= drawnEdge {
			fmt.Fprintf(&text, "<edge source=\"n%d\" target=\"n%d\"><data key=\"probability\">%.6g</data></edge>\n", e.From, e.To, p)
		}
	}
	return text.String() + "</graph>\n</graphml>\n"
}

// best is the most probable graph of an answer.
func (r *Result) best() *dgraph.Graph {
	g := dgraph.NewGraph(len(r.Data.Nodes))
	if len(r.Graphs) > 0 {
		for _, e := range r.Graphs[0].Edges {
			g.Set(slices.Index(r.Data.Nodes, e[0]), slices.Index(r.Data.Nodes, e[1]), true)
		}
	}
	return g
}
