package sem

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/pick"
	"github.com/transdim/vti/internal/stream"
)

// Simulation describes simulated data with a known graph. The default is the design of appendix F.1
// of Davies et al. (2025) in which all edges of the graph have an effect.
type Simulation struct {
	// Nodes is the number of nodes; 0 stands for 10. Rows is the number of rows; 0 stands for
	// 1,024.
	Nodes, Rows int
	// EdgeProbability is the probability of each edge along a random order of nodes; 0 means 0.5.
	EdgeProbability float64
	// ExpectedDegree, if not 0, is the mean number of parents of a node, and sets EdgeProbability.
	ExpectedDegree float64 `json:",omitempty"`
	// Mechanism, Hidden and Bias are the mechanism of every node with parents; AnyMechanism stands
	// for Linear, and 0 hidden units stand for 10. The sizes of weights are uniform on [0.3, 0.7],
	// with random signs. With Mixed every second node is a category of two or three levels. The
	// sizes of the shifts of a number by the levels of a parent, and of the slopes and shifts of
	// the logits of levels, are uniform on [0.5, 1.5], with signs that alternate by level.
	Mechanism Mechanism
	Hidden    int
	Bias      bool
	// Noise is the noise scale σ of every node; 0 stands for 1.
	Noise float64
	// Graph, if not nil, is the graph to simulate from instead of a random graph, and Names holds
	// the names of its nodes. Nodes, EdgeProbability and ExpectedDegree must then be zero.
	Graph *dgraph.Graph `json:"-"`
	Names []string      `json:"-"`
	// Network, if not nil, is the network over categories to simulate from. Mechanism must then be
	// Categorical, and all other fields except Rows and Seed must be zero.
	Network *dgraph.Network `json:"-"`
	// Seed is the random seed. With the same seed, a simulation with fewer rows has the first rows
	// of a simulation with more rows.
	Seed uint64
}

// WithDefaults returns the simulation with defaults in place of zeros.
func (s Simulation) WithDefaults() Simulation {
	if s.Graph != nil {
		s.Nodes = s.Graph.Nodes()
	}
	s.Nodes = cmp.Or(s.Nodes, 10)
	s.Rows = cmp.Or(s.Rows, 1024)
	if s.ExpectedDegree > 0 && s.EdgeProbability == 0 {
		s.EdgeProbability = s.ExpectedDegree / (float64(s.Nodes-1) / 2)
	}
	s.EdgeProbability = cmp.Or(s.EdgeProbability, 0.5)
	if s.Mechanism == AnyMechanism {
		s.Mechanism = Linear
	}
	s.Hidden = cmp.Or(s.Hidden, 10)
	s.Noise = cmp.Or(s.Noise, 1)
	return s
}

// Validate returns an error for the first field that is out of its range.
func (s Simulation) Validate() error {
	if err := s.validateNetwork(); err != nil {
		return err
	}
	if s.EdgeProbability != 0 && s.ExpectedDegree != 0 {
		return fmt.Errorf("edge-probability and expected-degree both set the number of edges: give one")
	}
	if s.Graph != nil {
		if s.Nodes != 0 || s.EdgeProbability != 0 || s.ExpectedDegree != 0 {
			return fmt.Errorf("a graph to simulate from has its own nodes and edges: give no other number of them")
		}
		if len(s.Names) != s.Graph.Nodes() {
			return fmt.Errorf("got %s, want one for each of %s", english.Count(len(s.Names), "name"), english.Count(s.Graph.Nodes(), "node"))
		}
		if cycle := s.Graph.Cycle(); cycle != nil {
			return fmt.Errorf("the graph to simulate from has a cycle through %s", s.Names[cycle[0]])
		}
	}
	s = s.WithDefaults()
	switch {
	case s.ExpectedDegree != 0 && !(s.ExpectedDegree > 0 && s.EdgeProbability <= 1):
		return fmt.Errorf("expected-degree: got %g parents per node, want up to %g in graphs over %d nodes", s.ExpectedDegree, float64(s.Nodes-1)/2, s.Nodes)
	case s.Nodes < 2 || s.Nodes > dgraph.MaxNodes:
		return fmt.Errorf("nodes: got %d, want 2 to %d", s.Nodes, dgraph.MaxNodes)
	case s.Rows < 1:
		return fmt.Errorf("rows: got %d, want at least 1", s.Rows)
	case !(s.EdgeProbability > 0 && s.EdgeProbability <= 1):
		return fmt.Errorf("edge-probability: got %g, want a number above 0 and up to 1", s.EdgeProbability)
	case s.Network == nil && !slices.Contains([]Mechanism{Linear, MLP, Mixed}, s.Mechanism):
		return fmt.Errorf("mechanisms: got %s, want linear, mlp, mixed or, of a network, categorical", s.Mechanism)
	case s.Mechanism == Mixed && s.Bias:
		return fmt.Errorf("bias is for networks, not for mixed mechanisms")
	case s.Hidden < 1:
		return fmt.Errorf("hidden: got %d, want at least 1", s.Hidden)
	case !(s.Noise > 0) || math.IsInf(s.Noise, 1):
		return fmt.Errorf("noise: got %g, want a positive number", s.Noise)
	}
	return nil
}

