package vti

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/psis"
)

// fillQ fills in q(m) of the models.
func (c *Certificate) fillQ(e *evaluator) error {
	logModel, err := e.logModel(codesOf(c.Models))
	if err == nil {
		c.setQ(logModel)
	}
	return err
}

// conclude fills in q(m) and the evidences of the models, orders them and sets the verdict. As p(m)
// Z_m is the certified probability times the evidence of all models together, log Z_m follows; its
// error takes those two for independent.
func (c *Certificate) conclude(e *evaluator) error {
	if err := c.fillQ(e); err != nil {
		return err
	}
	logPrior, err := e.logPrior(codesOf(c.Models))
	if err != nil {
		return err
	}
	for i := range c.Models {
		if model := &c.Models[i]; model.Certified > 0 {
			model.LogEvidence = c.LogEvidence + math.Log(model.Certified) - logPrior[i]
			model.LogEvidenceSE = math.Hypot(c.LogEvidenceSE, model.SE/model.Certified)
		}
	}
	c.sortModels()
	c.judge()
	return nil
}

// certifyJointly weights draws (m, θ) from r(m) r(θ | m), wider versions of q(m) and q(θ | m), by
// p(m) η(θ | m). A model's probability is the weight of its draws; a model that r(m) never proposes
// has none, which k̂ can only hint at.
func certifyJointly(ctx context.Context, e *evaluator, cfg CertifyConfig) (*Certificate, error) {
	batch, sites, dim := e.sizes()
	certificate := &Certificate{}
	sample := &certificate.Sample
	total := (cfg.Draws + batch - 1) / batch * batch
	logWeights, theta := make([]float64, 0, total), make([]float64, 0, total*dim)
	random := e.random(cfg.stream)
	push := func(codes []int32, z []float64) (pushed, []float64, error) {
		draws, err := e.push(codes, z)
		if err != nil {
			return pushed{}, nil, err
		}
		return draws, wideReference.logWeights(draws), nil
	}
	reference, nearRows := referenceModels(e)
	for start := 0; start < total; start += batch * e.batches() {
		var inputs []batchInput
		for range min(e.batches(), (total-start)/batch) {
			flat, err := e.drawCodesFrom("draw wide", reference, random)
			if err != nil {
				return nil, err
			}
			z := make([]float64, batch*dim)
			for row := range batch {
				wideReference.draw(random, z[row*dim:(row+1)*dim])
			}
			inputs = append(inputs, batchInput{flat, z, "joint", push})
		}
		evaluated, err := e.evaluateBatches(ctx, inputs)
		if err != nil {
			return nil, fmt.Errorf("certification stopped after %d draws: %w", start, err)
		}
		for k, one := range evaluated {
			codes := rowsOf(inputs[k].Codes, sites)
			logPrior, err := e.logPrior(codes)
			if err != nil {
				return nil, err
			}
			logModel, err := e.logModel(codes)
			if err != nil {
				return nil, err
			}
			logReference, err := e.logModelOf("wide models", reference, codes)
			if err != nil {
				return nil, err
			}
			for i, code := range codes {
				logP, logQ := logPrior[i]+one.LogJoint[i], logModel[i]+one.LogQ[i]
				logWeight := logPrior[i] - logReference[i] + one.LogWeights[i]
				if math.IsNaN(logWeight) || math.IsInf(logWeight, 1) {
					certificate.NonFinite++
					logWeight = math.Inf(-1)
				}
				logWeights = append(logWeights, logWeight)
				sample.Codes = append(sample.Codes, code)
				if i < nearRows {
					certificate.Proposed = append(certificate.Proposed, code)
				}
				sample.LogP, sample.LogQ = append(sample.LogP, logP), append(sample.LogQ, logQ)
			}
			theta = append(theta, one.Theta...)
			if cfg.Progress != nil {
				cfg.Progress(len(logWeights), total)
			}
		}
	}
	sample.Theta = mat.NewDense(total, dim, theta)
	smoothed := psis.Smooth(logWeights)
	certificate.KHat, certificate.ESS, certificate.Draws = smoothed.K, smoothed.ESS, len(logWeights)
	certificate.LogEvidence, certificate.LogEvidenceSE = smoothed.LogMean, smoothed.LogMeanSE
	certificate.missed = psis.TailShare(smoothed.K, len(logWeights))
	norm := logsum.Of(smoothed.LogWeights)
	for _, logWeight := range smoothed.LogWeights {
		sample.Weight = append(sample.Weight, math.Exp(logWeight-norm))
	}
	certificate.gather()
	heavy := make([]witness, len(logWeights))
	for i, weight := range logWeights {
		heavy[i] = witness{sample.Codes[i], sample.Theta.RawRowView(i), sample.LogP[i], weight - math.Log(float64(len(logWeights)))}
	}
	certificate.witnesses.add(heaviestOf(heavy))
	if err := certificate.conclude(e); err != nil {
		return nil, err
	}
	certificate.shares = func(w witnesses) ([]float64, error) { return jointShares(e, w, reference, len(logWeights)) }
	return certificate, certificate.judgeUnseen(cfg.witnesses)
}

// jointShares are the log weights that draws at witnesses would add to the evidence among so many
// draws.
func jointShares(e *evaluator, w witnesses, reference ModelDistribution, draws int) ([]float64, error) {
	var codes [][]int32
	var theta [][]float64
	var models []int
	all := w.flat()
	for i, one := range all {
		codes, theta, models = append(codes, one.Code), append(theta, one.Theta), append(models, i)
	}
	logReference, err := e.logModelOf("wide models", reference, codes)
	if err != nil {
		return nil, err
	}
	logPrior, err := e.logPrior(codes)
	if err != nil {
		return nil, err
	}
	weights, err := newImportanceSampler(e, codes, "").weightsAt(models, theta)
	for i := range weights {
		weights[i] += logPrior[i] - logReference[i] - math.Log(float64(draws))
	}
	return weights, err
}

// gather sums the weights of draws by model.
func (c *Certificate) gather() {
	position := map[string]int{}
	sample := c.weighted()
	for i, code := range sample.Codes {
		k, seen := position[codeKey(code)]
		if !seen {
			k = len(c.Models)
			position[codeKey(code)] = k
			c.Models = append(c.Models, ModelEstimate{Code: code, LogEvidence: math.NaN(), LogEvidenceSE: math.NaN(), KHat: math.NaN()})
		}
		c.Models[k].Certified += sample.Weight[i]
		c.Models[k].Draws++
	}
	c.ModelsChecked = len(c.Models)
	c.setErrors()
}

// setErrors fills in the standard errors of the models of an incomplete certificate.
func (c *Certificate) setErrors() {
	position := make(map[string]int, len(c.Models))
	for k, model := range c.Models {
		position[codeKey(model.Code)] = k
	}
	_, se := c.Frequencies(len(c.Models), func(code []int32) []int { return []int{position[codeKey(code)]} })
	for k := range c.Models {
		c.Models[k].SE = se[k]
	}
}
