package graph

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/transdim/vti/table"
)

// ReadGraph reads the names of nodes and the graph over them from a file: a network in BIF (*.bif),
// of which only nodes and arcs are used, or an adjacency matrix as [ReadAdjacency] describes it.
func ReadGraph(path string) (names []string, g *Graph, err error) {
	if strings.EqualFold(filepath.Ext(path), ".bif") {
		return readBIF(path)
	}
	t, err := table.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	names = t.Names()
	if first, err := t.Lookup(names[0]); err == nil && first.Kind == table.Factor {
		names = names[1:]
	}
	g, err = ReadAdjacency(t, names)
	return names, g, err
}

// ReadAdjacency reads the graph over some nodes from an adjacency matrix: a column of row names,
// then a column of 0 and 1 for each node, row = cause and column = effect. Without a column of
// names the rows are in the order of the columns. Every node named must be there; others are left
// out.
func ReadAdjacency(t *table.Table, nodes []string) (*Graph, error) {
	path, columns := t.Path, t.Names()
	rowNames := columns
	if first, err := t.Lookup(columns[0]); err == nil && first.Kind == table.Factor {
		rowNames = nil
		for row := range t.Rows() {
			rowNames = append(rowNames, first.Text(row))
		}
		columns = columns[1:]
	}
	if len(rowNames) != t.Rows() || len(columns) != t.Rows() {
		return nil, fmt.Errorf("%s: got %d rows and %d columns, want a square matrix", path, t.Rows(), len(columns))
	}
	g := NewGraph(len(nodes))
	for to, name := range nodes {
		c, err := t.Lookup(name)
		if err != nil {
			return nil, err
		}
		for from, cause := range nodes {
			row := slices.Index(rowNames, cause)
			if row < 0 {
				return nil, fmt.Errorf("%s: no row for node %q", path, cause)
			}
			if c.Kind != table.Numeric || c.Values[row] != 0 && c.Values[row] != 1 {
				return nil, fmt.Errorf("%s: column %q, %s: got %q, want 0 or 1", path, name, t.Place(row), c.Text(row))
			}
			if from == to && c.Values[row] == 1 {
				return nil, fmt.Errorf("%s: %s: an edge from %q to itself", path, t.Place(row), name)
			}
			if from != to {
				g.Set(from, to, c.Values[row] == 1)
			}
		}
	}
	return g, nil
}

// Blocks of a BIF file: "variable NAME {" and "probability ( NAME | PARENT, … ) {".
var (
	bifVariable    = regexp.MustCompile(`(?m)^\s*variable\s+"?([^\s"{]+)"?\s*\{`)
	bifProbability = regexp.MustCompile(`(?m)^\s*probability\s*\(([^)]*)\)`)
)

// readBIF reads nodes and arcs.
func readBIF(path string) (names []string, g *Graph, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	place := map[string]int{}
	for _, match := range bifVariable.FindAllSubmatch(content, -1) {
		name := string(match[1])
		if _, twice := place[name]; twice {
			return nil, nil, fmt.Errorf("%s: variable %q is there twice", path, name)
		}
		place[name] = len(names)
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil, nil, fmt.Errorf("%s: got no blocks \"variable NAME { … }\", want those of a network in BIF", path)
	}
	g = NewGraph(len(names))
	for _, match := range bifProbability.FindAllSubmatchIndex(content, -1) {
		text := string(content[match[2]:match[3]])
		line := bytes.Count(content[:match[2]], []byte("\n")) + 1
		node := func(name string) (int, error) {
			name = strings.Trim(strings.TrimSpace(name), `"`)
			at, known := place[name]
			if !known {
				return 0, fmt.Errorf("%s: line %d: no variable %q", path, line, name)
			}
			return at, nil
		}
		child, parents, _ := strings.Cut(text, "|")
		to, err := node(child)
		if err != nil {
			return nil, nil, err
		}
		for name := range strings.SplitSeq(parents, ",") {
			if strings.TrimSpace(name) == "" {
				continue
			}
			from, err := node(name)
			if err != nil {
				return nil, nil, err
			}
			if from == to {
				return nil, nil, fmt.Errorf("%s: line %d: %q is its own parent", path, line, names[to])
			}
			g.Set(from, to, true)
		}
	}
	return names, g, nil
}
