package space

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
)

// LogTerms holds log p(m) under a prior: Sizes[|m|], plus Members[j] for every predictor j of m.
// Members is nil if the probability of a model depends on its size alone.
type LogTerms struct{ Sizes, Members []float64 }

// LogTerms returns log p(m) of the subsets of groups selectable predictors. Sizes from 0 to groups
// above MaxSize have −Inf.
func (p Prior) LogTerms(groups int) LogTerms {
	if p.Kind != InclusionPrior {
		return LogTerms{Sizes: p.LogProbs(groups)}
	}
	if err := p.ValidateFor(groups); err != nil {
		panic("space: Prior.LogTerms: " + err.Error())
	}
	terms, none, limit := LogTerms{Sizes: make([]float64, groups+1)}, 0.0, p.Limit(groups)
	for _, π := range p.Inclusion {
		none += math.Log1p(-π)
		terms.Members = append(terms.Members, math.Log(π)-math.Log1p(-π))
	}
	if limit < groups {
		none -= math.Log(floats.Sum(independentSizes(p.Inclusion, limit)))
	}
	for size := range terms.Sizes {
		if terms.Sizes[size] = none; size > limit {
			terms.Sizes[size] = math.Inf(-1)
		}
	}
	return terms
}

// Member returns the term of predictor j.
func (t LogTerms) Member(j int) float64 {
	if t.Members == nil {
		return 0
	}
	return t.Members[j]
}

// Birth returns the change of log p(m) when predictor j joins a model of the given size.
func (t LogTerms) Birth(size, j int) float64 { return t.Sizes[size+1] - t.Sizes[size] + t.Member(j) }

// Of returns log p(m) of the model with the given members.
func (t LogTerms) Of(members []int) float64 {
	sum := t.Sizes[len(members)]
	for _, j := range members {
		sum += t.Member(j)
	}
	return sum
}

// OfCode returns log p(m) of the model whose members have the entry 1 in code.
func (t LogTerms) OfCode(code []int32) (sum float64) {
	size := 0
	for j, in := range code {
		if in == 1 {
			size++
			sum += t.Member(j)
		}
	}
	return sum + t.Sizes[size]
}

// SizeProbs returns the prior probability of each size from 0 to groups.
func (p Prior) SizeProbs(groups int) []float64 {
	probs := make([]float64, groups+1)
	if p.Kind == InclusionPrior {
		copy(probs, independentSizes(p.Inclusion, p.Limit(groups)))
		floats.Scale(1/floats.Sum(probs), probs)
		return probs
	}
	for size, logProb := range p.LogProbs(groups) {
		if !math.IsInf(logProb, -1) {
			probs[size] = math.Exp(logProb + LogBinomial(groups, size))
		}
	}
	return probs
}

// independentSizes returns the probability of each size up to limit of a set that predictors enter
// independently.
func independentSizes(inclusion []float64, limit int) []float64 {
	probs := make([]float64, limit+1)
	probs[0] = 1
	for _, π := range inclusion {
		for size := limit; size > 0; size-- {
			probs[size] = probs[size]*(1-π) + probs[size-1]*π
		}
		probs[0] *= 1 - π
	}
	return probs
}

// Reordered returns the prior of predictors that are numbered anew: predictor k is order[k] of p.
func (p Prior) Reordered(order []int) Prior {
	if p.Kind == InclusionPrior {
		old := p.Inclusion
		p.Inclusion = make([]float64, len(order))
		for k, j := range order {
			p.Inclusion[k] = old[j]
		}
	}
	return p
}

// validateInclusion returns an error for a probability that is not strictly between 0 and 1.
func (p Prior) validateInclusion() error {
	for j, π := range p.Inclusion {
		if !(π > 0 && π < 1) {
			return fmt.Errorf("model prior %s: predictor %d: got %v, want an inclusion probability strictly between 0 and 1", p, j+1, π)
		}
	}
	return nil
}

// validateInclusionOf returns an error unless p has a probability for each of the predictors, and a
// limit on the size leaves models of the expected size.
func (p Prior) validateInclusionOf(groups int) error {
	if len(p.Inclusion) != groups {
		return fmt.Errorf("model prior %s: got %d inclusion probabilities, want one for each of %d predictors", p, len(p.Inclusion), groups)
	}
	limit := p.Limit(groups)
	if expected := floats.Sum(p.Inclusion); limit < groups && expected >= float64(limit) {
		return fmt.Errorf("model prior %s: inclusion probabilities add up to %.4g, and a model has at most %d predictors", p, expected, limit)
	}
	return nil
}

// drawIndependently draws predictors until there are at most as many as the limit allows. Since it
// is above their expected number, some draws are enough.
func (p Prior) drawIndependently(groups int, random *rand.Rand) []bool {
	if err := p.ValidateFor(groups); err != nil {
		panic("space: Prior.Draw: " + err.Error())
	}
	in := make([]bool, groups)
	for {
		size := 0
		for j, π := range p.Inclusion {
			if in[j] = random.Float64() < π; in[j] {
				size++
			}
		}
		if size <= p.Limit(groups) {
			return in
		}
	}
}
