package vti

import (
	"context"

	"github.com/transdim/vti/models"
	"github.com/transdim/vti/space"
)

// certify is what Posterior.Certify says it is.
func certify(ctx context.Context, e *evaluator, cfg CertifyConfig) (*Certificate, error) {
	w, visited, err := weigh(ctx, e, cfg)
	if err == nil && visited == nil && (w.Verdict != Trusted || cfg.Confirm) {
		w, err = check(ctx, e, w, cfg, func(cfg CertifyConfig) (*weighing, error) {
			w, _, err := weigh(ctx, e, cfg)
			return w, err
		})
	}
	if err != nil {
		return nil, err
	}
	return w.Certificate, nil
}

// weigh certifies without chains. Where it goes over models alone it returns those that it visited
// too: chains could not make them more certain.
func weigh(ctx context.Context, e *evaluator, cfg CertifyConfig) (w *weighing, visited *models.Visited, err error) {
	count, ok := space.CountModels(e.engine.Space)
	listed := ok && count <= cfg.MaxModels
	if known := e.engine.Known; known.Evidences != nil && (!cfg.byDraws || known.Alone) {
		certificate, visited, err := e.engine.Certify(ctx, listed, cfg.overModels())
		if err != nil && (ctx.Err() != nil || known.Alone) {
			return nil, nil, err
		}
		// At a glance q(m) may be what is missing.
		if err == nil && (e.engine.Exact() || cfg.glance && !listed || certificate.Verdict == Trusted && !cfg.Confirm) {
			return &weighing{Certificate: certificate}, visited, nil
		}
		// Closed forms or approximations failed numerically, or are no good: weights of q do not
		// need them.
	}
	if listed {
		w, err = certifyEach(ctx, e, cfg)
	} else {
		w, err = certifyJointly(ctx, e, cfg)
	}
	return w, nil, err
}
