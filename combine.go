package vti

import (
	"math"

	"github.com/transdim/vti/models"
)

// CertificateOf is what the evidences of all models of a space amount to, with its verdict: models
// in the order of codes, and no sample. logPrior has log p(m) of each, and all three have the same
// length.
func CertificateOf(codes [][]int32, logPrior []float64, evidence []models.Evidence) *Certificate {
	c := &Certificate{Complete: true, Models: estimatesOf(codes)}
	c.combine(logPrior, evidence)
	for i := range c.Models {
		c.Models[i].Q = math.NaN()
	}
	c.judge()
	return c
}

// Missed is the share of the posterior that may lie where weights are larger than any that was
// drawn (psis.TailShare).
func (c *Certificate) Missed() float64 { return c.missed }

// combine sets the estimates of the models, in their order, and the diagnostics of all of them.
func (c *Certificate) combine(logPrior []float64, evidence []models.Evidence) {
	sum := models.Combine(logPrior, evidence)
	c.LogEvidence, c.LogEvidenceSE, c.KHat, c.ESS, c.missed = sum.LogEvidence, sum.LogEvidenceSE, sum.KHat, sum.ESS, sum.Missed
	c.Draws, c.NonFinite, c.ModelsChecked = sum.Draws, sum.NonFinite, 0
	for i, own := range evidence {
		model := &c.Models[i]
		model.Certified, model.SE = sum.Probability[i], sum.SE[i]
		model.LogEvidence, model.LogEvidenceSE, model.KHat, model.Draws = own.Log, own.SE, own.KHat, own.Draws
		if math.IsInf(logPrior[i], -1) {
			model.LogEvidence = math.NaN()
			continue
		}
		c.ModelsChecked++
	}
}
