package varsel

import (
	"cmp"
	"math"
	"slices"
)

// A list of models whose probabilities sum to one within this is complete.
const completeTol = 1e-6

// Disagreements smaller than this are not worth a reader's time however small their standard error, and this many are listed.
const (
	leastDifference   = 1e-4
	mostDisagreements = 10
)

// newPair compares two probabilities. NaN stands for a probability or a standard error that is not known.
func newPair(a, seA, b, seB Number) Pair {
	z := float64(a-b) / math.Hypot(float64(seA), float64(seB))
	return Pair{A: a, SEA: seA, B: b, SEB: seB, Difference: a - b, Z: Number(z)}
}

// matched are the models that two runs list.
type matched struct {
	pairs []Pair
	// completeA and completeB tell whether a run's list holds all its probability: then a model that it does not list has none.
	completeA, completeB bool
}

// matchModels pairs the models of two lists by code, the most probable first.
func matchModels(a, b []ModelReport) matched {
	m := matched{completeA: isComplete(a), completeB: isComplete(b)}
	unlisted := func(complete bool) (probability, se Number) {
		probability, se = Number(math.NaN()), Number(math.NaN())
		if complete {
			probability = 0
		}
		return probability, se
	}
	inB := make(map[string]ModelReport, len(b))
	for _, model := range b {
		inB[model.Code] = model
	}
	for _, model := range a {
		p, se := unlisted(m.completeB)
		if other, ok := inB[model.Code]; ok {
			p, se = other.Certified, other.SE
			delete(inB, model.Code)
		}
		pair := newPair(model.Certified, model.SE, p, se)
		pair.Code = model.Code
		m.pairs = append(m.pairs, pair)
	}
	for _, model := range b {
		if _, left := inB[model.Code]; left {
			p, se := unlisted(m.completeA)
			pair := newPair(p, se, model.Certified, model.SE)
			pair.Code = model.Code
			m.pairs = append(m.pairs, pair)
		}
	}
	slices.SortFunc(m.pairs, func(x, y Pair) int {
		return cmp.Or(cmp.Compare(y.largest(), x.largest()), cmp.Compare(x.Code, y.Code))
	})
	return m
}

// largest is the larger probability of the pair.
func (p Pair) largest() float64 {
	if math.IsNaN(float64(p.A)) || p.B > p.A {
		return float64(p.B)
	}
	return float64(p.A)
}

// known tells whether both probabilities are.
func (p Pair) known() bool { return !math.IsNaN(float64(p.Difference)) }

func isComplete(models []ModelReport) bool {
	var sum float64
	for _, model := range models {
		sum += float64(model.Certified)
	}
	return sum > 1-completeTol
}

// totalVariation bounds ½ Σ_m |p_A(m) − p_B(m)|. The models of which only one probability or none is known have, in each run, what the
// known ones leave of one: at least the difference of the two remainders, at most their sum.
func (m matched) totalVariation() Interval {
	var sum, massA, massB float64
	for _, pair := range m.pairs {
		if pair.known() {
			sum += math.Abs(float64(pair.Difference))
			massA += float64(pair.A)
			massB += float64(pair.B)
		}
	}
	restA, restB := math.Max(0, 1-massA), math.Max(0, 1-massB)
	if restA < completeTol && restB < completeTol {
		restA, restB = 0, 0
	}
	return Interval{Low: Number((sum + math.Abs(restA-restB)) / 2), High: Number(math.Min(1, (sum+restA+restB)/2))}
}

// divergence is the Kullback-Leibler divergence Σ_m p_A(m) log (p_A(m) / p_B(m)), or with A and B exchanged: NaN when a list is not
// complete, +Inf when a model has probability in the first and none in the second.
func (m matched) divergence(reversed bool) Number {
	if !m.completeA || !m.completeB {
		return Number(math.NaN())
	}
	var sum float64
	for _, pair := range m.pairs {
		p, q := float64(pair.A), float64(pair.B)
		if reversed {
			p, q = q, p
		}
		if p > 0 {
			sum += p * math.Log(p/q)
		}
	}
	return Number(sum)
}

// largest returns the pairs with the largest |Z|; those without come last.
func largest(pairs []Pair) []Pair {
	size := func(p Pair) float64 {
		if z := math.Abs(float64(p.Z)); !math.IsNaN(z) {
			return z
		}
		return 0
	}
	pairs = slices.DeleteFunc(pairs, func(p Pair) bool { return !(math.Abs(float64(p.Difference)) >= leastDifference) })
	slices.SortStableFunc(pairs, func(x, y Pair) int {
		return cmp.Or(cmp.Compare(size(y), size(x)), cmp.Compare(math.Abs(float64(y.Difference)), math.Abs(float64(x.Difference))))
	})
	return pairs[:min(len(pairs), mostDisagreements)]
}
