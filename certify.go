package vti

import (
	"context"

	"github.com/transdim/vti/space"
)

// certify is what Posterior.Certify says it is.
func certify(ctx context.Context, e *evaluator, cfg CertifyConfig) (*Certificate, error) {
	count, ok := space.CountModels(e.target.Space())
	listed := ok && count <= cfg.MaxModels
	if target, exact := e.target.(ExactTarget); exact {
		certificate, err := certifyExactly(ctx, e, target, listed, cfg)
		if err == nil || ctx.Err() != nil {
			return certificate, err
		}
		// The closed form failed numerically: weights do not need it.
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
