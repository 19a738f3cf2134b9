package vti

import (
	"context"
	"fmt"
	"math"
)

// certifyModels certifies a target whose evidences are known, or estimated without q: by the sum
// over all models where they can be listed, else by weights over models alone, which have no
// variance from parameters. It returns the masses of the models that it looked at beside the
// certificate.
func certifyModels(ctx context.Context, e *evaluator, source evidences, listed bool, cfg CertifyConfig) (certificate *Certificate, x *modelMasses, err error) {
	x = newModelMasses(e, source)
	if listed {
		certificate, err = x.sum(ctx, cfg)
		return certificate, x, err
	}
	if of, ok := itemsOf(e.target.Space()); ok {
		certificate, err = x.weighFitted(ctx, of, cfg)
		if err != nil && ctx.Err() != nil || err == nil && cfg.enough(certificate) {
			return certificate, x, err
		}
	}
	certificate, err = x.weighModels(ctx, cfg)
	return certificate, x, err
}

// sumStream names the random numbers of sums over all models. They are the same whenever one is
// made: its proposals know nothing of q, so that a sum after training is the one before it. With
// fresh ones an answer that was there could be lost to a round of training that only q needed.
const sumStream = "certify/sum"

// sum certifies by going through every model.
func (x *modelMasses) sum(ctx context.Context, cfg CertifyConfig) (*Certificate, error) {
	all := allCodes(x.e.target.Space())
	_, err := x.add(ctx, all, func(done int) {
		if cfg.Progress != nil {
			cfg.Progress(done, len(all))
		}
	})
	if err != nil {
		return nil, err
	}
	c := &Certificate{Basis: ExactSum, Complete: true, Models: estimatesOf(x.codes), KHat: math.NaN(), Draws: parameterDraws, ESS: parameterDraws}
	probability, logTotal := x.probabilities()
	if !finite(logTotal) {
		return nil, fmt.Errorf("log evidence of all models together: got %v, want a number", logTotal)
	}
	if cfg.glance && !cfg.keepModels {
		if err := setTable(x.e, x.logPrior, x.logMasses()); err != nil {
			return nil, err
		}
	}
	drawn, err := x.drawParameters(ctx, c, probability, parameterDraws, sumStream)
	if err != nil {
		return nil, err
	}
	probability, c.LogEvidence = x.probabilities() // better known now
	variance := 0.0
	for i, share := range probability {
		variance += share * x.evidence[i].se * share * x.evidence[i].se
	}
	for i := range c.Models {
		model, own := &c.Models[i], x.evidence[i]
		model.Certified, model.LogEvidence, model.LogEvidenceSE, model.KHat, model.Draws = probability[i], own.log, own.se, math.NaN(), own.draws
		if math.IsInf(x.logPrior[i], -1) {
			model.LogEvidence = math.NaN()
			continue
		}
		c.ModelsChecked++
		// As in Certificate.update.
		model.SE = model.Certified * math.Sqrt(math.Max(0, (1-2*model.Certified)*own.se*own.se+variance))
	}
	if !x.exact() {
		c.Basis, c.KHat, c.LogEvidenceSE = Weights, drawn.shape(probability), math.Sqrt(variance)
		c.ESS /= 1 + variance*parameterDraws
	}
	logModel, err := x.e.logModel(x.codes)
	if err != nil {
		return nil, err
	}
	c.setQ(logModel)
	c.sortModels()
	c.judge()
	return c, nil
}
