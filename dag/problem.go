package dag

import (
	"fmt"
	"math"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/english"
)

// Problem is a data set with mechanisms, priors and constraints.
type Problem struct {
	Data      *Data
	Model     ModelOptions
	Structure dgraph.Structure
	// Constraints are what Structure was made of.
	Constraints Constraints
	// centers of all columns, by node: what an intercept takes off; nil for none [N][N]
	centers [][]float64
	// mixed are the families of mixed mechanisms by node, which keep the evidences that they find
	mixed []closedForm
	// AllModels makes results list every graph and equivalence class that was drawn.
	AllModels bool
	// Asked are pairs whose total effects are of interest.
	Asked []dgraph.Edge
	// Families are those that the structure allows, in the order of its scores; nil when they are
	// too many to list.
	Families []dgraph.Family
}

// NewProblem checks everything that can be checked before computing.
func NewProblem(data *Data, model ModelOptions, constraints Constraints) (*Problem, error) {
	if err := model.Validate(); err != nil {
		return nil, err
	}
	model.Mechanism = model.resolve(data)
	if err := model.Validate(); err != nil { // of what auto stands for
		return nil, err
	}
	model = model.withDefaults()
	if err := model.checkKind(data); err != nil {
		return nil, err
	}
	if model.Mechanism == MLP {
		if err := (&Problem{Data: data}).checkOneRegime(); err != nil {
			return nil, err
		}
	}
	structure, err := data.NewStructure(constraints)
	if err != nil {
		return nil, err
	}
	if model.Mechanism != Categorical && model.Sigma == 0 {
		if err := data.checkNumbers(); err != nil {
			return nil, err
		}
	}
	if structure.Prior, err = model.familyPrior(data); err != nil {
		return nil, err
	}
	structure.Orders = model.Orders
	p := &Problem{Data: data, Model: model, Structure: structure, Constraints: constraints, centers: data.Centers}
	if model.Mechanism == BGe {
		p.centers = data.means()
	}
	if err := p.checkImputed(); err != nil {
		return nil, err
	}
	if model.Mechanism == Mixed {
		p.mixed = p.newForms()
	}
	if structure.Nodes <= structure.ExactLimit() && structure.CountFamilies() <= maxFamilies {
		p.Families = structure.Families()
	}
	return p, nil
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
	if m.Mechanism == Mixed {
		return p.withGraphPrior(p.mixedPriors())
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
	graphs := "graphs: " + p.Model.describeGraphs(p.Structure.Prior)
	if p.Structure.Orders {
		graphs += "; over orders and edges along them: a graph counts as often as it has topological orders"
	} else {
		graphs += "; over acyclic graphs, each counted once"
	}
	lines = append(lines, graphs)
	if rows := p.Data.regimeRows(); rows > 0 {
		lines = append(lines, fmt.Sprintf("soft interventions: other mechanisms with the same parents, in %s", english.Count(rows, "row")))
	}
	if constraints := p.Constraints.String(); constraints != "" {
		lines = append(lines, "of them only those that keep to: "+constraints)
	}
	return lines
}

// checkOneRegime fails for data with soft interventions, which only closed forms know.
func (p *Problem) checkOneRegime() error {
	if len(p.Data.regimes) > 0 {
		return fmt.Errorf("%s: soft interventions are for mechanisms with closed forms: linear ones and categories, without flows", p.Data.Path)
	}
	return nil
}

// familyName is a family in words.
func (p *Problem) familyName(f dgraph.Family) string {
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

// checkScore fails for a log evidence that is not finite.
func (p *Problem) checkScore(f dgraph.Family, score float64) error {
	if math.IsNaN(score) || math.IsInf(score, 0) {
		return fmt.Errorf("%s: the log evidence of %s is %g, want a finite number: squares of its values overflow; rescale the columns", p.Data.Path, p.familyName(f), score)
	}
	return nil
}

// maxFamilies is the largest number of families whose evidences are estimated one by one.
const maxFamilies = 1 << 16

// checkImputed fails for mechanisms whose missing cells are not drawn.
func (p *Problem) checkImputed() error {
	switch m := p.Model.Mechanism; {
	case p.Data.missing == nil, m == BGe, m == Categorical:
		return nil
	default:
		return fmt.Errorf("%s: missing cells are drawn with bge and categorical mechanisms, not with %s: drop the rows that have them", p.Data.Path, m)
	}
}

func (p *Problem) layout() layout {
	mechanism := p.Model.Mechanism
	switch mechanism {
	case BGe:
		mechanism = Linear // with another prior
	case Mixed:
		mechanism = Categorical // without coordinates
	}
	return layout{p.Data.Nodes(), mechanism, p.Model.Hidden, !p.Model.NoBias, p.Model.Sigma}
}

// weighs reports whether evidences of some families are importance weights.
func (p *Problem) weighs() bool { return p.mixed != nil && p.Data.categories() > 0 }
