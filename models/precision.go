package models

import (
	"math"

	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/space"
)

// meansPrecision is the ratio of the requested standard error of means, in posterior standard
// deviations, to the requested standard error of probabilities. With the default of 0.005 for
// probabilities, means have 0.02.
const meansPrecision = 4

// Shortage returns the factor by which the number of draws must grow for the requested precision:
// standard errors of at most precision for the probabilities of models and outcomes, and of at most
// four times precision, in posterior standard deviations, for means. The result is at most 1 if the
// draws suffice, and 0 if precision is 0 or the certificate is an exact sum.
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
	needed, tail := worst/precision, 0.0
	if c.Missed != 0 && c.KHat < 1 { // until the share of the posterior missed by the draws is small enough
		tail = math.Pow(c.Missed/verdict.DoubtfulMissed, 1/(1-math.Max(c.KHat, 0)))
	}
	return max(needed*needed, 1/(meansPrecision*precision*meansPrecision*precision)/c.ESS, tail)
}

// Divergence returns the Kullback–Leibler divergence KL(p ‖ q) of q from the posterior p, in nats:
// the mean of log p(m, θ | y) − log q(m, θ) over the weighted sample. It is NaN if the sample has
// no densities under q.
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
