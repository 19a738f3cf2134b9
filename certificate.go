package vti

import (
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/models"
)

// Verdict grades the trust in a certified answer. Its text is "trusted", "doubtful" or "failed".
type Verdict = verdict.Verdict

// The verdicts, from worst to best.
const (
	// Failed: the answer must not be used.
	Failed = verdict.Failed
	// Doubtful: the answer may be right, but the computation does not show it.
	Doubtful = verdict.Doubtful
	// Trusted: the answer holds to within its standard errors.
	Trusted = verdict.Trusted
)

// Certificate holds corrected model probabilities, evidences with their errors, and a verdict.
type Certificate = models.Certificate

// ModelEstimate holds the estimates of one model.
type ModelEstimate = models.Estimate

// WeightedSample holds draws (m, θ) with weights that sum to one.
type WeightedSample = models.WeightedSample

// SaveConfig sets the names and the number of draws that Certificate.Save writes.
type SaveConfig = models.SaveConfig

// Basis is the method behind a certificate.
type Basis = models.Basis

// The methods behind certificates. Package models documents them.
const (
	Weights         = models.Weights
	ExactSum        = models.ExactSum
	Chains          = models.Chains
	CollapsedChains = models.CollapsedChains
	BirthsAndDeaths = models.BirthsAndDeaths
)
