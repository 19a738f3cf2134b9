package score

import (
	"cmp"
	"fmt"
	"math"

	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/internal/enum"
)

// Method is a way to compute a posterior over graphs.
type Method int

const (
	// Auto stands for Exact if Exact is possible, and otherwise for Chains.
	Auto Method = iota
	// Exact computes the evidence of every node with every possible set of parents (a family), and
	// sums over all graphs.
	Exact
	// Chains runs Markov chains over graphs.
	Chains
	// GraphFlow is the method of the VTI paper (Davies et al. 2025): one flow over the parameters
	// of all nodes, and a learned distribution of orders of the nodes and edges along them.
	GraphFlow
)

var methods = enum.New[Method]("method", "auto", "exact", "chains", "flow")

// String returns the name of the method.
func (m Method) String() string { return methods.String(m) }

// MarshalText writes the name.
func (m Method) MarshalText() ([]byte, error) { return methods.Marshal(m) }

// UnmarshalText reads auto, exact, chains or flow.
func (m *Method) UnmarshalText(text []byte) error { return methods.Unmarshal(text, m) }

// mostNetworks is the largest number of families (nodes with sets of parents) for which Auto stands
// for Exact if mechanisms are neural networks. Graphs over up to 11 nodes have fewer families. With
// more families the sums, which are repeated while evidences become more precise, take minutes.
const mostNetworks = 1 << 14

// Resolve returns the method that m stands for with this problem. Errors state why m is impossible.
func (p *Problem) Resolve(m Method) (Method, error) {
	if p.Data.Missing != nil {
		if m == Auto || m == Chains {
			return Chains, nil
		}
		return 0, p.Data.CheckComplete()
	}
	if m == Auto {
		most := float64(MaxFamilies)
		if p.Model.Mechanism == sem.MLP {
			most = mostNetworks
		}
		if m = Exact; p.Listable(most) != nil {
			m = Chains
		}
	}
	switch m {
	case GraphFlow:
		return m, p.CheckGraphFlow(false)
	case Exact:
		return m, p.Listable(MaxFamilies)
	}
	if p.Model.Mechanism == sem.MLP {
		return m, nil
	}
	return m, p.CheckClosedForm()
}

// Listable returns an error if graphs have too many nodes for sums over graphs, or if the number of
// families (nodes with an allowed set of parents) exceeds the argument named most.
func (p *Problem) Listable(most float64) error {
	s := p.Structure
	if limit := s.ExactLimit(); s.Nodes > limit {
		return fmt.Errorf("%s has %d nodes: sums over %s are exact for up to %d; mechanisms with closed forms have chains over graphs, and columns can be excluded",
			p.Data.Path, s.Nodes, s.PriorName(), limit)
	}
	if count := s.CountFamilies(); count > most {
		return fmt.Errorf("%d nodes make %.0f families of a node with its parents, and at most %.0f can be scored one by one: fewer parents of a node or constraints leave fewer",
			s.Nodes, count, most)
	}
	return nil
}

// CheckExact returns an error for problems that RunExact cannot solve.
func (p *Problem) CheckExact() error {
	return cmp.Or(p.CheckClosedForm(), p.Data.CheckComplete(), p.Listable(math.Inf(1)))
}

// CheckGraphFlow returns an error for problems that RunGraphFlow cannot solve, with one flow for
// all nodes (undivided) or node by node.
func (p *Problem) CheckGraphFlow(undivided bool) error {
	if undivided && !p.Structure.Free() {
		return fmt.Errorf("the undivided flow is over all graphs, as published: constraints need the flow that works node by node")
	}
	if p.Model.Mechanism != sem.Linear && p.Model.Mechanism != sem.MLP {
		return fmt.Errorf("a flow with a learned q(m) is for linear mechanisms and networks, not for %s: want exact sums or chains", p.Model.Mechanism)
	}
	return p.CheckOneRegime()
}

// CheckReversibleJump returns an error for problems that RunReversibleJump cannot solve.
func (p *Problem) CheckReversibleJump() error {
	if err := cmp.Or(p.CheckOneRegime(), p.Listable(MaxFamilies)); err != nil || p.Model.Mechanism == sem.Linear {
		return err
	}
	return fmt.Errorf("reversible-jump chains over graphs and parameters: got %s mechanisms, want linear", p.Model.Mechanism)
}
