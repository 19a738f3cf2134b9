package vti

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/weighted"
	"github.com/transdim/vti/space"
)

const (
	// searchChains and searchSteps bound the search for models that r(m) does not propose. Chosen
	// by hand: it costs no more evidences than a space has that is listed.
	searchChains = 64
	searchSteps  = 400
	// missedRatio is how many times rarer than the posterior r(m) must be to have missed a model.
	// Chosen by hand: a model of a hundredth would have been seen in ten thousand draws.
	missedRatio = 100
	// conditionalDraws is the number of weighted models whose conditionals are found, and
	// mostConditionals and fewestConditionals bound it: evidences of so many models in all, and
	// fewer draws than that say too little of their own error. Chosen by hand: a second of work.
	conditionalDraws   = 512
	mostConditionals   = 1 << 15
	fewestConditionals = 128
)

// modelReference is r(m), which models to be weighted are drawn from.
type modelReference interface {
	// draw draws some models, of which the first near ones come from q(m) itself. A code that is
	// nil is a draw of none, and has weight 0.
	draw(random *rand.Rand) (codes [][]int32, near int, err error)
	// logProb is log r(m).
	logProb(codes [][]int32) ([]float64, error)
}

// wideReferenceModels is the wider version of q(m).
type wideReferenceModels struct {
	e        *evaluator
	models   ModelDistribution
	nearRows int
}

func (w wideReferenceModels) draw(random *rand.Rand) ([][]int32, int, error) {
	flat, err := w.e.DrawCodesFrom("draw wide", w.models, random)
	if err != nil {
		return nil, 0, err
	}
	_, sites, _ := w.e.Sizes()
	return rowsOf(flat, sites), w.nearRows, nil
}

func (w wideReferenceModels) logProb(codes [][]int32) ([]float64, error) {
	return w.e.LogModelOf("wide models", w.models, codes)
}

// weighModels certifies by weights p(m) Z_m / r(m) of models drawn from a wider version of q(m).
func (x *modelMasses) weighModels(ctx context.Context, cfg CertifyConfig) (*Certificate, error) {
	models, nearRows := referenceModels(x.e)
	w := &modelWeights{modelMasses: x, reference: wideReferenceModels{x.e, models, nearRows}, stream: cfg.stream, random: x.e.Random(cfg.stream)}
	for w.draws < cfg.Draws {
		if err := w.draw(ctx); err != nil {
			return nil, err
		}
		if cfg.Progress != nil {
			cfg.Progress(min(w.draws, cfg.Draws), cfg.Draws)
		}
	}
	c, err := w.certificate(ctx, cfg.glance)
	if err != nil {
		return nil, err
	}
	if err := x.search(ctx, c, cfg.stream); err != nil {
		return nil, err
	}
	return c, w.judgeMissed(c)
}

// modelWeights are weighted draws of models.
type modelWeights struct {
	*modelMasses
	reference    modelReference
	stream       string
	random       *rand.Rand
	draws        int
	positions    []int // of the models that were drawn: as many as draws, less those of none
	logReference []float64
	proposed     [][]int32 // by q(m)
}

// draw adds some draws.
func (w *modelWeights) draw(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("certification stopped after %d draws: %w", w.draws, err)
	}
	drawn, near, err := w.reference.draw(w.random)
	if err != nil {
		return err
	}
	codes := slices.DeleteFunc(drawn, func(code []int32) bool { return code == nil })
	w.draws += len(drawn)
	at, err := w.add(ctx, codes, nil)
	if err != nil {
		return err
	}
	logR, err := w.reference.logProb(codes)
	if err != nil {
		return err
	}
	w.logReference = append(w.logReference, logR...)
	for i := range near {
		w.proposed = append(w.proposed, w.codes[at[i]])
	}
	w.positions = append(w.positions, at...)
	return nil
}

// weigh smooths the weights of the draws and sums them by model.
func (w *modelWeights) weigh() (smoothed psis.Result, ofDraws, ofModels []float64) {
	logWeights := slices.Repeat([]float64{math.Inf(-1)}, w.draws)
	for i, at := range w.positions {
		logWeights[i] = w.logMass(at) - w.logReference[i]
	}
	smoothed = psis.Smooth(logWeights)
	norm := logsum.Of(smoothed.LogWeights)
	ofDraws, ofModels = make([]float64, len(w.positions)), make([]float64, len(w.codes))
	for i, at := range w.positions {
		ofDraws[i] = math.Exp(smoothed.LogWeights[i] - norm)
		ofModels[at] += ofDraws[i]
	}
	return smoothed, ofDraws, ofModels
}

