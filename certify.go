package vti

import (
	"context"

	"github.com/transdim/vti/space"
)

// certify is what Posterior.Certify says it is.
func certify(ctx context.Context, e *evaluator, cfg CertifyConfig) (*Certificate, error) {
	certificate, masses, err := weigh(ctx, e, cfg)
	if err == nil && masses == nil && (certificate.Verdict != Trusted || cfg.Confirm) {
		certificate, err = check(ctx, e, certificate, cfg, func(cfg CertifyConfig) (*Certificate, error) {
			certificate, _, err := weigh(ctx, e, cfg)
			return certificate, err
		})
	}
	if err != nil {
		return nil, err
	}
	certificate.shares = nil // frees the sampler
	return certificate, nil
}

// weigh certifies without chains. Where it goes over models alone it returns their masses too:
// chains could not make them more certain.
func weigh(ctx context.Context, e *evaluator, cfg CertifyConfig) (certificate *Certificate, masses *modelMasses, err error) {
	count, ok := space.CountModels(e.Target.Space())
	listed := ok && count <= cfg.MaxModels
	_, substitute := e.Target.(SubstituteTarget)
	if source := evidencesOf(e); source != nil && (!cfg.byDraws || substitute) {
		certificate, masses, err = certifyModels(ctx, e, source, listed, cfg)
		if err != nil && ctx.Err() != nil {
			return nil, nil, err
		}
		if err != nil && substitute {
			return nil, nil, err
		}
		// At a glance q(m) may be what is missing.
		if err == nil && (masses.exact() || cfg.glance && !listed || certificate.Verdict == Trusted && !cfg.Confirm) {
			return certificate, masses, nil
		}
		// Closed forms or approximations failed numerically, or are no good: weights of q do not
		// need them.
	}
	if listed {
		certificate, err = certifyEach(ctx, e, cfg)
	} else {
		certificate, err = certifyJointly(ctx, e, cfg)
	}
	return certificate, nil, err
}
