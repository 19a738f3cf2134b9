package models

import (
	"math"
	"slices"

	"github.com/transdim/vti/internal/psis"
)

// Probability returns the certified probability of the models that satisfy event, and its error.
func (c *Certificate) Probability(event func(code []int32) bool) (probability, se float64) {
	p, errors := c.Frequencies(1, func(code []int32) []int {
		if event(code) {
			return []int{0}
		}
		return nil
	})
	return p[0], errors[0]
}

// Listed reports whether probabilities of events are sums of the probabilities of Models, instead
// of sums of the weights of draws.
func (c *Certificate) Listed() bool { return c.Complete || c.Basis == ExactSum }

// rareEvent is a probability. The draws of a rarer event are too few to show how uneven their
// weights are: the sum of their squared weights tends to be too small where the estimated
// probability is too small itself. On eleven wide logistic tables, errors of probabilities from
// 0.005 to 0.02 had a root mean square of 1.56 standard errors by the draws of the event alone, and
// of 1.13 by the function pool. With a third and three times this value it was 1.12 and 1.18.
const rareEvent = 0.1

// Frequencies returns the certified probabilities of n events, with their standard errors. events
// returns the numbers, from 0 to n−1, of the events that a model satisfies. In a complete
// certificate the standard errors follow from the errors of the evidences (delta method over
// independent models). In an exact sum they are the probability of the models that are not listed.
// Otherwise they come from the weights, and for an event below rareEvent from weights at least as
// uneven as the weights of all such events together.
func (c *Certificate) Frequencies(n int, events func(code []int32) []int) (probability, se []float64) {
	return c.frequencies(n, events, true)
}

// frequencies is like Frequencies, but the errors of rare events come from all of them together
// only if the argument pooled is true. The draws of a single model have equal weights, so that
// their sum of squares is known.
func (c *Certificate) frequencies(n int, events func(code []int32) []int, pooled bool) (probability, se []float64) {
	probability, se = make([]float64, n), make([]float64, n)
	// spread is the sum of squared errors of the models, or of squared weights of the draws, that
	// satisfy an event. The variable all is the sum over all models or draws.
	spread := make([]float64, n)
	var all float64
	count := func(code []int32, weight, square float64) {
		all += square
		for _, event := range events(code) {
			probability[event] += weight
			spread[event] += square
		}
	}
	if c.Listed() {
		for _, model := range c.Models {
			square := model.Certified * model.LogEvidenceSE
			if model.KHat > psis.Reliable {
				square = math.Max(square, model.SE) // at most the bound of the evidence
			}
			if square *= square; math.IsNaN(square) {
				square = 0
			}
			count(model.Code, model.Certified, square)
		}
	} else if sample := c.weighted(); sample.Group == nil {
		for i, code := range sample.Codes {
			count(code, sample.Weight[i], sample.Weight[i]*sample.Weight[i])
		}
		if pooled {
			pool(probability, spread)
		}
		if c.byModel != nil { // draws of one model share the error of its evidence
			for _, model := range c.Models {
				if square := model.Certified * model.LogEvidenceSE; !math.IsNaN(square) {
					count(model.Code, 0, square*square)
				}
			}
		}
	} else {
		probability, se = sample.groupedFrequencies(n, events)
		for event := range se {
			se[event] = math.Max(se[event], c.leastSE())
		}
		return probability, se
	}
	for event, sum := range probability { // the variance is Σ w² (1[event] − p)²
		p := math.Min(1, sum) // weights sum to 1 up to rounding
		probability[event] = p
		se[event] = math.Max(math.Sqrt(math.Max(0, (1-2*p)*spread[event]+p*p*all)), c.leastSE())
	}
	if c.others != nil {
		c.others.sharpen(c.ESS, c.leastSE(), events, probability, se)
	}
	return probability, se
}

// pool raises sums of squared weights (spread) of rare events. Let w be the weight of a typical
// draw, estimated from all rare events together. The sum of an event of estimated probability p
// becomes at least (p + w) w, as if p were the weights of p/w typical draws and one more such draw
// were added.
func pool(probability, spread []float64) {
	var all, squares float64
	for event, p := range probability {
		if p < rareEvent {
			all, squares = all+p, squares+spread[event]
		}
	}
	if all == 0 {
		return
	}
	weight := squares / all // of a typical draw
	for event, p := range probability {
		if p < rareEvent {
			spread[event] = math.Max(spread[event], (p+weight)*weight)
		}
	}
}

// weighted returns the draws whose weights give the probabilities of an incomplete certificate.
func (c *Certificate) weighted() *WeightedSample {
	if c.byModel != nil {
		return c.byModel
	}
	return &c.Sample
}

// leastSE returns the standard error of the probability of an event that no draw, or every draw,
// satisfies. It is 0 if every model was weighted separately. In an exact sum it is the probability
// of the models that are not listed.
func (c *Certificate) leastSE() float64 {
	if c.Listed() {
		return c.unlisted
	}
	return leastSE(c.ESS)
}

// leastSE returns about the standard deviation of the probability of an event, under a uniform
// prior, given a number of independent draws without the event.
func leastSE(draws float64) float64 { return 1 / (draws + 2) }

// groupedFrequencies returns the probabilities of Frequencies, with their standard errors, for
// draws in G independent groups. With p the probability of an event, A_g the sum of the weights of
// group g, and E_g the sum over its draws that satisfy the event, Var p = Σ_g (E_g − p A_g)² G / (G
// − 1).
func (s *WeightedSample) groupedFrequencies(n int, events func(code []int32) []int) (probability, se []float64) {
	groups := slices.Max(s.Group) + 1
	probability, se = make([]float64, n), make([]float64, n)
	weight, inside := make([]float64, groups), make([]float64, n*groups)
	for i, code := range s.Codes {
		weight[s.Group[i]] += s.Weight[i]
		for _, event := range events(code) {
			probability[event] += s.Weight[i]
			inside[event*groups+s.Group[i]] += s.Weight[i]
		}
	}
	for event, sum := range probability {
		p := math.Min(1, sum) // weights sum to 1 up to rounding
		probability[event] = p
		var variance float64
		for g, w := range weight {
			residual := inside[event*groups+g] - p*w
			variance += residual * residual
		}
		se[event] = math.Sqrt(variance * float64(groups) / float64(groups-1))
	}
	return probability, se
}
