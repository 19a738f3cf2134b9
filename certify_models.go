package vti

import (
	"context"
	"fmt"
	"math"

	"github.com/transdim/vti/models"
)

// certifyModels certifies a target whose evidences are known, or estimated without q: by the sum
// over all models where they can be listed or the target makes it, else by weights over models
// alone, which have no variance from parameters. It returns the masses of the models that it looked
// at together with the certificate.
func certifyModels(ctx context.Context, e *evaluator, source evidences, listed bool, cfg CertifyConfig) (certificate *Certificate, x *modelMasses, err error) {
	x = newModelMasses(e, source)
	if listed {
		certificate, err = x.sum(ctx, cfg)
		return certificate, x, err
	}
	if target, ok := e.Target.(SummedTarget); ok {
		if certificate, err = x.sumOf(ctx, target, cfg); err != nil || certificate != nil {
			return certificate, x, err
		}
	}
	if of, ok := itemsOf(e.Target.Space()); ok {
		certificate, err = x.weighFitted(ctx, of, cfg)
		if err != nil && ctx.Err() != nil || err == nil && cfg.enough(certificate) {
			return certificate, x, err
		}
	}
	certificate, err = x.weighModels(ctx, cfg)
	return certificate, x, err
}

// sumStream names the random numbers of sums over all models. They are the same whenever one is
// made: its proposals do not depend on q, so that a sum after training is the one before it. With
// fresh ones an answer that was there could be lost to a round of training that only q needed.
const sumStream = "certify/sum"

// sum certifies by going through every model.
func (x *modelMasses) sum(ctx context.Context, cfg CertifyConfig) (*Certificate, error) {
	all := allCodes(x.e.Target.Space())
	_, err := x.add(ctx, all, func(done int) {
		if cfg.Progress != nil {
			cfg.Progress(done, len(all))
		}
	})
	if err != nil {
		return nil, err
	}
	c := &Certificate{Basis: ExactSum, Complete: true, Models: estimatesOf(x.codes), KHat: math.NaN()}
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
	c.combine(x.logPrior, x.evidence) // better known now
	c.Draws, c.ESS = parameterDraws, models.EffectiveOf(c.ESS, parameterDraws)
	if !x.exact() {
		probability, _ = x.probabilities()
		c.Basis, c.KHat = Weights, drawn.shape(probability)
	}
	logModel, err := x.e.LogModel(x.codes)
	if err != nil {
		return nil, err
	}
	c.setQ(logModel)
	c.sortModels()
	c.judge()
	return c, nil
}

// sumOf certifies by the sum that the target itself makes; nil where it makes none. Models have
// their probabilities in all of it, and those that it does not list are left out of draws. The
// first one fits q(m), which no table of so many models can be.
func (x *modelMasses) sumOf(ctx context.Context, target SummedTarget, cfg CertifyConfig) (*Certificate, error) {
	first := x.e.summed == nil
	if first {
		sum, ok, err := target.SumModels(ctx, cfg.Progress)
		if err != nil || !ok {
			return nil, err
		}
		x.e.summed = &sum
	}
	sum := x.e.summed
	logPrior, err := x.e.LogPrior(sum.Codes)
	if err != nil {
		return nil, err
	}
	for i, code := range sum.Codes {
		x.position[codeKey(code)] = i
		x.codes, x.logPrior = append(x.codes, code), append(x.logPrior, logPrior[i])
		x.evidence = append(x.evidence, models.Closed(sum.LogEvidences[i]))
	}
	if first && cfg.glance && !cfg.keepModels {
		if err := x.fit(ctx); err != nil {
			return nil, err
		}
	}
	c := &Certificate{
		Basis: ExactSum, Models: estimatesOf(x.codes), KHat: math.NaN(), Draws: parameterDraws, ESS: parameterDraws,
		ModelsChecked: sum.Count, LogEvidence: sum.LogEvidence,
	}
	share, listed := make([]float64, len(x.codes)), 0.0
	for i := range c.Models {
		model := &c.Models[i]
		share[i] = math.Exp(x.logMass(i) - sum.LogEvidence)
		model.Certified, model.LogEvidence, model.KHat = share[i], x.evidence[i].Log, math.NaN()
		listed += share[i]
	}
	c.unlisted = math.Max(0, 1-listed)
	if _, err := x.drawParameters(ctx, c, share, parameterDraws, sumStream); err != nil {
		return nil, err
	}
	if c.Proposed, err = x.proposedByQ(fittedBatch, sumStream); err != nil {
		return nil, err
	}
	if err := c.fillQ(x.e); err != nil {
		return nil, err
	}
	c.sortModels()
	c.judge()
	return c, nil
}