// certificate is what the draws so far show.
func (w *modelWeights) certificate(ctx context.Context, glance bool) (*Certificate, error) {
	c := &Certificate{Basis: Weights, byModel: &WeightedSample{}, Proposed: w.proposed}
	for _, at := range w.positions {
		c.byModel.Codes = append(c.byModel.Codes, w.codes[at])
	}
	_, _, weights := w.weigh()
	n := parameterDraws
	if glance && w.exact() {
		n = glancedParameters
	}
	drawn, err := w.drawParameters(ctx, c, weights, n, w.stream)
	if err != nil {
		return nil, err
	}
	smoothed, ofDraws, weights := w.weigh() // better known now
	c.byModel.Weight = ofDraws
	if !glance {
		if c.others, err = w.conditionals(ctx, ofDraws); err != nil {
			return nil, err
		}
	}
	c.KHat, c.ESS, c.Draws = smoothed.K, smoothed.ESS, w.draws
	c.LogEvidence, c.LogEvidenceSE = smoothed.LogMean, smoothed.LogMeanSE
	if !w.exact() {
		variance := 0.0
		for i, weight := range weights {
			variance += weight * w.evidence[i].SE * weight * w.evidence[i].SE
		}
		c.KHat = math.Max(c.KHat, drawn.shape(weights))
		c.ESS /= 1 + variance*c.ESS
		c.LogEvidenceSE = math.Hypot(c.LogEvidenceSE, math.Sqrt(variance))
	}
	c.gather()
	if err := w.describe(ctx, c.Models); err != nil {
		return nil, err
	}
	c.setErrors()
	if err := c.fillQ(w.e); err != nil {
		return nil, err
	}
	c.sortModels()
	c.judge()
	return c, nil
}

// conditionals finds those of models drawn by these weights of all draws; nil where evidences are
// estimates, sites have more than two outcomes, or there are too many of them.
func (w *modelWeights) conditionals(ctx context.Context, ofDraws []float64) (*conditionals, error) {
	cards := w.e.Target.Space().Cards()
	draws := min(conditionalDraws, mostConditionals/max(len(cards), 1))
	if !w.exact() || draws < fewestConditionals || slices.ContainsFunc(cards, func(card int) bool { return card != 2 }) {
		return nil, nil
	}
	var codes [][]int32
	for _, row := range weighted.Rows(ofDraws, draws, w.e.Random(w.stream+"/conditionals")) {
		codes = append(codes, w.codes[w.positions[row]])
	}
	return w.conditionalsAt(ctx, codes)
}

// judgeMissed lowers the verdict where models that were found otherwise show that r(m) has missed
// some. The masses of different models are known, so their sum is a lower bound of the evidence.
func (w *modelWeights) judgeMissed(c *Certificate) error {
	if nats, certain := w.above(c); certain {
		c.lower(Doubtful, "%s %s %.3g times the evidence estimated by weights of draws of q(m)", english.Count(len(w.codes), "model"), english.Form(len(w.codes), "holds", "hold"), math.Exp(nats))
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
	logR, err := w.reference.logProb(others)
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
		c.lower(Doubtful, "a search found models of probability %.2g that q(m) hardly ever proposes", missed)
	}
	return nil
}

// search looks for models that q(m) does not propose: members that matter only together, and
// Metropolis-Hastings chains over models, from the most probable ones, draws of q(m), the smallest
// and largest of both, and those with such members. What they visit is added to the masses.
func (x *modelMasses) search(ctx context.Context, c *Certificate, stream string) error {
	random := x.e.Random(stream + "/search")
	sp := x.e.Target.Space()
	joint, err := x.searchJoint(ctx)
	if err != nil {
		return err
	}
	chains := x.searchStarts(c, random)
	for _, set := range joint {
		chains = append(chains, set.code)
	}
	at, err := x.add(ctx, chains, nil)
	if err != nil {
		return err
	}
	unused := make([]float64, sp.Dim())
	proposals, logRatio := make([][]int32, len(chains)), make([]float64, len(chains))
	for range searchSteps {
		for k := range chains {
			proposals[k] = slices.Clone(x.codes[at[k]])
			logRatio[k] = space.Move(sp, random, proposals[k], unused)
		}
		to, err := x.add(ctx, proposals, nil)
		if err != nil {
			return err
		}
		for k := range chains {
			accept := x.logMass(to[k]) - x.logMass(at[k]) + logRatio[k]
			if math.IsInf(x.logMass(at[k]), -1) || math.Log(random.Float64()) < accept {
				at[k] = to[k]
			}
		}
	}
	return nil
}

// fit fits q(m) to the models looked at, each with its posterior probability among them.
func (x *modelMasses) fit(ctx context.Context) error {
	probability, _ := x.probabilities()
	upTo, sum := make([]float64, len(probability)), 0.0
	for i, share := range probability {
		sum += share
		upTo[i] = sum
	}
	return fitModels(ctx, x.e, func(random *rand.Rand) []int32 {
		at, _ := slices.BinarySearch(upTo, random.Float64()*sum)
		return x.codes[min(at, len(x.codes)-1)]
	})
}

// searchStarts are the starts of the search.
func (x *modelMasses) searchStarts(c *Certificate, random *rand.Rand) [][]int32 {
	var starts [][]int32
	for _, model := range c.Models[:min(len(c.Models), searchChains/4)] {
		starts = append(starts, model.Code)
	}
	_, members := outcomesOf(x.e.Target.Space())
	size := func(model ModelEstimate) int { return len(members(model.Code)) }
	bySize := slices.Clone(c.Models)
	slices.SortStableFunc(bySize, func(a, b ModelEstimate) int { return size(a) - size(b) })
	for k := range min(len(bySize), searchChains/8) {
		starts = append(starts, bySize[k].Code, bySize[len(bySize)-1-k].Code)
	}
	for len(starts) < searchChains {
		starts = append(starts, c.Proposed[random.IntN(len(c.Proposed))])
	}
	return starts
}
