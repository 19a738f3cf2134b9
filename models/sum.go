package models

import (
	"context"
	"fmt"
	"math"

	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/space"
)

// sumStream is the name of the random stream of sums over all models. A sum does not depend on q,
// so that with the same random numbers a sum computed after training equals the sum before
// training. With other random numbers a sufficient answer could become insufficient after a round
// of training that only improved q.
const sumStream = "certify/sum"

func (x *Visited) sum(ctx context.Context, cfg Config) (*Certificate, error) {
	all := space.ListModels(x.Space)
	if _, err := x.Add(ctx, all, func(done int) { cfg.report(done, len(all)) }); err != nil {
		return nil, err
	}
	c := &Certificate{Basis: ExactSum, Complete: true, Models: EstimatesOf(x.codes), KHat: math.NaN()}
	probability, logTotal := x.probabilities()
	if !finite(logTotal) {
		return nil, fmt.Errorf("log evidence of all models together: got %v, want a number", logTotal)
	}
	if cfg.Preliminary && !cfg.KeepModels {
		if err := x.Q.Set(x.logPrior, x.logMasses()); err != nil {
			return nil, err
		}
	}
	draws := x.parameterDraws()
	drawn, err := x.drawParameters(ctx, c, probability, draws, sumStream)
	if err != nil {
		return nil, err
	}
	x.judgeSum(c, drawn)
	first := drawn
	for n := 2 * draws; n <= mostSharpening*draws && !x.precise(c, cfg) && !cfg.late(); n *= 2 {
		if drawn, err = x.sharpen(ctx, drawn, n, fmt.Sprint(sumStream, "/", n)); err != nil {
			return nil, err
		}
		x.judgeSum(c, drawn)
	}
	if probability, _ = x.probabilities(); first.largestDeviation(probability) > mostApart {
		c.Sample = WeightedSample{} // the numbers of draws of its models were set by less precise evidences
		if _, err := x.drawParameters(ctx, c, probability, draws, sumStream+"/again"); err != nil {
			return nil, err
		}
		x.judgeSum(c, drawn)
	}
	logModel, err := x.Q.LogModel(x.codes)
	if err != nil {
		return nil, err
	}
	c.SetQ(logModel)
	c.Sort()
	return c, nil
}

// mostSharpening bounds the number of draws in a round that improves the evidences of a sum, as a
// multiple of the number of draws in the first round. If more draws are needed, a trained flow
// proposes better.
const mostSharpening = 8

// mostApart is a difference between the probability of a model and the share of its draws in the
// sample, too small to matter. If it is exceeded the sample is drawn again.
const mostApart = 1e-3

// judgeSum sets the estimates of a certificate by a sum over all models, and its verdict, after
// draws of parameters have improved the evidences.
func (x *Visited) judgeSum(c *Certificate, drawn *drawnModels) {
	c.Combine(x.logPrior, x.evidence)
	c.Draws = x.parameterDraws()
	c.ESS = EffectiveOf(c.ESS, c.Draws)
	if !x.Exact() {
		probability, _ := x.probabilities()
		c.Basis, c.KHat = Weights, drawn.shape(probability)
	}
	c.Judge()
}

// precise reports whether a sum over all models needs no more draws: evidences are exact, or the
// answer is trusted and has the requested precision, or draws cannot help, because models whose
// evidences have no upper bound may hold too much probability.
func (x *Visited) precise(c *Certificate, cfg Config) bool {
	return x.Exact() || unbounded(x.logPrior, x.evidence, c.LogEvidence) > verdict.DoubtfulMissed ||
		c.Verdict == Trusted && c.Shortage(x.Space, cfg.Precision) <= 1
}

// total certifies by the sum of the application (Known.Sum). It returns nil if the application has
// no sum. The probabilities of models are relative to the sum over all models. The sample holds no
// draws of models that are not listed. With Preliminary, but not with AnswerOnly, it fits q(m) to
// the listed models, because q(m) cannot be a table of all models when they are this numerous.
func (x *Visited) total(ctx context.Context, cfg Config) (*Certificate, error) {
	sum, ok, err := x.Known.Sum(ctx, cfg.Progress)
	if err != nil || !ok {
		return nil, err
	}
	logPrior, err := x.LogPrior(sum.Codes)
	if err != nil {
		return nil, err
	}
	for i, code := range sum.Codes {
		x.position[space.Key(code)] = i
		x.codes, x.logPrior = append(x.codes, code), append(x.logPrior, logPrior[i])
		x.evidence = append(x.evidence, Closed(sum.LogEvidences[i]))
	}
	if cfg.Preliminary && !cfg.KeepModels && !x.AnswerOnly {
		if err := x.Fit(ctx); err != nil {
			return nil, err
		}
	}
	c := &Certificate{
		Basis: ExactSum, Models: EstimatesOf(x.codes), KHat: math.NaN(), Draws: x.parameterDraws(), ESS: float64(x.parameterDraws()),
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
	if _, err := x.drawParameters(ctx, c, share, x.parameterDraws(), sumStream); err != nil {
		return nil, err
	}
	if c.Proposed, err = x.proposedByQ(fittedBatch, sumStream); err != nil {
		return nil, err
	}
	return c, x.finish(c)
}
