package vti

import (
	"context"

	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/models"
)

// certifyWithoutChains certifies without chains. If the certificate comes from evidences of models,
// without draws of parameters, the function also returns the models that it visited. Chains could
// not improve such a certificate.
func certifyWithoutChains(ctx context.Context, e *evaluator, cfg CertifyConfig) (w *weighing, visited *models.Visited, err error) {
	listed := cfg.lists(e.engine.Space)
	if flow, ok := e.Flow.(WeighedFlow); ok && listed {
		engine := &models.Engine{Space: e.engine.Space, LogPrior: e.LogPrior, Known: flow.Weighed(e.Device, e.Variables.In(evaluate.FlowScope)), Q: e, Seed: e.Seed}
		if engine.Known.Evidences != nil {
			engine.Known.Draws = min(engine.Known.Draws, cfg.Draws)
			certificate, _, err := engine.Certify(ctx, listed, cfg.overModels())
			return &weighing{Certificate: certificate, byFlow: true}, nil, err
		}
	}
	known := e.engine.Known
	if known.Evidences != nil && (!cfg.byDraws || known.Alone) {
		certificate, visited, err := e.engine.Certify(ctx, listed, cfg.overModels())
		if err != nil && (ctx.Err() != nil || known.Alone) {
			return nil, nil, err
		}
		// A preliminary certificate from models of q(m) may be poor only because q(m) is poor.
		if err == nil && (e.engine.Exact() || cfg.preliminary && !listed || certificate.Verdict == Trusted && !cfg.Confirm) {
			return &weighing{Certificate: certificate}, visited, nil
		}
		// The closed forms or the estimates around modes failed or are too poor. Weights of draws
		// from q do not need them.
		e.around = certificate
	}
	if !listed {
		w, err = certifyJointly(ctx, e, cfg)
		return w, nil, err
	}
	if w, err = certifyEach(ctx, e, cfg); err == nil && known.Evidences != nil && !e.engine.Exact() {
		err = w.compare(ctx, e, cfg)
	}
	return w, nil, err
}

// compare lowers the verdict of importance weights from the flow if they miss a mode that
// importance sampling around modes has found. It does so even if the sampling around modes is too
// imprecise for an answer.
func (w *weighing) compare(ctx context.Context, e *evaluator, cfg CertifyConfig) error {
	if e.around == nil { // nil in a resumed run, which repeats the draws
		var err error
		if e.around, _, err = e.engine.Certify(ctx, true, cfg.overModels()); err != nil {
			return ctx.Err()
		}
	}
	if missed := models.MissedByWeights(e.around, w.Certificate); missed != "" {
		w.Lower(Failed, "%s", missed)
	}
	return nil
}
