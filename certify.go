package vti

import (
	"context"

	"github.com/transdim/vti/space"
)

// certify is what Posterior.Certify says it is.
func certify(ctx context.Context, e *evaluator, cfg CertifyConfig) (*Certificate, error) {
	count, ok := space.CountModels(e.target.Space())
	listed := ok && count <= cfg.MaxModels
	if source := evidencesOf(e); source != nil {
		certificate, err := certifyModels(ctx, e, source, listed, cfg)
		if ctx.Err() != nil {
			return nil, err
		}
		_, exact := source.(exactEvidences)
		if err == nil && (exact || certificate.Verdict == Trusted && !cfg.Confirm) {
			return certificate, nil
		}
		// Closed forms or approximations failed numerically, or are no good: weights of q do not
		// need them.
	}
	byWeights := certifyEach
	if !listed {
		byWeights = certifyJointly
	}
	certificate, err := byWeights(ctx, e, cfg)
	if err != nil || certificate.Verdict == Trusted && !cfg.Confirm {
		return certificate, err
	}
	return check(ctx, e, certificate, cfg)
}
