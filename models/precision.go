package models

import (
	"math"

	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/space"
)

// meansPrecision is the error of a mean, in posterior standard deviations, over the corresponding
// standard error of a probability: 0.02 for the default of 0.005.
const meansPrecision = 4

// Shortage is the factor by which the number of draws must grow for the requested precision: of the
// probabilities of all models and outcomes, and four times it, in standard deviations, of means. It
// is at most 1 where they suffice, and 0 without a precision or without draws.
func (c *Certificate) Shortage(sp space.Space, precision float64) float64 {
	if precision == 0 || c.Basis == ExactSum {
		return 0
	}
	worst := 0.0
	for _, model := range c.Models {
		worst = math.Max(worst, model.SE)
	}
	n, members := space.Outcomes(sp)
	_, errors := c.Frequencies(n, members)
	for _, se := range errors {
		worst = math.Max(worst, se)
	}
	needed := worst / precision
	return max(needed*needed, 1/(meansPrecision*precision*meansPrecision*precision)/c.ESS, c.tailShortage())
}

// tailShortage is the factor by which the number of draws must grow until the largest weights miss
// little enough.
func (c *Certificate) tailShortage() float64 {
	if c.Missed == 0 || !(c.KHat < 1) {
		return 0
	}
	return math.Pow(c.Missed/verdict.DoubtfulMissed, 1/(1-math.Max(c.KHat, 0)))
}

// Divergence is KL(p ‖ q) in nats: the mean of log p(m, θ | y) − log q(m, θ) over the weighted
// sample, NaN without densities under q.
func (c *Certificate) Divergence() float64 {
	if c.Sample.LogQ == nil {
		return math.NaN()
	}
	total := 0.0
	for i, weight := range c.Sample.Weight {
		if weight > 0 {
			total += weight * (c.Sample.LogP[i] - c.LogEvidence - c.Sample.LogQ[i])
		}
	}
	return total
}
