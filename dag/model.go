package dag

import (
	"fmt"
	"math"
	"strings"

	dgraph "github.com/transdim/vti/dag/graph"
)

// Mechanism is how a node depends on its parents.
type Mechanism int

const (
	// Linear is x_j = Σ w_i x_i + noise.
	Linear Mechanism = iota
	// MLP is x_j = W2 relu(W1 x + b1) + b2 + noise, with one hidden layer (paper, appendix F).
	MLP
	// BGe is Linear with the prior that gives all graphs of an equivalence class the same evidence,
	// and with an intercept and a noise scale of every node.
	BGe
	// Categorical is a table of probabilities for each combination of values of the parents. It is
	// what discrete data have.
	Categorical
)

// closed reports whether the evidences of families have a closed form.
func (m Mechanism) closed() bool { return m != MLP }

var mechanismNames = [...]string{"linear", "mlp", "bge", "categorical"}

// String returns the name that [ParseMechanism] reads.
func (m Mechanism) String() string {
	if m < 0 || int(m) >= len(mechanismNames) {
		return fmt.Sprintf("Mechanism(%d)", int(m))
	}
	return mechanismNames[m]
}

// ParseMechanism reads linear, mlp, bge or categorical.
func ParseMechanism(s string) (Mechanism, error) {
	for m, name := range mechanismNames {
		if s == name {
			return Mechanism(m), nil
		}
	}
	return 0, fmt.Errorf("unknown mechanism %q; expected linear, mlp, bge or categorical", s)
}

// MarshalText writes the name.
func (m Mechanism) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (m *Mechanism) UnmarshalText(text []byte) (err error) {
	*m, err = ParseMechanism(string(text))
	return err
}

// logSigmaSD is the standard deviation of the prior of log σ, whose mean is the log standard
// deviation of the node.
const logSigmaSD = 2

// ModelOptions are the likelihood and the priors. The zero value is linear with unknown noise of
// every node and the uniform prior over graphs. Scales are those of the working columns.
type ModelOptions struct {
	Mechanism Mechanism `json:"mechanism"`
	// Hidden is the number of hidden units of MLP; 0 stands for 10. NoBias leaves out b1 and b2.
	Hidden int  `json:"hidden"`
	NoBias bool `json:"no_bias"`
	// Sigma is the noise scale of all nodes if it is known; 0: every node has its own, unknown.
	Sigma float64 `json:"sigma"`
	// PriorSD is σ0, the prior standard deviation of every weight; 0 stands for 1.
	PriorSD float64 `json:"prior_sd"`
	// EdgePenalty is λ: graphs are a priori proportional to exp(−λ edges).
	EdgePenalty float64 `json:"edge_penalty"`
	// ExpectedDegree sets λ such that each edge, cycles aside, has the odds of a graph with so many
	// parents per node; 0: use EdgePenalty.
	ExpectedDegree float64 `json:"expected_degree"`
	// ImaginarySampleSize is α of categories: as if so many rows had been seen before, spread evenly
	// over all combinations of values; 0 stands for 1.
	ImaginarySampleSize float64 `json:"imaginary_sample_size,omitempty"`
	// Orders makes the prior uniform over orders and edges along them, as in the paper.
	Orders bool `json:"orders"`
}

func (o ModelOptions) withDefaults() ModelOptions {
	if o.Hidden == 0 {
		o.Hidden = 10
	}
	if o.PriorSD == 0 {
		o.PriorSD = 1
	}
	if o.ImaginarySampleSize == 0 {
		o.ImaginarySampleSize = 1
	}
	return o
}

