package score

import (
	"fmt"
	"math"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/internal/english"
)

// Problem is a data set with a model and constraints.
type Problem struct {
	// Data is the table, Model the likelihood and the priors, and Structure the set of possible
	// graphs with their prior.
	Data      *tables.Data
	Model     ModelOptions
	Structure dgraph.Structure
	// Constraints restricts which graphs are possible. Structure already includes it.
	Constraints tables.Constraints
	// Centers holds, for each node, the values that its mechanism subtracts from the columns in
	// place of an intercept [N][N]; nil if nothing is subtracted.
	Centers [][]float64
	// Mixed holds the [Form] of every node for mixed mechanisms, with the evidences computed so
	// far; nil for other mechanisms.
	Mixed []Form
	// AllModels asks for all drawn graphs and equivalence classes in the result.
	AllModels bool
	// Asked holds the pairs of nodes whose total effects were requested.
	Asked []dgraph.Edge
	// Families holds the families (nodes with sets of parents) that the structure allows, in the
	// order of Scores; nil if there are too many to list.
	Families []dgraph.Family
}

// NewProblem joins data, model and constraints. It checks everything that can be checked before
// computing.
func NewProblem(data *tables.Data, model ModelOptions, constraints tables.Constraints) (*Problem, error) {
	if err := model.Validate(); err != nil {
		return nil, err
	}
	model.Mechanism = model.resolve(data)
	if err := model.Validate(); err != nil { // again, because the mechanism may have changed
		return nil, err
	}
	model = model.withDefaults()
	if err := model.checkKind(data); err != nil {
		return nil, err
	}
	if model.Mechanism == sem.MLP {
		if err := (&Problem{Data: data}).CheckOneRegime(); err != nil {
			return nil, err
		}
	}
	structure, err := data.NewStructure(constraints)
	if err != nil {
		return nil, err
	}
	if model.Mechanism != sem.Categorical && model.Sigma == 0 {
		if err := checkNumbers(data); err != nil {
			return nil, err
		}
	}
	if structure.Prior, err = model.familyPrior(data); err != nil {
		return nil, err
	}
	structure.Orders = model.Orders
	p := &Problem{Data: data, Model: model, Structure: structure, Constraints: constraints, Centers: data.Centers}
	if model.Mechanism == sem.BGe {
		p.Centers = data.Means()
	}
	if err := p.checkImputed(); err != nil {
		return nil, err
	}
	if model.Mechanism.ByColumns() {
		p.Mixed = p.newForms()
	}
	if structure.Nodes <= structure.ExactLimit() && structure.CountFamilies() <= MaxFamilies {
		p.Families = structure.Families()
	}
	return p, nil
}

// LogJacobian returns the difference between log evidences of the columns of the table (or of their
// logarithms) and of the scaled columns: −Σ_j n_j log scale_j, with n_j the number of rows in which
// node j was not set by an intervention.
func (p *Problem) LogJacobian() (sum float64) {
	for j, scale := range p.Data.Scale {
		sum -= float64(p.Data.RowsOf(j)) * math.Log(scale)
	}
	return sum
}

// Priors describes the mechanisms of nodes and the priors, one per line.
func (p *Problem) Priors() []string {
	m := p.Model
	if m.Mechanism == sem.Categorical {
		return p.withGraphPrior([]string{
			"columns: categories",
			fmt.Sprintf("probabilities of each given its parents: Dirichlet, imaginary sample size %g spread evenly (BDeu)", m.ImaginarySampleSize),
		})
	}
	if m.Mechanism == sem.Mixed {
		return p.withGraphPrior(p.mixedPriors())
	}
	mechanism := "linear mechanisms without intercept"
	if p.Data.Centers != nil {
		mechanism = "linear mechanisms, columns centred for each node over the rows in which it was not set from outside"
	}
	if m.Mechanism == sem.MLP {
		mechanism = fmt.Sprintf("mechanisms with %d hidden ReLU units", m.Hidden)
		if m.NoBias {
			mechanism += " without bias"
		}
	}
	noise := fmt.Sprintf("noise: every node its own σ, log σ ~ N(log sd, %d²)", LogSigmaSD)
	if m.Sigma > 0 {
		noise = fmt.Sprintf("noise: σ = %g for all nodes, known (working scale)", m.Sigma)
	}
	if m.Mechanism == sem.BGe {
		mechanism, noise = "linear mechanisms with intercept", "weights and noise: normal-Wishart, the same for all graphs of a class (BGe)"
	}
	if m.Mechanism == sem.Spline {
		mechanism = fmt.Sprintf("sums of natural cubic splines of single parents, with at most %d knots and an intercept", mostKnots)
		if p.Data.Nodes() <= mostPaired {
			mechanism += ", and with probability ½ products of every two parents"
		}
		noise = "weights and noise: normal-gamma, as BGe; a curve has an sd of 1.4 noise sd about its line"
	}
	lines := []string{
		"columns: " + map[tables.Scaling]string{
			tables.Standardize: "centred, each divided by its standard deviation", tables.GlobalScale: "centred, all divided by one scale",
			tables.Center: "centred", tables.Unscaled: "as they are",
		}[p.Data.Scaling],
		mechanism, noise,
	}
	if !m.Mechanism.ByColumns() && m.Mechanism != sem.BGe {
		lines[1] += fmt.Sprintf(", weights ~ N(0, %g²)", m.PriorSD)
	}
	return p.withGraphPrior(lines)
}

