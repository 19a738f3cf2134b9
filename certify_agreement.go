package vti

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/space"
)

// Agreement of two certificates beside that of their evidences (evidenceNear). Chosen by hand as
// there.
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

// check compares a certificate by weights, which again makes once more, with tempered chains, which
// do not depend on q, and returns the one to believe. Agreement of two methods justifies trust in
// the more precise of them. Chains alone never do: that they mix shows only that they mix among the
// models that they have found. Agreement of probabilities and moments leaves room for a small mode
// that weights have missed; draws of the chains themselves do not. Where there is one, weights are
// made once more with proposals there.
func check(ctx context.Context, e *evaluator, weights *Certificate, cfg CertifyConfig, again func(CertifyConfig) (*Certificate, error)) (*Certificate, error) {
	c := &confirmation{e: e, weights: weights, cfg: cfg, again: again}
	if cfg.Short && weights.Verdict == Trusted {
		if err := c.short(ctx); err != nil || c.weights.Confirmed {
			return c.weights, err
		}
	}
	chains, err := certifyByChains(ctx, e, c.weights, c.cfg, longChains(cfg))
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		c.weights.lower(Doubtful, "the check by chains failed: %v", err)
		return c.weights, nil
	}
	if err := c.cover(chains); err != nil {
		return nil, err
	}
	answer := conclusion(e.Target.Space(), c.weights, chains)
	answer.witnesses = c.weights.witnesses
	return answer, nil
}

// confirmation is a check in progress.
type confirmation struct {
	e       *evaluator
	weights *Certificate
	cfg     CertifyConfig // with what chains have found so far as witnesses
	found   witnesses
	again   func(CertifyConfig) (*Certificate, error)
}

// short confirms weights where short chains agree with them. What else those show is for longer
// ones to say, but what they have found where weights had no draws stays found.
func (c *confirmation) short(ctx context.Context) error {
	sp := c.e.Target.Space()
	for _, length := range []chainLength{shortChains, warmChains()} {
		cfg := c.cfg
		cfg.stream = fmt.Sprintf("%s/short/%d", cfg.stream, length.burnIn)
		chains, err := certifyByChains(ctx, c.e, c.weights, cfg, length)
		if err != nil || chains.Verdict != Trusted {
			if ctx.Err() != nil {
				return err
			}
			continue // chains that have not mixed say nothing
		}
		if err := c.cover(chains); err != nil {
			return err
		}
		c.weights.Confirmed = c.weights.Verdict == Trusted && missedByChains(c.weights, chains) == "" && disagreement(sp, c.weights, chains) == ""
		return nil
	}
	return nil
}

// cover makes weights once more, with proposals where chains have draws and these have none.
func (c *confirmation) cover(chains *Certificate) error {
	unseen, share, err := c.weights.unseenOf(chains)
	if err != nil || !(share > verdict.DoubtfulMissed) {
		return err
	}
	c.found.add(unseen)
	c.cfg.stream, c.cfg.witnesses = c.cfg.stream+"/again", append(slices.Clone(c.cfg.witnesses), unseen)
	if c.weights, err = c.again(c.cfg); err != nil {
		return err
	}
	if _, share, err = c.weights.unseenOf(chains); err != nil {
		return err
	}
	if share > verdict.DoubtfulMissed {
		c.weights.unseen = true
		c.weights.lower(Doubtful, "tempered chains found %.2g of the posterior in regions where the weights have hardly any draws", share)
	}
	c.weights.witnesses.add(c.found...)
	return nil
}

// conclusion is what weights and chains together show. Weights that have not seen what other draws
// found are not confirmed by chains that agree with them: these have not seen it either.
func conclusion(sp space.Space, weights, chains *Certificate) *Certificate {
	if missed := missedByChains(weights, chains); missed != "" {
		weights.lower(Doubtful, "tempered chains could not check the weights: %s", missed)
		return weights
	}
	difference := disagreement(sp, weights, chains)
	switch {
	case difference == "" && weights.Verdict == Trusted && chains.Verdict == Trusted:
		weights.Confirmed = true
		return weights
	case difference == "" && weights.Verdict == Doubtful && !weights.unseen && chains.Verdict == Trusted:
		chains.Confirmed = true
		chains.adopt(weights)
		return chains
	case weights.Verdict == Trusted && chains.Verdict != Trusted:
		weights.lower(Doubtful, "tempered chains did not confirm the answer: %s", chains.Reasons[0])
		return weights
	case weights.Verdict > chains.Verdict:
		return weights
	}
	if chains.Verdict == Trusted {
		why := difference
		if weights.Verdict != Trusted {
			why = weights.Reasons[0]
		}
		chains.lower(Doubtful, "weights were not good enough to confirm the chains: %s; log evidence %s by weights, %s by chains", why, weights.evidenceText(), chains.evidenceText())
	}
	chains.adopt(weights)
	return chains
}

// evidenceText is the log evidence with its error, for a reason of a verdict.
func (c *Certificate) evidenceText() string {
	if !finite(c.LogEvidence) {
		return "not resolved"
	}
	return fmt.Sprintf("%.2f ± %.2g", c.LogEvidence, c.LogEvidenceSE)
}

// missedByChains says what chains have missed of what weights found, or is empty. Weights that are
// not reliable find too little evidence, rarely too much: more of it than the chains have is
// theirs.
func missedByChains(weights, chains *Certificate) string {
	margin := agreeingEvidence + agreeingErrors*math.Hypot(weights.LogEvidenceSE, chains.LogEvidenceSE)
	if less := weights.LogEvidence - chains.LogEvidence; less > margin {
		return fmt.Sprintf("they found %.2g nats less evidence than the weights", less)
	}
	visited := map[string]bool{}
	for _, model := range chains.Models {
		visited[codeKey(model.Code)] = true
	}
	for _, model := range weights.Models {
		byWeights := model.Certified > favoured+agreeingErrors*model.SE
		byQ := model.Q > favoured && model.KHat > psis.Reliable // weights do not know better
		if (byWeights || byQ && weights.Complete) && !visited[codeKey(model.Code)] {
			return fmt.Sprintf("they never visited model %v, of probability %.2g by weights and %.2g by q", model.Code, model.Certified, model.Q)
		}
	}
	return ""
}

// disagreement says in what two certificates differ beyond their errors, or is empty: log
// evidences, the probabilities of all outcomes, and the mean and standard deviation of every
// coordinate given that it is in the model.
func disagreement(sp space.Space, a, b *Certificate) string {
	if !a.evidenceNear(b.LogEvidence, b.LogEvidenceSE) {
		return fmt.Sprintf("log evidences differ by %.2g", math.Abs(a.LogEvidence-b.LogEvidence))
	}
	n, members := outcomesOf(sp)
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
		if math.Min(momentsA.inclusion, momentsB.inclusion) < comparedInclusion || momentsB.sd == 0 {
			continue
		}
		if difference := math.Abs(momentsA.mean-momentsB.mean) / momentsB.sd; !(difference <= agreeingMean+agreeingErrors*math.Hypot(momentsA.meanSE, momentsB.meanSE)/momentsB.sd) {
			return fmt.Sprintf("the means of coordinate %d differ by %.2g standard deviations", j, difference)
		}
		ratio := momentsA.sd / momentsB.sd
		if !(math.Abs(ratio-1) <= agreeingSD+agreeingErrors*math.Hypot(momentsA.sdSE, momentsB.sdSE)/momentsB.sd) {
			return fmt.Sprintf("the standard deviations of coordinate %d have ratio %.2g", j, ratio)
		}
	}
	return ""
}