func (s Simulation) validateNetwork() error {
	switch {
	case s.Network == nil && s.Mechanism == Categorical:
		return fmt.Errorf("categories are simulated from a network with tables of probabilities: got none")
	case s.Network == nil:
		return nil
	case s.Mechanism != Categorical || s.Graph != nil || s.Nodes != 0 || s.EdgeProbability != 0 || s.ExpectedDegree != 0 || s.Noise != 0 || s.Hidden != 0 || s.Bias:
		return fmt.Errorf("a network over categories has its own nodes, edges and probabilities: give only the number of rows and a seed")
	}
	return s.Network.Validate()
}

// Simulated is a simulated data set with its true graph.
type Simulated struct {
	Names []string // x0, x1, …, or the given names
	// Values holds the values by row. The value of a category is the index of its level.
	Values [][]float64
	Levels [][]string // levels of each node, nil for a number; the outer slice is nil if all nodes are numbers
	// Truth is the simulated graph.
	Truth *dgraph.Graph

	Thetas [][]float64 // parameters of each node
}

// Simulate draws the data set that s describes.
func Simulate(s Simulation) (*Simulated, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if s.Network != nil {
		s.Rows = s.WithDefaults().Rows
		return s.categories(), nil
	}
	s = s.WithDefaults()
	if s.Mechanism == Mixed {
		return s.mixed(), nil
	}
	out, order := s.graph()
	random := stream.Rand(s.Seed, "weights")
	l := Layout{Nodes: s.Nodes, Mechanism: s.Mechanism, Hidden: s.Hidden, Bias: s.Bias, Sigma: s.Noise}
	thetas := make([][]float64, s.Nodes)
	for j := range thetas {
		thetas[j] = make([]float64, l.Dim())
		for k, on := range l.Mask(dgraph.Family{Node: j, Parents: out.Truth.ParentSets()[j]}) {
			if weight := 0.3 + 0.4*random.Float64(); on {
				thetas[j][k] = math.Copysign(weight, random.Float64()-0.5)
			}
		}
	}
	out.Thetas = thetas
	random = stream.Rand(s.Seed, "noise")
	for range s.Rows {
		row := make([]float64, s.Nodes)
		for _, j := range order {
			row[j] = l.Mean(thetas[j], row) + s.Noise*random.NormFloat64()
		}
		out.Values = append(out.Values, row)
	}
	return out, nil
}

// categories draws rows from the network of the simulation.
func (s Simulation) categories() *Simulated {
	n := s.Network
	order, _ := n.Graph.Order()
	out := &Simulated{Names: n.Names, Levels: n.Levels, Truth: n.Graph}
	random := stream.Rand(s.Seed, "categories")
	codes := make([]int, len(n.Names))
	for range s.Rows {
		row := make([]float64, len(codes))
		for _, j := range order {
			codes[j] = pick.Index(n.Tables[j][n.Row(j, codes)], random.Float64())
			row[j] = float64(codes[j])
		}
		out.Values = append(out.Values, row)
	}
	return out
}

// graph returns a data set without rows that has the graph to simulate from. It also returns an
// order of the nodes in which parents come before children.
func (s Simulation) graph() (out *Simulated, order []int) {
	if s.Graph != nil {
		order, _ = s.Graph.Order()
		return &Simulated{Names: s.Names, Truth: s.Graph}, order
	}
	out = &Simulated{Truth: dgraph.NewGraph(s.Nodes)}
	random := stream.Rand(s.Seed, "graph")
	order = random.Perm(s.Nodes)
	for a := range order {
		out.Names = append(out.Names, fmt.Sprintf("x%d", a))
		for b := range a {
			out.Truth.Set(order[b], order[a], random.Float64() < s.EdgeProbability)
		}
	}
	return out, order
}

// WriteCSV writes the table as CSV.
func (s *Simulated) WriteCSV(w io.Writer) error {
	rows := [][]string{s.Names}
	for _, values := range s.Values {
		var cells []string
		for j, x := range values {
			if s.Levels != nil && s.Levels[j] != nil {
				cells = append(cells, s.Levels[j][int(x)])
				continue
			}
			cells = append(cells, strconv.FormatFloat(x, 'g', -1, 64))
		}
		rows = append(rows, cells)
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// WriteTruth writes the adjacency matrix in the format that the program's option --truth reads.
func (s *Simulated) WriteTruth(w io.Writer) error {
	rows := [][]string{append([]string{"node"}, s.Names...)}
	for i, name := range s.Names {
		cells := apply.UpTo(len(s.Names), func(j int) string { return strconv.Itoa(int(dgraph.Indicator(s.Truth.Has(i, j)))) })
		rows = append(rows, append([]string{name}, cells...))
	}
	return csv.NewWriter(w).WriteAll(rows)
}
