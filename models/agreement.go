package models

import (
	"fmt"
	"math"

	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/space"
)

// Agreement of two certificates beside agreement of their evidences. Chosen by hand.
const (
	agreeingOutcome = 0.01
	agreeingMean    = 0.05 // posterior standard deviations
	agreeingSD      = 0.1  // of a standard deviation
	// comparedInclusion is the probability of being in the model from which on the mean and
	// standard deviation of a coordinate are compared.
	comparedInclusion = 0.05
	// favoured is the probability from which on chains that never visit a model have missed it.
	favoured = 0.02
)

// Agreement of two estimates: differences of up to agreeingErrors of their standard errors, and a
// little for what these leave out. Chosen by hand: the first makes a false alarm in one of 16,000
// comparisons, the other is below what a reader of the answer could care for.
const (
	agreeingErrors   = 4
	agreeingEvidence = 0.03 // nats
)

// EvidenceNear reports whether another estimate of the log evidence agrees with the certificate's.
func (c *Certificate) EvidenceNear(log, se float64) bool {
	return math.Abs(c.LogEvidence-log) <= agreeingEvidence+agreeingErrors*math.Hypot(c.LogEvidenceSE, se)
}

// EvidenceText is the log evidence with its error, for a reason of a verdict.
func (c *Certificate) EvidenceText() string {
	if !finite(c.LogEvidence) {
		return "not resolved"
	}
	return fmt.Sprintf("%.2f ± %.2g", c.LogEvidence, c.LogEvidenceSE)
}

// MissedByWeights says what weights of a flow have missed of the evidence that draws around modes
// found, or is empty. Estimates from weights are too small where they lack the largest ones, and
// rarely too large: more evidence is what the flow does not reach.
func MissedByWeights(modes, weights *Certificate) string {
	margin := agreeingEvidence + agreeingErrors*math.Hypot(modes.LogEvidenceSE, weights.LogEvidenceSE)
	if less := modes.LogEvidence - weights.LogEvidence; less > margin {
		return fmt.Sprintf("weights of q found %.2g nats less evidence than draws around modes", less)
	}
	return ""
}

// MissedByChains says what chains have missed of what weights found, or is empty. Weights that are
// not reliable find too little evidence, rarely too much: more of it than the chains have is
// theirs.
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
		byQ := model.Q > favoured && model.KHat > psis.Reliable // weights do not know better
		if (byWeights || byQ && weights.Complete) && !visited[space.Key(model.Code)] {
			return fmt.Sprintf("they never visited model %v, of probability %.2g by weights and %.2g by q", model.Code, model.Certified, model.Q)
		}
	}
	return ""
}

// Disagreement says in what two certificates differ beyond their errors, or is empty: log
// evidences, the probabilities of all outcomes, and the mean and standard deviation of every
// coordinate given that it is in the model.
func Disagreement(sp space.Space, a, b *Certificate) string {
	if !a.EvidenceNear(b.LogEvidence, b.LogEvidenceSE) {
		return fmt.Sprintf("log evidences differ by %.2g", math.Abs(a.LogEvidence-b.LogEvidence))
	}
	n, members := space.Outcomes(sp)
	ofA, seA := a.Frequencies(n, members)
	ofB, seB := b.Frequencies(n, members)
	for i := range ofA {
		if difference := math.Abs(ofA[i] - ofB[i]); !(difference <= agreeingOutcome+agreeingErrors*math.Hypot(seA[i], seB[i])) {
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