// Validate reports the first option that is out of its range.
func (o ModelOptions) Validate() error {
	o = o.withDefaults()
	switch {
	case o.Mechanism < 0 || int(o.Mechanism) >= len(mechanismNames):
		return fmt.Errorf("unknown mechanism %v", o.Mechanism)
	case o.Mechanism == BGe && o.Sigma != 0:
		return fmt.Errorf("sigma: got %g, want none with bge mechanisms, whose noise scales are unknown", o.Sigma)
	case o.Mechanism == BGe && o.PriorSD != 1:
		return fmt.Errorf("prior-sd: got %g, want none with bge mechanisms, whose prior is given", o.PriorSD)
	case !(o.ImaginarySampleSize > 0) || math.IsInf(o.ImaginarySampleSize, 1):
		return fmt.Errorf("imaginary-sample-size: got %g, want a positive number", o.ImaginarySampleSize)
	case o.Hidden < 1:
		return fmt.Errorf("hidden: expected at least 1, found %d", o.Hidden)
	case !(o.Sigma >= 0) || math.IsInf(o.Sigma, 1):
		return fmt.Errorf("sigma: expected a positive number, found %g", o.Sigma)
	case !(o.PriorSD > 0) || math.IsInf(o.PriorSD, 1):
		return fmt.Errorf("prior-sd: expected a positive number, found %g", o.PriorSD)
	case math.IsNaN(o.EdgePenalty) || math.IsInf(o.EdgePenalty, 0):
		return fmt.Errorf("edge-penalty: expected a finite number, found %g", o.EdgePenalty)
	case !(o.ExpectedDegree >= 0) || math.IsInf(o.ExpectedDegree, 1):
		return fmt.Errorf("expected-degree: expected a positive number, found %g", o.ExpectedDegree)
	case o.ExpectedDegree != 0 && o.EdgePenalty != 0:
		return fmt.Errorf("expected-degree and edge-penalty both set the prior of edges: give one")
	}
	return nil
}

// penalty is λ for graphs over some nodes.
func (o ModelOptions) penalty(nodes int) (float64, error) {
	if o.ExpectedDegree == 0 {
		return o.EdgePenalty, nil
	}
	// In order, node t can have t parents: (N−1)/2 on average.
	share := o.ExpectedDegree / (float64(nodes-1) / 2)
	if share >= 1 {
		return 0, fmt.Errorf("expected-degree: a graph over %d nodes has less than %g parents per node, found %g", nodes, float64(nodes-1)/2, o.ExpectedDegree)
	}
	return math.Log((1 - share) / share), nil
}

// Problem is a data set with mechanisms, priors and constraints.
type Problem struct {
	Data      *Data
	Model     ModelOptions
	Structure dgraph.Structure
	// Constraints are what Structure was made of.
	Constraints Constraints
	// centers of all columns, by node: what an intercept takes off; nil for none [N][N]
	centers [][]float64
	// Families are those that the structure allows, in the order of its scores; nil when they are
	// too many to list.
	Families []dgraph.Family
}

// NewProblem checks everything that can be checked before computing.
func NewProblem(data *Data, model ModelOptions, constraints Constraints) (*Problem, error) {
	if err := model.Validate(); err != nil {
		return nil, err
	}
	model = model.withDefaults()
	switch {
	case data.Discrete() && model.Mechanism == Linear:
		model.Mechanism = Categorical
	case data.Discrete() != (model.Mechanism == Categorical):
		kind := map[bool]string{true: "discrete", false: "continuous"}[data.Discrete()]
		return nil, fmt.Errorf("%s: got %s mechanisms for %s columns: categorical mechanisms go with discrete columns, and the others with continuous ones", data.Path, model.Mechanism, kind)
	}
	structure, err := data.NewStructure(constraints)
	if err != nil {
		return nil, err
	}
	if model.Mechanism != Categorical && model.Sigma == 0 {
		if err := data.checkNoise(); err != nil {
			return nil, err
		}
	}
	if structure.EdgePenalty, err = model.penalty(data.Nodes()); err != nil {
		return nil, err
	}
	structure.Orders = model.Orders
	p := &Problem{Data: data, Model: model, Structure: structure, Constraints: constraints, centers: data.Centers}
	if model.Mechanism == BGe {
		p.centers = data.means()
	}
	if structure.Nodes <= structure.ExactLimit() && structure.CountFamilies() <= maxFamilies {
		p.Families = structure.Families()
	}
	return p, nil
}

