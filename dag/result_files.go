package dag

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/transdim/vti/dag/effects"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/rank"
	"github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/run"
)

// These constants are the names of files of an answer in a run directory.
const (
	EdgesFile   = "edges.csv"
	MatrixFile  = "adjacency.csv"
	GraphFile   = "graph.dot"
	EffectsFile = "effects.csv"
)

// Files returns the names of the files that only runs over graphs write.
func Files() []string {
	return []string{
		EdgesFile, MatrixFile, "graphs.csv", "classes.csv", "parameters.csv", EffectsFile, "checks.csv",
		GraphFile, ModelStringFile, DagittyFile, GraphMLFile, BIFFile, effects.DrawsFile,
	}
}

// write writes an answer to the run directory dir as JSON, tables and exported graphs. It does
// nothing if dir is empty.
func write(p *score.Problem, r *Result, dir string) error {
	if dir == "" {
		return nil
	}
	graphs, err := graphTexts(p, r)
	if err != nil {
		return err
	}
	if err := run.WriteAnswer(dir, r, map[string][][]string{
		EdgesFile: report.Rows(r.Edges, "from", "to", "prob", "prob_se", "prob_reverse", "prob_reverse_se", "prob_none",
			"class_forward", "class_reverse", "class_undirected"),
		MatrixFile: r.matrixRows(), EffectsFile: r.effectRows(),
		"graphs.csv": append([][]string{{"prob", "se", "edges"}}, apply.To(r.Graphs, func(g GraphReport) []string {
			return []string{g.Prob.Text(), g.SE.Text(), arrows(g.Edges, "->")}
		})...),
		"classes.csv": append([][]string{{"prob", "se", "directed", "undirected"}}, apply.To(r.Classes, func(c ClassReport) []string {
			return []string{c.Prob.Text(), c.SE.Text(), arrows(c.Directed, "->"), arrows(c.Undirected, "--")}
		})...),
		"parameters.csv": report.Rows(r.Parameters, "from", "to", "prob", "mean", "mean_se", "sd", "q025", "q975"),
		"checks.csv":     report.Rows(r.Checks, "node", "spread", "skewness", "kurtosis"),
	}); err != nil {
		return err
	}
	for format, name := range graphFiles {
		if graphs[format] == "" {
			continue
		}
		if err := atomicfile.Write(filepath.Join(dir, name), func(w io.Writer) error {
			_, err := io.WriteString(w, graphs[format])
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// graphTexts returns the graph of the answer as text in every format. The text is empty where the
// format cannot hold the graph. If a table is too large for BIF, the result gets a note.
func graphTexts(p *score.Problem, r *Result) ([]string, error) {
	texts := make([]string, len(graphFiles))
	for format := range graphFiles {
		if GraphFormat(format) == BIF && (p.Model.Mechanism != sem.Categorical || p.Data.Missing != nil) {
			continue
		}
		text, err := export(p, r, GraphFormat(format), 0)
		if errors.Is(err, score.ErrTooManyCells) {
			r.Notes = append(r.Notes, fmt.Sprintf("no %s: in the most probable graph %v; fewer parents (--max-parents) or levels leave a table", BIFFile, err))
			continue
		}
		if err != nil {
			return nil, err
		}
		texts[format] = text
	}
	return texts, nil
}

// effectRows returns the total causal effects as rows of a table. An effect between two numbers has
// one row. An effect on or of a category has one row for each change of the cause and each level of
// the affected node.
func (r *Result) effectRows() [][]string {
	rows := [][]string{{"from", "to", "prob", "prob_se", "prob_none", "mean", "mean_se", "sd", "q05", "q95", "from_value", "reference", "to_value"}}
	for _, e := range r.Effects {
		changes := e.Changes
		if changes == nil {
			changes = []effects.Change{{Size: e.Size}}
		}
		for _, c := range changes {
			numbers := apply.To([]Number{e.Prob, e.ProbSE, e.ProbNone, c.Mean, c.MeanSE, c.SD, c.Q05, c.Q95}, Number.Text)
			rows = append(rows, slices.Concat([]string{e.From, e.To}, numbers, []string{c.From, c.Reference, c.To}))
		}
	}
	return rows
}

// matrixRows returns the probabilities of all edges as a table with a row for each cause and a
// column for each effect.
func (r *Result) matrixRows() [][]string {
	probabilities := r.Matrix()
	rows := [][]string{append([]string{"node"}, r.Data.Nodes...)}
	for i, name := range r.Data.Nodes {
		rows = append(rows, append([]string{name}, apply.To(probabilities[i], func(p float64) string { return Number(p).Text() })...))
	}
	return rows
}

func arrows(edges [][2]string, arrow string) string {
	parts := apply.To(edges, func(e [2]string) string { return e[0] + arrow + e[1] })
	return strings.Join(parts, " ")
}

// Matrix returns the edge probabilities, with rows by cause and columns by effect.
func (r *Result) Matrix() [][]float64 {
	place, probabilities := rank.Places(r.Data.Nodes), dgraph.Zeros(len(r.Data.Nodes))
	for _, e := range r.Edges {
		probabilities[place[e.From]][place[e.To]] = float64(e.Prob)
		probabilities[place[e.To]][place[e.From]] = float64(e.ProbReverse)
	}
	return probabilities
}

// drawnEdge is the least probability of an edge in a picture, if the user gives no other limit.
const drawnEdge = 0.1

// dot returns, in the language of Graphviz, the edges whose probability is not below the argument
// named least. More probable edges have wider lines.
func dot(names []string, probabilities [][]float64, least float64) string {
	quote := func(name string) string {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`
	}
	var text strings.Builder
	text.WriteString("digraph {\n")
	for _, name := range names {
		fmt.Fprintf(&text, "  %s;\n", quote(name))
	}
	for _, e := range dgraph.OrderedPairs(len(names)) {
		if probability := probabilities[e.From][e.To]; probability >= least {
			style := ""
			if probability < 0.5 {
				style = ", style=dashed, constraint=false"
			}
			fmt.Fprintf(&text, "  %s -> %s [penwidth=%.2f, label=\"%.2f\"%s];\n", quote(names[e.From]), quote(names[e.To]), 4*probability, probability, style)
		}
	}
	text.WriteString("}\n")
	return text.String()
}
