package score

import (
	"fmt"
	"math"
	"slices"
	"strings"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/enum"
	"github.com/transdim/vti/table"
)

// GraphPrior is a prior over graphs that treats all nodes alike.
type GraphPrior int

const (
	// SparseGraphs is uniform over the number of parents of a node, and then uniform over the sets
	// of this size (Friedman and Koller 2003). It is the same for all graphs of an equivalence
	// class.
	SparseGraphs GraphPrior = iota
	// UniformGraphs gives all graphs the same probability. Most graphs have about half of all
	// possible edges.
	UniformGraphs
)

var graphPriors = enum.New[GraphPrior]("prior over graphs", "sparse", "uniform")

// String returns the name of the prior.
func (g GraphPrior) String() string { return graphPriors.String(g) }

// MarshalText writes the name.
func (g GraphPrior) MarshalText() ([]byte, error) { return graphPriors.Marshal(g) }

// UnmarshalText reads sparse or uniform.
func (g *GraphPrior) UnmarshalText(text []byte) error { return graphPriors.Unmarshal(text, g) }

// EdgePrior holds the prior probabilities p_ij of edges, ignoring acyclicity: p(A) ∝ Π p_ij^A_ij
// (1−p_ij)^(1−A_ij), for A_ij = 1 if the graph has the edge from i to j and 0 if not.
type EdgePrior struct {
	// Nodes holds the names of the nodes.
	Nodes []string `json:"nodes"`
	// Probabilities is indexed by cause and effect, in the order of Nodes [N][N]. The diagonal is
	// not used.
	Probabilities [][]float64 `json:"probabilities"`
}

// ReadEdgePrior reads a table with a column of names of causes, and a column of probabilities for
// each effect. Probabilities must be above 0 and below 1. The diagonal is not read.
func ReadEdgePrior(path string) (*EdgePrior, error) {
	t, err := table.ReadFile(path)
	if err != nil {
		return nil, err
	}
	names := t.Names()
	first, err := t.Lookup(names[0])
	if err != nil {
		return nil, err
	}
	if p := len(names) - 1; t.Rows() != p || first.Kind != table.Factor {
		return nil, fmt.Errorf("%s: got %s and %s, want a column of names of causes, and then as many columns of effects as there are rows", path, english.Count(t.Rows(), "row"), english.Count(len(names), "column"))
	}
	prior := &EdgePrior{Nodes: names[1:], Probabilities: dgraph.Zeros(len(names) - 1)}
	for row := range t.Rows() {
		from := slices.Index(prior.Nodes, first.Text(row))
		if from < 0 {
			return nil, fmt.Errorf("%s: %s: no column for %q", path, t.Place(row), first.Text(row))
		}
		for to, name := range prior.Nodes {
			if from == to {
				continue
			}
			c, err := t.Lookup(name)
			if err != nil {
				return nil, err
			}
			if c.Kind != table.Numeric || !(c.Values[row] > 0 && c.Values[row] < 1) {
				return nil, fmt.Errorf("%s: column %q, %s: got %q, want a probability above 0 and below 1 (edges can be forbidden and required besides)", path, name, t.Place(row), c.Text(row))
			}
			prior.Probabilities[from][to] = c.Values[row]
		}
	}
	return prior, nil
}

// logOdds returns the log odds of the edges between the nodes of the data [N][N].
func (e *EdgePrior) logOdds(d *tables.Data) ([][]float64, error) {
	place := make([]int, d.Nodes())
	for j, name := range d.Names {
		if place[j] = slices.Index(e.Nodes, name); place[j] < 0 {
			return nil, fmt.Errorf("edge-prior: no row for node %q", name)
		}
	}
	odds := dgraph.Zeros(d.Nodes())
	for _, pair := range dgraph.OrderedPairs(d.Nodes()) {
		share := e.Probabilities[place[pair.From]][place[pair.To]]
		odds[pair.From][pair.To] = math.Log(share) - math.Log1p(-share)
	}
	return odds, nil
}

func (o ModelOptions) familyPrior(d *tables.Data) (dgraph.FamilyPrior, error) {
	if o.EdgePrior != nil {
		odds, err := o.EdgePrior.logOdds(d)
		return dgraph.FamilyPrior{ByEdge: odds}, err
	}
	if o.Graphs == SparseGraphs && o.EdgePenalty == 0 && o.ExpectedDegree == 0 {
		return dgraph.SparsePrior(d.Nodes()), nil
	}
	lambda, err := o.penalty(d.Nodes())
	return dgraph.PenaltyPrior(d.Nodes(), lambda), err
}

func (o ModelOptions) describeGraphs(prior dgraph.FamilyPrior) string {
	switch {
	case o.EdgePrior != nil:
		return "a probability for each edge"
	case prior.BySize == nil:
		return "uniform"
	case o.EdgePenalty == 0 && o.ExpectedDegree == 0:
		return "sparse, uniform over the number of parents of a node and then over sets"
	}
	return fmt.Sprintf("exp(%s edges)", strings.Replace(fmt.Sprintf("%+.4g", prior.BySize[1]), "-", "−", 1))
}
