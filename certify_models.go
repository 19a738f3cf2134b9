package vti

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/internal/weighted"
	"github.com/transdim/vti/space"
)

const (
	// parameterDraws is the number of draws of parameters behind a certificate over models alone.
	// Chosen by hand: means then have errors of 0.006 posterior standard deviations, and standard
	// deviations of 0.4 percent.
	parameterDraws = 1 << 15

	// searchChains and searchSteps bound the search for models that q(m) does not propose. Chosen
	// by hand: it costs no more evidences than a space has that is listed.
	searchChains = 64
	searchSteps  = 400
	// missedMass is the probability that such models may hold before the verdict is lowered.
	missedMass = verdict.DoubtfulEventSE
)

// certifyModels certifies a target whose evidences are known, or estimated without q: by the sum
// over all models where they can be listed, else by weights over models alone, which have no
// variance from parameters. It returns the masses of the models that it looked at beside the
// certificate.
func certifyModels(ctx context.Context, e *evaluator, source evidences, listed bool, cfg CertifyConfig) (certificate *Certificate, x *modelMasses, err error) {
	x = newModelMasses(e, source)
	if listed {
		certificate, err = x.sum(ctx, cfg)
	} else {
		certificate, err = x.weigh(ctx, cfg)
	}
	return certificate, x, err
}

// exact reports whether the evidences are known.
func (x *modelMasses) exact() bool {
	_, known := x.source.(exactEvidences)
	return known
}

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
	if cfg.glance {
		if err := setTable(x.e, x.logPrior, x.logMasses()); err != nil {
			return nil, err
		}
	}
	drawn, err := x.drawParameters(ctx, c, probability, cfg.stream)
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

// weigh certifies by weights p(m) Z_m / r(m) of models drawn from r(m), a wider version of q(m).
func (x *modelMasses) weigh(ctx context.Context, cfg CertifyConfig) (*Certificate, error) {
	e := x.e
	_, sites, _ := e.sizes()
	reference, nearRows := referenceModels(e)
	c := &Certificate{Basis: Weights, byModel: &WeightedSample{}}
	random := e.random(cfg.stream)
	var logReference []float64
	var positions []int
	for len(positions) < cfg.Draws {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("certification stopped after %d draws: %w", len(positions), err)
		}
		flat, err := e.drawCodesFrom("draw wide", reference, random)
		if err != nil {
			return nil, err
		}
		codes := rowsOf(flat, sites)
		at, err := x.add(ctx, codes, nil)
		if err != nil {
			return nil, err
		}
		logR, err := e.logModelOf("wide models", reference, codes)
		if err != nil {
			return nil, err
		}
		logReference = append(logReference, logR...)
		for i := range codes {
			c.byModel.Codes = append(c.byModel.Codes, x.codes[at[i]])
			if i < nearRows {
				c.Proposed = append(c.Proposed, x.codes[at[i]])
			}
		}
		positions = append(positions, at...)
		if cfg.Progress != nil {
			cfg.Progress(min(len(positions), cfg.Draws), cfg.Draws)
		}
	}
	weigh := func() (psis.Result, []float64) { // of draws, and of models
		logWeights := make([]float64, len(positions))
		for i, at := range positions {
			logWeights[i] = x.logMass(at) - logReference[i]
		}
		smoothed := psis.Smooth(logWeights)
		norm := logsum.Of(smoothed.LogWeights)
		weights := make([]float64, len(x.codes))
		c.byModel.Weight = c.byModel.Weight[:0]
		for i, logWeight := range smoothed.LogWeights {
			weight := math.Exp(logWeight - norm)
			c.byModel.Weight = append(c.byModel.Weight, weight)
			weights[positions[i]] += weight
		}
		return smoothed, weights
	}
	_, weights := weigh()
	drawn, err := x.drawParameters(ctx, c, weights, cfg.stream)
	if err != nil {
		return nil, err
	}
	smoothed, weights := weigh() // better known now
	c.KHat, c.ESS, c.Draws = smoothed.K, smoothed.ESS, len(positions)
	c.LogEvidence, c.LogEvidenceSE = smoothed.LogMean, smoothed.LogMeanSE
	if !x.exact() {
		variance := 0.0
		for i, weight := range weights {
			variance += weight * x.evidence[i].se * weight * x.evidence[i].se
		}
		c.KHat = math.Max(c.KHat, drawn.shape(weights))
		c.ESS /= 1 + variance*c.ESS
		c.LogEvidenceSE = math.Hypot(c.LogEvidenceSE, math.Sqrt(variance))
	}
	c.gather()
	for i := range c.Models {
		model := &c.Models[i]
		own := x.evidence[x.position[codeKey(model.Code)]]
		model.LogEvidence, model.LogEvidenceSE, model.KHat = own.log, own.se, math.NaN()
	}
	c.setErrors()
	if err := c.fillQ(e); err != nil {
		return nil, err
	}
	c.sortModels()
	c.judge()
	proposed := len(x.codes)
	if err := x.search(ctx, c, cfg.stream); err != nil {
		return nil, err
	}
	// The masses of different models are known, so their sum is a lower bound of the evidence.
	found := logsum.Of(x.logMasses())
	if beyond := found - c.LogEvidence; beyond > missedMass+4*c.LogEvidenceSE {
		c.lower(Doubtful, "%d models hold %.3g times the evidence that the weights of draws of q(m) come to", len(x.codes), math.Exp(beyond))
	} else if missed := math.Exp(logsum.Of(x.logMasses()[proposed:]) - c.LogEvidence); missed > missedMass {
		c.lower(Doubtful, "a search found models of probability %.2g that q(m) never proposed", missed)
	}
	return c, nil
}

