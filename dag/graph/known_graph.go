package graph

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/table"
)

// ReadGraph reads the names of nodes and the graph over them from a file. The file is a network in
// BIF (*.bif), whose probabilities are ignored, or an adjacency matrix, see [ReadAdjacency].
func ReadGraph(path string) (names []string, g *Graph, err error) {
	if strings.EqualFold(filepath.Ext(path), ".bif") {
		n, err := ReadBIF(path)
		if err != nil {
			return nil, nil, err
		}
		return n.Names, n.Graph, nil
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

// ReadAdjacency reads the graph over nodes from an adjacency matrix: a column with the names of the
// rows, and then a column of zeros and ones for each node, where rows are causes and columns
// effects. Without a column of names the rows are in the order of the columns. The matrix must have
// all nodes in the list nodes; further nodes of the matrix are ignored.
func ReadAdjacency(t *table.Table, nodes []string) (*Graph, error) {
	path, columns := t.Path, t.Names()
	rowNames := columns
	if first, err := t.Lookup(columns[0]); err == nil && first.Kind == table.Factor {
		rowNames = apply.UpTo(t.Rows(), first.Text)
		columns = columns[1:]
	}
	if len(rowNames) != t.Rows() || len(columns) != t.Rows() {
		return nil, fmt.Errorf("%s: got %s and %s, want a square matrix", path, english.Count(t.Rows(), "row"), english.Count(len(columns), "column"))
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
