package varsel

import (
	"cmp"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/varsel/wide"
)

// CredibleSet is a set of correlated predictors that can replace each other in a model. The
// probability that one or more of them are in the model is at least the level Problem.Credible.
type CredibleSet struct {
	// Predictors are the members, the most probable one first.
	Predictors []string `json:"predictors"`
	// Probability is the probability that a member is in the model.
	Probability Number `json:"probability"`
	// ExactlyOne is the probability that exactly one member is in the model.
	ExactlyOne Number `json:"exactly_one"`
	// Purity is the smallest absolute correlation between two members.
	Purity Number `json:"purity"`
}

// DefaultCredible is the default level of credible sets.
const DefaultCredible = 0.95

const (
	// fewForSets is the largest number of predictors for which inclusion probabilities suffice, so
	// that no sets are reported.
	fewForSets = 5
	// pure is the smallest absolute correlation between members of a set, as in the R package
	// susieR.
	pure = 0.5
)

// CheckCredible returns an error for a level outside (½, 1). The level 0 stands for the default.
func CheckCredible(level float64) error {
	if level != 0 && !(level > 0.5 && level < 1) {
		return fmt.Errorf("level of credible sets: got %g, want a probability between 0.5 and 1", level)
	}
	return nil
}

// credibleSets returns the credible sets of a list of models or draws. The function model returns
// the members (predictors) of the k-th model, and its probability.
func (p *Problem) credibleSets(models int, model func(k int) (members []int, probability float64)) (sets []CredibleSet) {
	predictors := p.Design.Predictors
	if len(predictors) <= fewForSets {
		return nil
	}
	members, probability := make([][]int, models), make([]float64, models)
	for k := range models {
		members[k], probability[k] = model(k)
	}
	correlations := p.correlations()
	level := cmp.Or(p.Credible, DefaultCredible)
	for _, set := range wide.CredibleSets(members, probability, len(predictors), level, pure, correlations) {
		named := CredibleSet{Probability: Number(set.Probability), ExactlyOne: Number(set.One), Purity: Number(set.Purity)}
		for _, predictor := range set.Members {
			named.Predictors = append(named.Predictors, predictors[predictor].Name)
		}
		sets = append(sets, named)
	}
	return sets
}

// correlations returns a function of two predictors a and b. It gives the largest absolute
// correlation between a column of a and a column of b.
func (p *Problem) correlations() func(a, b int) float64 {
	columns := map[int][]float64{}
	columnOf := func(j int) []float64 {
		if columns[j] == nil {
			columns[j] = mat.Col(nil, j, p.Design.X)
		}
		return columns[j]
	}
	return func(a, b int) (largest float64) {
		for _, j := range p.Design.Predictors[a].Coordinates {
			for _, k := range p.Design.Predictors[b].Coordinates {
				r := 0.0
				if p.Design.Statistics != nil {
					r = p.Design.Statistics.Of(j, k)
				} else {
					r = stat.Correlation(columnOf(j), columnOf(k), nil)
				}
				largest = math.Max(largest, math.Abs(r))
			}
		}
		return largest
	}
}