// search looks for models that q(m) does not propose: Metropolis-Hastings chains over models, from
// the most probable ones, draws of q(m), and the smallest and largest of both. What they visit is
// added to the masses.
func (x *modelMasses) search(ctx context.Context, c *Certificate, stream string) error {
	random := x.e.random(stream + "/search")
	sp := x.e.target.Space()
	chains := x.searchStarts(c, random)
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
	_, members := outcomesOf(x.e.target.Space())
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

// drawnModels are the models that parameters were drawn for, with the log weights of the proposals,
// less their mean, where draws are not exact.
type drawnModels struct {
	positions  []int
	logWeights [][]float64
}

// fewWeights is the number of weights below which a model's k̂ is not known well enough to judge it
// alone (Vehtari et al. 2024, section 3.2.4).
const fewWeights = 2000

// shape is the k̂ of the weights of parameters that models of a tenth of the probability exceed at
// most. Weights of models with few of them are taken together.
func (d *drawnModels) shape(probability []float64) float64 {
	type judged struct{ kHat, share float64 }
	var models []judged
	var few []float64
	fewShare := 0.0
	for k, at := range d.positions {
		if len(d.logWeights[k]) < fewWeights {
			few = append(few, d.logWeights[k]...)
			fewShare += probability[at]
			continue
		}
		models = append(models, judged{psis.Smooth(d.logWeights[k]).K, probability[at]})
	}
	if len(few) > 0 {
		models = append(models, judged{psis.Smooth(few).K, fewShare})
	}
	slices.SortFunc(models, func(a, b judged) int { return cmp.Compare(b.kHat, a.kHat) })
	exceeding := 0.0
	for _, model := range models {
		if exceeding += model.share; exceeding > verdict.BadMass {
			return model.kHat
		}
	}
	return math.Inf(1)
}

// drawParameters fills the sample of a certificate with draws of parameters given models, which are
// taken by their weights, spread as evenly as can be. Where evidences are estimates the draws add
// to what is known of them, and each counts by what that makes of its model.
func (x *modelMasses) drawParameters(ctx context.Context, c *Certificate, weights []float64, stream string) (*drawnModels, error) {
	counts := weighted.Counts(weights, parameterDraws, x.e.random(stream+"/parameters"))
	drawn := &drawnModels{}
	for i, count := range counts {
		if count > 0 {
			drawn.positions = append(drawn.positions, i)
		}
	}
	draws, failures := make([]modelDraws, len(drawn.positions)), make([]error, len(drawn.positions))
	var next atomic.Int64
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for k := int(next.Add(1)) - 1; k < len(draws) && ctx.Err() == nil; k = int(next.Add(1)) - 1 {
				i := drawn.positions[k]
				random := x.e.random(stream + "/parameters/" + codeKey(x.codes[i]))
				draws[k], failures[k] = x.source.parameters(x.codes[i], x.evidence[i], counts[i], random)
			}
		})
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	sample := &c.Sample
	sample.Theta = mat.NewDense(parameterDraws, x.e.target.Space().Dim(), nil)
	total := 0.0
	for k, i := range drawn.positions {
		own := draws[k]
		if failures[k] != nil {
			return nil, fmt.Errorf("parameters of model %v: %w", x.codes[i], failures[k])
		}
		change := math.Exp(own.evidence.log - x.evidence[i].log)
		x.evidence[i] = own.evidence
		drawn.logWeights = append(drawn.logWeights, own.logWeights)
		for row := range counts[i] {
			sample.Theta.SetRow(len(sample.Codes), own.theta.RawRowView(row))
			sample.Codes = append(sample.Codes, x.codes[i])
			sample.LogP = append(sample.LogP, x.logPrior[i]+own.logJoint[row])
			weight := change * own.weights[row]
			sample.Weight = append(sample.Weight, weight)
			total += weight
		}
	}
	for i := range sample.Weight {
		sample.Weight[i] /= total
	}
	var err error
	sample.LogQ, err = x.e.logProb(sample.Codes, sample.Theta)
	return drawn, err
}
