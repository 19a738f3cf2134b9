package wide

import (
	"cmp"
	"math"
	"slices"

	"github.com/transdim/vti/internal/apply"
)

// CredibleSet is a set of correlated predictors that can replace each other. The probability that
// the model has one or more of them is at least the requested one (Wang et al. 2020, but for a
// posterior over models).
type CredibleSet struct {
	// Members are the predictors, the most probable one first.
	Members []int
	// Probability is the total probability of the models with at least one member, and One of the
	// models with exactly one member.
	Probability, One float64
	// Purity is the smallest absolute correlation between two members, 1 for a single member.
	Purity float64
}

// leastLead is the smallest inclusion probability of the most probable member of a credible set. If
// no member were more probable, a set would need about a hundred members and would single out none.
const leastLead = 0.01

// CredibleSets returns disjoint credible sets, the set with the most probable member first. Models
// are lists of predictors, with the given probabilities; models that are not listed count as models
// without predictors. Each set begins with the most probable predictor that is in no set yet. It
// grows by one predictor at a time, until the models with a member have at least the total
// probability level. Only predictors whose absolute correlation with all members is at least purity
// can be added. The one added raises this total probability most.
func CredibleSets(models [][]int, probability []float64, predictors int, level, purity float64, correlation func(a, b int) float64) (sets []CredibleSet) {
	s := &credible{models, probability, make([]float64, predictors), make([][]int, predictors)}
	for m, members := range models {
		for _, j := range members {
			s.inclusion[j] += probability[m]
			s.with[j] = append(s.with[j], m)
		}
	}
	// Predictors in no set, the most probable one first.
	open := apply.Where(len(s.with), func(j int) bool { return len(s.with[j]) > 0 })
	slices.SortStableFunc(open, s.byInclusion)
	taken := make([]bool, predictors)
	for _, lead := range open {
		if s.inclusion[lead] < leastLead {
			break
		}
		if taken[lead] {
			continue
		}
		candidates, reach := []int{}, s.inclusion[lead]
		for _, j := range open {
			if j != lead && !taken[j] && correlation(lead, j) >= purity {
				candidates = append(candidates, j)
				reach += s.inclusion[j]
			}
		}
		if reach < level {
			continue
		}
		set := s.grow(lead, candidates, level, purity, correlation)
		if set.Probability < level {
			continue
		}
		for _, j := range set.Members {
			taken[j] = true
		}
		sets = append(sets, set)
	}
	return sets
}

// credible is a posterior over models, which are lists of their members.
type credible struct {
	models      [][]int
	probability []float64
	inclusion   []float64
	with        [][]int // for each predictor, the models that have it
}

func (s *credible) byInclusion(a, b int) int { return cmp.Compare(s.inclusion[b], s.inclusion[a]) }

// grow returns the credible set that begins with the predictor lead.
func (s *credible) grow(lead int, candidates []int, level, purity float64, correlation func(a, b int) float64) CredibleSet {
	set := CredibleSet{Purity: 1}
	met := make([]int, len(s.models)) // number of members of the set in each model
	gain := slices.Clone(s.inclusion) // for each predictor, the probability of the models that have it and no member of the set
	join := func(j int) {
		for _, k := range set.Members {
			set.Purity = math.Min(set.Purity, correlation(j, k))
		}
		set.Members = append(set.Members, j)
		for _, m := range s.with[j] {
			if met[m]++; met[m] == 1 {
				set.Probability += s.probability[m]
				for _, k := range s.models[m] {
					gain[k] -= s.probability[m]
				}
			}
		}
	}
	join(lead)
	for set.Probability < level && len(candidates) > 0 {
		next := slices.MaxFunc(candidates, func(a, b int) int { return cmp.Compare(gain[a], gain[b]) })
		if gain[next] <= 0 {
			break
		}
		join(next)
		candidates = slices.DeleteFunc(candidates, func(j int) bool { return j == next || correlation(j, next) < purity })
	}
	for m, members := range met {
		if members == 1 {
			set.One += s.probability[m]
		}
	}
	set.Probability, set.One = math.Min(set.Probability, 1), math.Min(set.One, 1) // sums may round above 1
	slices.SortStableFunc(set.Members, s.byInclusion)
	return set
}
