package vti

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/internal/weighted"
	"github.com/transdim/vti/space"
)

const (
	// exactDraws is the number of draws of parameters behind an exact certificate. Chosen by hand:
	// means then have errors of 0.006 posterior standard deviations, and standard deviations of 0.4
	// percent.
	exactDraws = 1 << 15
	// exactChunk is the number of evidences between two looks at the context.
	exactChunk = 1 << 10

	// searchChains and searchSteps bound the search for models that q(m) does not propose. Chosen
	// by hand: it costs no more evidences than a space has that is listed.
	searchChains = 64
	searchSteps  = 400
	// missedMass is the probability that such models may hold before the verdict is lowered.
	missedMass = verdict.DoubtfulEventSE
)

// certifyExactly certifies a target whose evidences are known: by the sum over all models where
// they can be listed, else by weights over models alone, which have no variance from parameters.
// Parameters are drawn from the exact conditional.
func certifyExactly(ctx context.Context, e *evaluator, target ExactTarget, listed bool, cfg CertifyConfig) (*Certificate, error) {
	x := &exactMasses{e: e, target: target, position: map[string]int{}}
	if listed {
		return x.sum(ctx, cfg)
	}
	return x.weigh(ctx, cfg)
}

// exactMasses are the models looked at so far, each with log p(m) and log Z_m.
type exactMasses struct {
	e      *evaluator
	target ExactTarget

	position              map[string]int // of a code in what follows
	codes                 [][]int32
	logPrior, logEvidence []float64
}

// add looks at the models that are new among codes and returns where each code is.
func (x *exactMasses) add(ctx context.Context, codes [][]int32, progress func(done int)) (positions []int, err error) {
	first := len(x.codes)
	for _, code := range codes {
		key := codeKey(code)
		at, known := x.position[key]
		if !known {
			at = len(x.codes)
			x.position[key] = at
			x.codes = append(x.codes, slices.Clone(code))
		}
		positions = append(positions, at)
	}
	fresh := x.codes[first:]
	logPrior, err := x.e.logPrior(fresh)
	if err != nil {
		return nil, err
	}
	x.logPrior = append(x.logPrior, logPrior...)
	for start := 0; start < len(fresh); start += exactChunk {
		chunk := fresh[start:min(start+exactChunk, len(fresh))]
		values := slices.Repeat([]float64{math.Inf(-1)}, len(chunk))
		var possible [][]int32
		var at []int
		for i, code := range chunk {
			if !math.IsInf(logPrior[start+i], -1) {
				possible, at = append(possible, code), append(at, i)
			}
		}
		evidences, err := x.target.LogEvidences(ctx, possible)
		if err != nil {
			return nil, err
		}
		for k, value := range evidences {
			if math.IsNaN(value) || math.IsInf(value, 1) {
				return nil, fmt.Errorf("log evidence of model %v: got %v, want a number", possible[k], value)
			}
			values[at[k]] = value
		}
		x.logEvidence = append(x.logEvidence, values...)
		if progress != nil {
			progress(start + len(chunk))
		}
	}
	return positions, nil
}

// logMass is log p(m) Z_m of the model at a position.
func (x *exactMasses) logMass(at int) float64 {
	if math.IsInf(x.logPrior[at], -1) {
		return math.Inf(-1)
	}
	return x.logPrior[at] + x.logEvidence[at]
}

// logMasses are those of all models looked at.
func (x *exactMasses) logMasses() []float64 {
	masses := make([]float64, len(x.codes))
	for i := range masses {
		masses[i] = x.logMass(i)
	}
	return masses
}