// Method is how a posterior over graphs is found.
type Method int

const (
	// Auto is Exact where it can be done, else Chains.
	Auto Method = iota
	// Exact estimates the evidence of every family and sums over all graphs.
	Exact
	// Chains are Markov chains over graphs, for linear mechanisms.
	Chains
	// Made is the method of the paper: one flow over the parameters of all nodes, and a masked
	// autoregressive network q(m) over orders and edges along them.
	Made
)

var methodNames = [...]string{"auto", "exact", "chains", "made"}

// String returns the name that [ParseMethod] reads.
func (m Method) String() string {
	if m < 0 || int(m) >= len(methodNames) {
		return fmt.Sprintf("Method(%d)", int(m))
	}
	return methodNames[m]
}

// ParseMethod reads auto, exact, chains or made.
func ParseMethod(s string) (Method, error) {
	for m, name := range methodNames {
		if s == name {
			return Method(m), nil
		}
	}
	return 0, fmt.Errorf("unknown method %q; expected auto, exact, chains or made", s)
}

// MarshalText writes the name.
func (m Method) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (m *Method) UnmarshalText(text []byte) (err error) {
	*m, err = ParseMethod(string(text))
	return err
}

// Evidence is how the evidences of families are estimated when graphs are summed.
type Evidence int

const (
	// AnyEvidence is ClosedForm where there is one and Particles for networks.
	AnyEvidence Evidence = iota
	// Flow weights draws of a flow that is trained on all families.
	Flow
	// Particles tempers particles from prior to posterior, for networks.
	Particles
	// ClosedForm is exact but for rounding, for all mechanisms but networks.
	ClosedForm
)

var evidenceNames = [...]string{"auto", "flow", "particles", "closed"}

// String returns the name that [ParseEvidence] reads.
func (e Evidence) String() string {
	if e < 0 || int(e) >= len(evidenceNames) {
		return fmt.Sprintf("Evidence(%d)", int(e))
	}
	return evidenceNames[e]
}

// ParseEvidence reads auto, flow, particles or closed.
func ParseEvidence(s string) (Evidence, error) {
	for e, name := range evidenceNames {
		if s == name {
			return Evidence(e), nil
		}
	}
	return 0, fmt.Errorf("unknown kind of evidence %q; expected auto, flow, particles or closed", s)
}

// MarshalText writes the name.
func (e Evidence) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (e *Evidence) UnmarshalText(text []byte) (err error) {
	*e, err = ParseEvidence(string(text))
	return err
}

// ResolveEvidence is what e stands for with this problem, or an error that says why it cannot be
// used.
func (p *Problem) ResolveEvidence(e Evidence) (Evidence, error) {
	switch {
	case p.Model.Mechanism == MLP && e == AnyEvidence:
		return Particles, nil
	case e == AnyEvidence:
		return ClosedForm, nil
	case e == ClosedForm:
		return e, p.checkClosedForm()
	case e == Flow && p.Model.Mechanism != Linear:
		return 0, fmt.Errorf("a flow is for linear mechanisms and networks, not for %s, whose evidences are closed forms", p.Model.Mechanism)
	case e == Particles && p.Model.Mechanism != MLP:
		return 0, fmt.Errorf("particles are for mechanisms that are networks, not for %s", p.Model.Mechanism)
	}
	return e, nil
}

// Resolve is the method that m stands for with this problem, or an error that says why it cannot be
// used.
func (p *Problem) Resolve(m Method) (Method, error) {
	impossible := p.listable(maxFamilies)
	switch {
	case m == Made:
		return m, p.CheckMade()
	case m == Chains && !p.Model.Mechanism.closed(), m == Auto && impossible != nil && !p.Model.Mechanism.closed():
		if m == Chains {
			return 0, p.checkClosedForm()
		}
		return 0, impossible
	case m == Exact:
		return m, impossible
	case m == Auto && impossible == nil:
		return Exact, nil
	}
	return Chains, nil
}