func (p *Problem) withGraphPrior(lines []string) []string {
	graphs := "graphs: " + p.Model.describeGraphs(p.Structure.Prior)
	if p.Structure.Orders {
		graphs += "; over orders and edges along them: a graph counts as often as it has topological orders"
	} else {
		graphs += "; over acyclic graphs, each counted once"
	}
	lines = append(lines, graphs)
	if rows := p.Data.RegimeRows(); rows > 0 {
		lines = append(lines, fmt.Sprintf("soft interventions: other mechanisms with the same parents, in %s", english.Count(rows, "row")))
	}
	if constraints := p.Constraints.String(); constraints != "" {
		lines = append(lines, "of them only those that keep to: "+constraints)
	}
	return lines
}

// CheckOneRegime returns an error for data with soft interventions, which only closed forms
// support.
func (p *Problem) CheckOneRegime() error {
	if len(p.Data.Regimes) > 0 {
		return fmt.Errorf("%s: soft interventions are for mechanisms with closed forms: linear ones and categories, without flows", p.Data.Path)
	}
	return nil
}

// FamilyName returns a description of a node with its parents for messages.
func (p *Problem) FamilyName(f dgraph.Family) string {
	text := fmt.Sprintf("%q", p.Data.Names[f.Node])
	if f.Parents.Empty() {
		return text + " without parents"
	}
	text += " with the parents"
	for i := range f.Parents.Nodes() {
		text += fmt.Sprintf(" %q", p.Data.Names[i])
	}
	return text
}

// CheckScore returns an error for a log evidence that is not finite.
func (p *Problem) CheckScore(f dgraph.Family, score float64) error {
	if math.IsNaN(score) || math.IsInf(score, 0) {
		return fmt.Errorf("%s: the log evidence of %s is %g, want a finite number: squares of its values overflow; rescale the columns", p.Data.Path, p.FamilyName(f), score)
	}
	return nil
}

// MaxFamilies is the largest number of families (nodes with sets of parents) whose evidences are
// estimated one by one.
const MaxFamilies = 1 << 16

// checkImputed returns an error if mechanisms of the problem do not allow drawing missing cells.
func (p *Problem) checkImputed() error {
	switch m := p.Model.Mechanism; {
	case p.Data.Missing == nil, m == sem.BGe, m == sem.Categorical:
		return nil
	default:
		return fmt.Errorf("%s: missing cells are drawn with bge and categorical mechanisms, not with %s: drop the rows that have them", p.Data.Path, m)
	}
}

// Layout returns the order of the parameters θ of a node. It is empty if they are integrated out.
func (p *Problem) Layout() sem.Layout {
	mechanism := p.Model.Mechanism
	switch mechanism {
	case sem.BGe:
		mechanism = sem.Linear // the coordinates of linear mechanisms, with another prior
	case sem.Mixed, sem.Spline:
		mechanism = sem.Categorical // no coordinates
	}
	return sem.Layout{Nodes: p.Data.Nodes(), Mechanism: mechanism, Hidden: p.Model.Hidden, Bias: !p.Model.NoBias, Sigma: p.Model.Sigma}
}

// Weighs reports whether some evidences are estimated by importance weights.
func (p *Problem) Weighs() bool { return p.Mixed != nil && p.Data.Categories() > 0 }
