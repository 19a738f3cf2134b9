package models

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/psis"
)

// missedRatio is the ratio of posterior probability to r(m) above which r(m) has missed a model. At
// this ratio a model of probability 0.01 is drawn once in ten thousand draws from r(m).
const missedRatio = 100

// WeighProposed certifies by importance weights p(m) p(y | m) / r(m) of models drawn from r(m), a
// wider version of q(m).
func (x *Visited) WeighProposed(ctx context.Context, cfg Config) (*Certificate, error) {
	w := &modelWeights{Visited: x, reference: x.Q.Wide(), stream: cfg.Stream, source: x.random(cfg.Stream)}
	for w.draws < cfg.Draws && (w.draws == 0 || !cfg.overdue()) {
		if err := w.draw(ctx); err != nil {
			return nil, err
		}
		cfg.report(min(w.draws, cfg.Draws), cfg.Draws)
	}
	c, err := w.certificate(ctx, cfg.Preliminary)
	if err != nil {
		return nil, err
	}
	if !cfg.overdue() {
		if err := x.search(ctx, c, cfg.Stream); err != nil {
			return nil, err
		}
	}
	return c, w.judgeMissed(c)
}

// modelWeights holds weighted draws of models.
type modelWeights struct {
	*Visited
	reference    Reference
	stream       string
	source       *rand.Rand
	draws        int
	positions    []int     // positions of the drawn models, without draws outside the space
	logReference []float64 // log r(m) by position; NaN if not computed
	proposed     [][]int32 // draws from q(m)
}

func (w *modelWeights) draw(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("certification stopped after %d draws: %w", w.draws, err)
	}
	drawn, fromQ, err := w.reference.Draw(w.source)
	if err != nil {
		return err
	}
	codes := slices.DeleteFunc(drawn, func(code []int32) bool { return code == nil })
	w.draws += len(drawn)
	positions, err := w.Add(ctx, codes, nil)
	if err != nil {
		return err
	}
	if err := w.refer(positions); err != nil {
		return err
	}
	for i := range fromQ {
		w.proposed = append(w.proposed, w.codes[positions[i]])
	}
	w.positions = append(w.positions, positions...)
	return nil
}

// refer sets log r(m) of the models at positions, where it is not known.
func (w *modelWeights) refer(positions []int) error {
	for len(w.logReference) < len(w.codes) {
		w.logReference = append(w.logReference, math.NaN())
	}
	var fresh []int
	var codes [][]int32
	for _, at := range positions {
		if math.IsNaN(w.logReference[at]) {
			w.logReference[at] = 0 // not NaN, since positions may hold a model twice
			fresh, codes = append(fresh, at), append(codes, w.codes[at])
		}
	}
	logR, err := w.reference.LogProb(codes)
	for i, at := range fresh {
		if err == nil {
			w.logReference[at] = logR[i]
		}
	}
	return err
}

// smoothWeights returns the Pareto-smoothed weights, and their shares by draw and by model.
func (w *modelWeights) smoothWeights() (smoothed psis.Result, ofDraws, ofModels []float64) {
	logWeights := slices.Repeat([]float64{math.Inf(-1)}, w.draws)
	for i, at := range w.positions {
		logWeights[i] = w.logMass(at) - w.logReference[at]
	}
	smoothed = psis.Smooth(logWeights)
	ofDraws, ofModels = logsum.Shares(smoothed.LogWeights)[:len(w.positions)], make([]float64, len(w.codes))
	for i, at := range w.positions {
		ofModels[at] += ofDraws[i]
	}
	return smoothed, ofDraws, ofModels
}

func (w *modelWeights) certificate(ctx context.Context, preliminary bool) (*Certificate, error) {
	c := &Certificate{Basis: Weights, byModel: &WeightedSample{}, Proposed: w.proposed}
	for _, at := range w.positions {
		c.byModel.Codes = append(c.byModel.Codes, w.codes[at])
	}
	_, _, weights := w.smoothWeights()
	n := w.parameterDraws()
	if preliminary && w.Exact() {
		n = preliminaryParameters
	}
	drawn, err := w.drawParameters(ctx, c, weights, n, w.stream)
	if err != nil {
		return nil, err
	}
	c.Sample.ModelDraw = w.modelDraws(drawn)
	smoothed, ofDraws, weights := w.smoothWeights() // again, with improved evidences
	c.byModel.Weight = ofDraws
	if !preliminary {
		if c.others, err = w.conditionals(ctx, ofDraws); err != nil {
			return nil, err
		}
	}
	c.KHat, c.ESS, c.Draws = smoothed.K, smoothed.ESS, w.draws
	c.LogEvidence, c.LogEvidenceSE = smoothed.LogMean, smoothed.LogMeanSE
	if !w.Exact() {
		variance := 0.0
		for i, weight := range weights {
			variance += weight * w.evidence[i].SE * weight * w.evidence[i].SE
		}
		c.KHat = math.Max(c.KHat, drawn.shape(weights))
		c.ESS /= 1 + variance*c.ESS
		c.LogEvidenceSE = math.Hypot(c.LogEvidenceSE, math.Sqrt(variance))
	}
	c.Gather()
	if err := w.describe(ctx, c.Models); err != nil {
		return nil, err
	}
	c.setErrors()
	return c, w.finish(c)
}

// modelDraws divides the draws of parameters of each model evenly among the draws of the model. For
// each draw of parameters, in the order of the sample, it returns the number of the draw of the
// model that it belongs to.
func (w *modelWeights) modelDraws(drawn *drawnModels) (numbers []int) {
	ofModel := make(map[int][]int)
	for draw, at := range w.positions {
		ofModel[at] = append(ofModel[at], draw)
	}
	for k, at := range drawn.positions {
		modelDraws, count := ofModel[at], drawn.counts[k]
		for row := range count {
			numbers = append(numbers, modelDraws[row*len(modelDraws)/count])
		}
	}
	return numbers
}

// judgeMissed lowers the verdict if visited models show that r(m) has missed models. The sum of
// p(m) p(y | m) over all visited models is a lower bound of the evidence of all models.
func (w *modelWeights) judgeMissed(c *Certificate) error {
	if nats, certain := w.above(c); certain {
		c.Lower(Doubtful, "%s %s %.3g times the evidence estimated by weights of drawn models", english.Count(len(w.codes), "model"), english.Form(len(w.codes), "holds", "hold"), math.Exp(nats))
		return nil
	}
	drawn := make([]bool, len(w.codes))
	for _, at := range w.positions {
		drawn[at] = true
	}
	var others [][]int32
	var logMass []float64
	for at, code := range w.codes {
		if mass := w.logMass(at); !drawn[at] && mass > c.LogEvidence-logsum.Negligible {
			others, logMass = append(others, code), append(logMass, mass)
		}
	}
	logR, err := w.reference.LogProb(others)
	if err != nil {
		return err
	}
	missed := 0.0
	for i, mass := range logMass {
		if probability := mass - c.LogEvidence; probability-logR[i] > math.Log(missedRatio) {
			missed += math.Exp(probability)
		}
	}
	if missed > missedMass {
		c.Lower(Doubtful, "a search found models of probability %.2g that draws of models hardly ever reach", missed)
	}
	return nil
}
