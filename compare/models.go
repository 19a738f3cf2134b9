package compare

import (
	"cmp"
	"math"
	"slices"

	"github.com/transdim/vti/internal/report"
)

// completeTol bounds the distance between one and the sum of the probabilities in a complete list
// of models.
const completeTol = 1e-6

// Model is a model in the list of a run, with its probability.
type Model struct {
	// Code identifies the model, as text.
	Code string
	// Probability is the probability of the model, and SE its standard error.
	Probability, SE report.Number
}

// matched holds a pair of probabilities for each model that either of two runs lists.
type matched struct {
	pairs []Pair
	// completeA and completeB report whether the list of the run is complete, so that unlisted
	// models have probability 0 in the run.
	completeA, completeB bool
}

// CompareModels sets TotalVariation, KLAB, KLBA and Models of c from the lists a and b of models of
// the two runs.
func (c *Comparison) CompareModels(a, b []Model) {
	m := matchModels(a, b)
	total := m.totalVariation()
	c.TotalVariation, c.KLAB, c.KLBA, c.Models = &total, m.divergence(false), m.divergence(true), m.pairs
}

// matchModels pairs the models of two lists by code, and sorts the pairs by the larger of their
// probabilities, the largest first.
func matchModels(a, b []Model) matched {
	m := matched{completeA: isComplete(a), completeB: isComplete(b)}
	unlisted := func(complete bool) Model {
		if complete {
			return Model{SE: report.Number(math.NaN())}
		}
		return Model{Probability: report.Number(math.NaN()), SE: report.Number(math.NaN())}
	}
	add := func(code string, a, b Model) {
		pair := NewPair(a.Probability, a.SE, b.Probability, b.SE)
		pair.Code = code
		m.pairs = append(m.pairs, pair)
	}
	inB := make(map[string]Model, len(b))
	for _, model := range b {
		inB[model.Code] = model
	}
	for _, model := range a {
		other, listed := inB[model.Code]
		if !listed {
			other = unlisted(m.completeB)
		}
		delete(inB, model.Code)
		add(model.Code, model, other)
	}
	for _, model := range b {
		if _, left := inB[model.Code]; left {
			add(model.Code, unlisted(m.completeA), model)
		}
	}
	slices.SortFunc(m.pairs, func(x, y Pair) int {
		return cmp.Or(cmp.Compare(y.largest(), x.largest()), cmp.Compare(x.Code, y.Code))
	})
	return m
}

func isComplete(models []Model) bool {
	var sum float64
	for _, model := range models {
		sum += float64(model.Probability)
	}
	return sum > 1-completeTol
}

// totalVariation bounds ½ Σ_m |p_A(m) − p_B(m)|. Models whose probability is not known in both runs
// share, in each run, one minus the sum of the other probabilities. They contribute to Σ at least
// the difference of these two remainders, and at most their sum.
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
	return Interval{Low: report.Number((sum + math.Abs(restA-restB)) / 2), High: report.Number(math.Min(1, (sum+restA+restB)/2))}
}

// divergence returns Σ_m p_A(m) log (p_A(m) / p_B(m)) or, if reversed is true, the sum with A and B
// exchanged. It is NaN if a list is not complete, and +Inf if a model has probability 0 in the
// denominator only.
func (m matched) divergence(reversed bool) report.Number {
	if !m.completeA || !m.completeB {
		return report.Number(math.NaN())
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
	return report.Number(max(sum, 0)) // rounding errors can make it negative
}
