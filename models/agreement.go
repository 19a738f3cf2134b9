package models

import (
	"fmt"
	"math"

	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/space"
)

// Margins for rounding and bias, which standard errors do not include. They are added to the
// standard errors when two certificates are compared. Larger margins would hide a missed mode.
// Smaller margins would make correct answers doubtful.
const (
	agreeingOutcome = 0.01 // for the probability of an outcome
	agreeingMean    = 0.05 // for a mean, in posterior standard deviations
	agreeingSD      = 0.1  // for a posterior standard deviation, as a fraction of it
	// comparedInclusion is the smallest inclusion probability at which the mean and standard
	// deviation of a coordinate are compared.
	comparedInclusion = 0.05
	// favoured is a probability. Chains that never visit a model with a larger probability are said
	// to have missed the model.
	favoured = 0.02
)

// Two estimates agree if they differ by at most agreeingErrors times the standard error of their
// difference, plus a margin. A normal error exceeds four standard errors in one of 16,000
// comparisons.
const (
	agreeingErrors   = 4
	agreeingEvidence = 0.03 // the margin of log evidences, in nats
)

// EvidenceNear reports whether another estimate of the log evidence, with standard error se, agrees
// with the estimate of the certificate.
func (c *Certificate) EvidenceNear(log, se float64) bool {
	return math.Abs(c.LogEvidence-log) <= agreeingEvidence+agreeingErrors*math.Hypot(c.LogEvidenceSE, se)
}

// EvidenceText returns the log evidence with its error, for a reason of a verdict.
func (c *Certificate) EvidenceText() string {
	if !finite(c.LogEvidence) {
		return "not resolved"
	}
	return fmt.Sprintf("%.2f ± %.2g", c.LogEvidence, c.LogEvidenceSE)
}

// MissedByWeights compares two certificates: the argument weights, by importance weights of draws
// from a flow, and the argument modes, by draws around modes that a search found. It describes by
// how much the log evidence by weights falls short, or returns "" if the shortfall is within the
// errors. Weights estimate too little evidence where the flow misses a mode.
func MissedByWeights(modes, weights *Certificate) string {
	margin := agreeingEvidence + agreeingErrors*math.Hypot(modes.LogEvidenceSE, weights.LogEvidenceSE)
	if less := modes.LogEvidence - weights.LogEvidence; less > margin {
		return fmt.Sprintf("weights of q found %.2g nats less evidence than draws around modes", less)
	}
	return ""
}

// MissedByChains describes by how much the evidence found by chains falls short of the evidence
// found by importance weights, or a probable model that the chains never visited. It returns "" if
// there is neither. Unreliable weights find too little evidence, rarely too much.
func MissedByChains(weights, chains *Certificate) string {
	margin := agreeingEvidence + agreeingErrors*math.Hypot(weights.LogEvidenceSE, chains.LogEvidenceSE)
	if less := weights.LogEvidence - chains.LogEvidence; less > margin {
		return fmt.Sprintf("they found %.2g nats less evidence than the weights", less)
	}
	visited := map[string]bool{}
	for _, model := range chains.Models {
		visited[space.Key(model.Code)] = true
	}
	for _, model := range weights.Models {
		byWeights := model.Certified > favoured+agreeingErrors*model.SE
		byQ := model.Q > favoured && model.KHat > psis.Reliable // with such a k̂ q(m) is as good an estimate as the weights
		if (byWeights || byQ && weights.Complete) && !visited[space.Key(model.Code)] {
			return fmt.Sprintf("they never visited model %v, of probability %.2g by weights and %.2g by q", model.Code, model.Certified, model.Q)
		}
	}
	return ""
}

// Disagreement describes the first difference between two certificates that exceeds their errors.
// It returns "" if they agree. It compares the log evidences, the probabilities of all outcomes of
// the sites (entries) of a model's code, and the mean and standard deviation of every coordinate of
// theta given that the model uses the coordinate.
func Disagreement(sp space.Space, a, b *Certificate) string {
	if !a.EvidenceNear(b.LogEvidence, b.LogEvidenceSE) {
		return fmt.Sprintf("log evidences differ by %.2g", math.Abs(a.LogEvidence-b.LogEvidence))
	}
	n, members := space.Outcomes(sp)
	probabilityA, seA := a.Frequencies(n, members)
	probabilityB, seB := b.Frequencies(n, members)
	for i := range probabilityA {
		if difference := math.Abs(probabilityA[i] - probabilityB[i]); !(difference <= agreeingOutcome+agreeingErrors*math.Hypot(seA[i], seB[i])) {
			return fmt.Sprintf("the probabilities of an outcome differ by %.2g", difference)
		}
	}
	masker, ok := sp.(space.RowMasker)
	if !ok {
		return ""
	}
	all := b.Sample.moments(masker)
	for j, momentsA := range a.Sample.moments(masker) {
		momentsB := all[j]
		if math.Min(momentsA.inclusion, momentsB.inclusion) < comparedInclusion || momentsB.SD == 0 {
			continue
		}
		if difference := math.Abs(momentsA.Mean-momentsB.Mean) / momentsB.SD; !(difference <= agreeingMean+agreeingErrors*math.Hypot(momentsA.MeanSE, momentsB.MeanSE)/momentsB.SD) {
			return fmt.Sprintf("the means of coordinate %d differ by %.2g standard deviations", j, difference)
		}
		ratio := momentsA.SD / momentsB.SD
		if !(math.Abs(ratio-1) <= agreeingSD+agreeingErrors*math.Hypot(momentsA.SDSE, momentsB.SDSE)/momentsB.SD) {
			return fmt.Sprintf("the standard deviations of coordinate %d have ratio %.2g", j, ratio)
		}
	}
	return ""
}