// listable fails when graphs cannot be summed, or when there are more families than a limit.
func (p *Problem) listable(most float64) error {
	s := p.Structure
	if limit := s.ExactLimit(); s.Nodes > limit {
		return fmt.Errorf("%s has %d nodes: sums over %s are exact for up to %d; linear mechanisms have chains (vti dag --structure chains), and --exclude leaves columns out",
			p.Data.Path, s.Nodes, s.PriorName(), limit)
	}
	if count := s.CountFamilies(); count > most {
		return fmt.Errorf("%d nodes make %.0f families of a node with its parents, and at most %.0f can be scored one by one: --max-parents or constraints leave fewer",
			s.Nodes, count, most)
	}
	return nil
}

// LogJacobian turns log evidences of the working columns into those of the table's (or of their
// logarithms): Σ_j −n_j log scale_j, over the rows that count.
func (p *Problem) LogJacobian() (sum float64) {
	for j, scale := range p.Data.Scale {
		sum -= float64(p.Data.rowsOf(j)) * math.Log(scale)
	}
	return sum
}

// Priors describes mechanisms and priors in a line each.
func (p *Problem) Priors() []string {
	m := p.Model
	if m.Mechanism == Categorical {
		return p.withGraphPrior([]string{
			"columns: categories",
			fmt.Sprintf("probabilities of each given its parents: Dirichlet, imaginary sample size %g spread evenly (BDeu)", m.ImaginarySampleSize),
		})
	}
	mechanism := "linear mechanisms without intercept"
	if p.Data.Centers != nil {
		mechanism = "linear mechanisms, columns centred for each node over the rows in which it was not set from outside"
	}
	if m.Mechanism == MLP {
		mechanism = fmt.Sprintf("mechanisms with %d hidden ReLU units", m.Hidden)
		if m.NoBias {
			mechanism += " without bias"
		}
	}
	noise := fmt.Sprintf("noise: every node its own σ, log σ ~ N(log sd, %d²)", logSigmaSD)
	if m.Sigma > 0 {
		noise = fmt.Sprintf("noise: σ = %g for all nodes, known (working scale)", m.Sigma)
	}
	if m.Mechanism == BGe {
		mechanism, noise = "linear mechanisms with intercept", "weights and noise: normal-Wishart, the same for all graphs of a class (BGe)"
	}
	lines := []string{
		"columns: " + map[Scaling]string{
			Standardize: "centred, each divided by its standard deviation", GlobalScale: "centred, all divided by one scale",
			Center: "centred", Unscaled: "as they are",
		}[p.Data.Scaling],
		mechanism, noise,
	}
	if m.Mechanism != BGe {
		lines[1] += fmt.Sprintf(", weights ~ N(0, %g²)", m.PriorSD)
	}
	return p.withGraphPrior(lines)
}

// withGraphPrior adds the prior over graphs and the constraints.
func (p *Problem) withGraphPrior(lines []string) []string {
	graphs := "graphs: uniform"
	if p.Structure.EdgePenalty != 0 {
		graphs = fmt.Sprintf("graphs: exp(%s edges)", strings.Replace(fmt.Sprintf("%+.4g", -p.Structure.EdgePenalty), "-", "−", 1))
	}
	if p.Structure.Orders {
		graphs += " over orders and edges along them: a graph counts as often as it has topological orders"
	} else {
		graphs += " over acyclic graphs, each counted once"
	}
	lines = append(lines, graphs)
	if constraints := p.Constraints.String(); constraints != "" {
		lines = append(lines, "of them only those that keep to: "+constraints)
	}
	return lines
}
