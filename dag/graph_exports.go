package dag

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strings"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/internal/enum"
)

// GraphFormat is a format in which other programs read graphs.
type GraphFormat int

const (
	// DOT is the format of Graphviz, and GraphML an XML format that many programs read. They hold
	// all edges whose probability is not below a limit, with their probabilities.
	DOT GraphFormat = iota
	GraphML
	// ModelString is the format of R's bnlearn, and Dagitty the format of dagitty. They hold one
	// acyclic graph.
	ModelString
	Dagitty
	// BIF is the interchange format of Bayesian networks over categories. It holds one acyclic
	// graph, with the posterior means of its tables of conditional probabilities.
	BIF
)

var graphFormats = enum.New[GraphFormat]("format of graphs", "dot", "graphml", "bnlearn", "dagitty", "bif")

// graphFiles holds the name of the file in a run directory, by format.
var graphFiles = [...]string{GraphFile, GraphMLFile, ModelStringFile, DagittyFile, BIFFile}

// These constants are the names of the graph files for other programs.
const (
	ModelStringFile = "graph.bnlearn"
	DagittyFile     = "graph.dagitty"
	GraphMLFile     = "graph.graphml"
	BIFFile         = "graph.bif"
)

// GraphFormatNames returns the names that [ParseGraphFormat] reads.
func GraphFormatNames() []string { return graphFormats.List() }

// ParseGraphFormat returns the format with the name dot, graphml, bnlearn, dagitty or bif.
func ParseGraphFormat(s string) (GraphFormat, error) { return graphFormats.Parse(s) }

// Export returns the graph of a finished run as text for other programs. The graph has all edges
// whose probability is not below the argument named least; formats other than DOT and GraphML need
// it to be acyclic. If least is 0, DOT and GraphML have the edges with a probability of at least
// 0.1, and other formats have the most probable graph. For BIF the table of the run is read again.
func (s *StoredRun) Export(format GraphFormat, least float64) (string, error) {
	if !(least >= 0 && least <= 1) {
		return "", fmt.Errorf("got %g as the least probability of an edge, want a number from 0 to 1", least)
	}
	if format != BIF { // formats other than BIF need only the names of nodes, which the result has
		return export(&score.Problem{}, s.Result, format, least)
	}
	p, _, err := s.Record.Problem()
	if err != nil {
		return "", err
	}
	return export(p, s.Result, format, least)
}

func export(p *score.Problem, r *Result, format GraphFormat, least float64) (string, error) {
	names, probabilities := r.Data.Nodes, r.Matrix()
	pictured := least
	if least == 0 {
		pictured = drawnEdge
	}
	switch format {
	case DOT:
		return dot(names, probabilities, pictured), nil
	case GraphML:
		return graphML(names, probabilities, pictured), nil
	}
	g := r.best()
	if least > 0 {
		g = dgraph.NewGraph(len(names))
		for _, e := range dgraph.OrderedPairs(len(names)) {
			g.Set(e.From, e.To, probabilities[e.From][e.To] >= least)
		}
		if cycle := g.Cycle(); cycle != nil {
			return "", fmt.Errorf("edges of probability %g and more make a cycle through %q: a format of acyclic graphs needs a larger least probability", least, names[cycle[0]])
		}
	}
	switch format {
	case ModelString:
		return modelString(names, g), nil
	case Dagitty:
		return dagitty(names, g), nil
	}
	n, err := p.Network(g)
	if err != nil {
		return "", err
	}
	return n.BIF(), nil
}

// modelString returns a graph in the notation of R's bnlearn, for instance [a][b|a:c], with every
// node after its parents. Characters in names that have a meaning in this notation become
// underscores.
func modelString(names []string, g *dgraph.Graph) string {
	names = dgraph.PlainNames(names, func(c rune) bool { return !strings.ContainsRune("[]|:", c) })
	var text strings.Builder
	order, _ := g.Order()
	for _, j := range order {
		text.WriteString("[" + names[j])
		for k, i := range g.Parents(j) {
			text.WriteString([]string{"|", ":"}[min(k, 1)] + names[i])
		}
		text.WriteString("]")
	}
	return text.String() + "\n"
}

// dagitty returns a graph in the notation of dagitty, with names in quotation marks. Quotation
// marks, backslashes and control characters in names become underscores.
func dagitty(names []string, g *dgraph.Graph) string {
	names = dgraph.PlainNames(names, func(c rune) bool { return c >= ' ' && c != '"' && c != '\\' })
	var text strings.Builder
	text.WriteString("dag {\n")
	for _, name := range names {
		text.WriteString(`"` + name + "\"\n")
	}
	for _, e := range dgraph.OrderedPairs(len(names)) {
		if g.Has(e.From, e.To) {
			fmt.Fprintf(&text, "\"%s\" -> \"%s\"\n", names[e.From], names[e.To])
		}
	}
	return text.String() + "}\n"
}

// graphML returns the graph of all edges whose probability is not below the argument named least,
// in GraphML, with the probability as an attribute of the edge.
func graphML(names []string, probabilities [][]float64, least float64) string {
	escape := func(text string) string {
		var out strings.Builder
		_ = xml.EscapeText(&out, []byte(text)) // writing to a Builder never fails
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
		if p := probabilities[e.From][e.To]; p >= least {
			fmt.Fprintf(&text, "<edge source=\"n%d\" target=\"n%d\"><data key=\"probability\">%.6g</data></edge>\n", e.From, e.To, p)
		}
	}
	return text.String() + "</graph>\n</graphml>\n"
}

func (r *Result) best() *dgraph.Graph {
	g := dgraph.NewGraph(len(r.Data.Nodes))
	if len(r.Graphs) > 0 {
		for _, e := range r.Graphs[0].Edges {
			g.Set(slices.Index(r.Data.Nodes, e[0]), slices.Index(r.Data.Nodes, e[1]), true)
		}
	}
	return g
}
