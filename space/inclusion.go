package space

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/apply"
)

// LogTerms holds the log prior log p(m) of every subset m of predictors: Sizes[|m|] for its size,
// plus Members[j] for every predictor j of m. Members is nil if log p(m) depends only on the size.
type LogTerms struct{ Sizes, Members []float64 }

// LogTerms returns log p(m) for subsets m of the given number of selectable predictors (groups). It
// is −Inf for sizes above MaxSize.
func (p Prior) LogTerms(groups int) LogTerms {
	if p.Kind != InclusionPrior {
		return LogTerms{Sizes: p.LogProbs(groups)}
	}
	must("space: Prior.LogTerms", p.ValidateFor(groups))
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

// Member returns the term of log p(m) that predictor j contributes if m contains it.
func (t LogTerms) Member(j int) float64 {
	if t.Members == nil {
		return 0
	}
	return t.Members[j]
}

// Birth returns the change of log p(m) when predictor j is added to a model m of the given size.
func (t LogTerms) Birth(size, j int) float64 { return t.Sizes[size+1] - t.Sizes[size] + t.Member(j) }

// OfCode returns log p(m) of the model whose predictors have the entry 1 in code.
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

// SizeProbs returns the prior probability of each model size from 0 to groups.
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

// independentSizes returns the probabilities of the sizes 0 to limit of a set that contains each
// predictor independently with the given inclusion probability.
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

// Reordered returns the prior for renumbered predictors: number k is predictor order[k] of p.
func (p Prior) Reordered(order []int) Prior {
	if p.Kind == InclusionPrior {
		old := p.Inclusion
		p.Inclusion = apply.To(order, func(j int) float64 { return old[j] })
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

// validateInclusionOf returns an error unless p has a probability for each of the predictors, and
// the expected size of a model is below the limit on the size.
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

// drawIndependently draws sets of predictors until a set is within the limit on its size. Since the
// limit is above the expected size, this takes few draws.
func (p Prior) drawIndependently(groups int, random *rand.Rand) []bool {
	must("space: Prior.Draw", p.ValidateFor(groups))
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
