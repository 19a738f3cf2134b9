package vti

import (
	"context"
	"fmt"
	"slices"

	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/models"
	"github.com/transdim/vti/space"
)

// certify certifies by importance weights or sums over models. It compares the weights with
// tempered chains if the weights are not trusted or if the settings ask for confirmation.
func certify(ctx context.Context, e *evaluator, cfg CertifyConfig) (*Certificate, error) {
	w, visited, err := certifyWithoutChains(ctx, e, cfg)
	if err == nil && visited == nil && !cfg.NoChains && (w.Verdict != Trusted && !w.byFlow || cfg.Confirm) {
		w, err = check(ctx, e, w, cfg, cfg.Draws)
	}
	if err != nil {
		return nil, err
	}
	return w.Certificate, nil
}

// check compares the argument weights, a certificate by importance weights, with tempered chains,
// which do not depend on q. It returns the more reliable certificate. If the two methods agree, the
// more precise one can be trusted. Chains alone cannot be trusted: they may have mixed only among
// the models that they have found. The weights may have missed a small mode although probabilities
// and moments agree. If draws of the chains show such a mode, the function computes a new
// certificate by weights of the given number of draws, with proposals at the draws of chains.
func check(ctx context.Context, e *evaluator, weights *weighing, cfg CertifyConfig, draws int) (*weighing, error) {
	c := &confirmation{e: e, weights: weights, cfg: cfg, draws: draws}
	if cfg.Short && weights.Verdict == Trusted {
		if err := c.short(ctx); err != nil || c.weights.Confirmed {
			return c.weights, err
		}
	}
	chains, err := certifyByChains(ctx, e, c.weights.Certificate, c.cfg, longChains(cfg))
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		c.weights.Lower(Doubtful, "the check by chains failed: %v", err)
		return c.weights, nil
	}
	if err := c.cover(ctx, chains); err != nil {
		return nil, err
	}
	c.weights.Certificate = conclusion(e.Target.Space(), c.weights, chains)
	return c.weights, nil
}

// confirmation is the state of a check of weights by chains.
type confirmation struct {
	e       *evaluator
	weights *weighing
	cfg     CertifyConfig // its witnesses (points with posterior mass) include draws of the chains so far
	found   witnesses
	draws   int // number of draws of a new certificate by weights
}

// short confirms the weights if short chains agree with them. If they do not agree, longer chains
// decide. New proposals in regions that only the short chains found (cover) remain in both cases.
func (c *confirmation) short(ctx context.Context) error {
	sp := c.e.Target.Space()
	warm := shortChains
	warm.burnIn *= 2 // for chains that have not mixed
	for _, length := range []chainLength{shortChains, warm} {
		cfg := c.cfg
		cfg.stream = fmt.Sprintf("%s/short/%d", cfg.stream, length.burnIn)
		chains, err := certifyByChains(ctx, c.e, c.weights.Certificate, cfg, length)
		if err != nil || chains.Verdict != Trusted {
			if ctx.Err() != nil {
				return err
			}
			continue // chains that have not mixed show nothing about the weights
		}
		if err := c.cover(ctx, chains); err != nil {
			return err
		}
		c.weights.Confirmed = c.weights.Verdict == Trusted && models.MissedByChains(c.weights.Certificate, chains) == "" && models.Disagreement(sp, c.weights.Certificate, chains) == ""
		return nil
	}
	return nil
}

// cover computes a new certificate by weights, with proposals at draws of the chains in regions
// where the weights have no draws, if these regions hold enough of the posterior. Any share is
// enough if probabilities or moments by weights and by chains differ, because a far mode of little
// mass can make most of a variance.
func (c *confirmation) cover(ctx context.Context, chains *Certificate) error {
	unseen, share, err := c.weights.unseenOf(chains)
	enough := share > verdict.DoubtfulMissed || share > 0 && models.Disagreement(c.e.Target.Space(), c.weights.Certificate, chains) != ""
	if err != nil || !enough {
		return err
	}
	c.found.add(unseen)
	c.cfg.stream, c.cfg.witnesses = c.cfg.stream+"/again", append(slices.Clone(c.cfg.witnesses), unseen)
	again := c.cfg
	again.Draws = c.draws
	if c.weights, _, err = certifyWithoutChains(ctx, c.e, again); err != nil {
		return err
	}
	if _, share, err = c.weights.unseenOf(chains); err != nil {
		return err
	}
	if share > verdict.DoubtfulMissed {
		c.weights.unseen = true
		c.weights.Lower(Doubtful, "tempered chains found %.2g of the posterior in regions where the weights have hardly any draws", share)
	}
	c.weights.witnesses.add(c.found...)
	return nil
}

// conclusion returns the certificate that follows from weights and chains together. If other draws
// found a region that the weights missed (w.unseen), agreement with chains does not confirm the
// weights, because the chains missed the region too.
func conclusion(sp space.Space, w *weighing, chains *Certificate) *Certificate {
	weights := w.Certificate
	if missed := models.MissedByChains(weights, chains); missed != "" {
		weights.Lower(Doubtful, "tempered chains could not check the weights: %s", missed)
		return weights
	}
	difference := models.Disagreement(sp, weights, chains)
	switch {
	case difference == "" && weights.Verdict == Trusted && chains.Verdict == Trusted:
		weights.Confirmed = true
		return weights
	case difference == "" && weights.Verdict == Doubtful && !w.unseen && chains.Verdict == Trusted:
		chains.Confirmed = true
		chains.Adopt(weights)
		return chains
	case weights.Verdict == Trusted && chains.Verdict != Trusted:
		weights.Lower(Doubtful, "tempered chains did not confirm the answer: %s", chains.Reasons[0])
		return weights
	case weights.Verdict > chains.Verdict:
		return weights
	}
	if chains.Verdict == Trusted {
		why := difference
		if weights.Verdict != Trusted {
			why = weights.Reasons[0]
		}
		chains.Lower(Doubtful, "weights were not good enough to confirm the chains: %s; log evidence %s by weights, %s by chains", why, weights.EvidenceText(), chains.EvidenceText())
	}
	chains.Adopt(weights)
	return chains
}