// sum certifies by going through every model.
func (x *exactMasses) sum(ctx context.Context, cfg CertifyConfig) (*Certificate, error) {
	all := allCodes(x.e.target.Space())
	_, err := x.add(ctx, all, func(done int) {
		if cfg.Progress != nil {
			cfg.Progress(done, len(all))
		}
	})
	if err != nil {
		return nil, err
	}
	c := &Certificate{Basis: ExactSum, Complete: true, Models: estimatesOf(x.codes), KHat: math.NaN()}
	c.LogEvidence = logsum.Of(x.logMasses())
	if !finite(c.LogEvidence) {
		return nil, fmt.Errorf("log evidence of all models together: got %v, want a number", c.LogEvidence)
	}
	for i := range c.Models {
		c.Models[i].LogEvidence, c.Models[i].KHat = x.logEvidence[i], math.NaN()
		c.Models[i].Certified = math.Exp(x.logMass(i) - c.LogEvidence)
		if !math.IsInf(x.logPrior[i], -1) {
			c.ModelsChecked++
		} else {
			c.Models[i].LogEvidence = math.NaN()
		}
	}
	weights := make([]float64, len(c.Models))
	for i, model := range c.Models {
		weights[i] = model.Certified
	}
	if err := x.drawParameters(c, weights); err != nil {
		return nil, err
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
func (x *exactMasses) weigh(ctx context.Context, cfg CertifyConfig) (*Certificate, error) {
	e := x.e
	_, sites, _ := e.sizes()
	reference, nearRows := referenceModels(e)
	c := &Certificate{Basis: Weights, byModel: &WeightedSample{}}
	random := e.random("certify")
	var logWeights []float64
	var positions []int
	for len(logWeights) < cfg.Draws {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("certification stopped after %d draws: %w", len(logWeights), err)
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
		logReference, err := e.logModelOf("wide models", reference, codes)
		if err != nil {
			return nil, err
		}
		for i := range codes {
			logWeights = append(logWeights, x.logMass(at[i])-logReference[i])
			c.byModel.Codes = append(c.byModel.Codes, x.codes[at[i]])
			if i < nearRows {
				c.Proposed = append(c.Proposed, x.codes[at[i]])
			}
		}
		positions = append(positions, at...)
		if cfg.Progress != nil {
			cfg.Progress(min(len(logWeights), cfg.Draws), cfg.Draws)
		}
	}
	smoothed := psis.Smooth(logWeights)
	c.KHat, c.ESS, c.Draws = smoothed.K, smoothed.ESS, len(logWeights)
	c.LogEvidence, c.LogEvidenceSE = smoothed.LogMean, smoothed.LogMeanSE
	norm := logsum.Of(smoothed.LogWeights)
	weights := make([]float64, len(x.codes)) // of models
	for i, logWeight := range smoothed.LogWeights {
		weight := math.Exp(logWeight - norm)
		c.byModel.Weight = append(c.byModel.Weight, weight)
		weights[positions[i]] += weight
	}
	c.gather()
	for i := range c.Models {
		model := &c.Models[i]
		model.LogEvidence, model.LogEvidenceSE = x.logEvidence[x.position[codeKey(model.Code)]], 0
		model.KHat = math.NaN()
	}
	if err := x.drawParameters(c, weights); err != nil {
		return nil, err
	}
	if err := c.fillQ(e); err != nil {
		return nil, err
	}
	c.sortModels()
	c.judge()
	proposed := len(x.codes)
	if err := x.search(ctx, c); err != nil {
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
func (x *exactMasses) search(ctx context.Context, c *Certificate) error {
	random := x.e.random("certify/search")
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

// searchStarts are the starts of the search.
func (x *exactMasses) searchStarts(c *Certificate, random *rand.Rand) [][]int32 {
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

// drawParameters fills the sample of a certificate with equally weighted draws: models by their
// weights, spread as evenly as can be, parameters from the exact conditional.
func (x *exactMasses) drawParameters(c *Certificate, weights []float64) error {
	random := x.e.random("certify/parameters")
	counts := weighted.Counts(weights, exactDraws, random)
	sample := &c.Sample
	sample.Theta = mat.NewDense(exactDraws, x.e.target.Space().Dim(), nil)
	for i, count := range counts {
		if count == 0 {
			continue
		}
		theta, logDensity, err := x.target.SampleParameters(x.codes[i], count, random)
		if err != nil {
			return fmt.Errorf("parameters of model %v: %w", x.codes[i], err)
		}
		for k := range count {
			sample.Theta.SetRow(len(sample.Codes), theta.RawRowView(k))
			sample.Codes = append(sample.Codes, x.codes[i])
			sample.LogP = append(sample.LogP, x.logMass(i)+logDensity[k])
			sample.Weight = append(sample.Weight, 1.0/exactDraws)
		}
	}
	var err error
	if sample.LogQ, err = x.e.logProb(sample.Codes, sample.Theta); err != nil {
		return err
	}
	if c.Complete {
		c.Draws, c.ESS = exactDraws, exactDraws
	}
	return nil
}
