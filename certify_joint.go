package vti

import (
	gocontext "context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/space"
)

// certifyJointly weighs draws (m, θ) from q(m) q(θ | m) by p(m) η(θ | m), for spaces too large to list. A model's
// probability is the weight of its draws; a model that q(m) never proposes has none, which k̂ can only hint at.
func (p *Posterior) certifyJointly(ctx gocontext.Context, cfg CertifyConfig) (*Certificate, error) {
	dim, batch := p.target.Space().Dim(), p.config.Batch
	sites := len(p.target.Space().Cards())
	certificate := &Certificate{}
	sample := &certificate.Sample
	total := (cfg.Draws + batch - 1) / batch * batch
	logWeights, theta := make([]float64, 0, total), make([]float64, 0, total*dim)
	random, z := stream.Rand(p.config.Seed, "certify"), make([]float64, batch*dim)
	for start := 0; start < total; start += batch {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("certification stopped after %d draws: %w", start, err)
		}
		codes, err := p.drawCodes(random)
		if err != nil {
			return nil, err
		}
		for row := range batch {
			wideReference.draw(random, z[row*dim:(row+1)*dim])
		}
		draws, err := p.push(codes, z)
		if err != nil {
			return nil, err
		}
		rows := make([]ModelEstimate, batch)
		for i := range rows {
			rows[i].Code = codes[i*sites : (i+1)*sites : (i+1)*sites]
		}
		logPrior, err := p.logPriorOf(rows)
		if err != nil {
			return nil, err
		}
		logModel, err := p.logModel(rows)
		if err != nil {
			return nil, err
		}
		for i, row := range rows {
			logP, logQ := logPrior[i]+draws.logJoint[i], logModel[i]+draws.logQ[i]
			logWeight := logPrior[i] - logModel[i] + draws.logWeight(wideReference, i)
			if math.IsNaN(logWeight) || math.IsInf(logWeight, 1) {
				certificate.NonFinite++
				logWeight = math.Inf(-1)
			}
			logWeights = append(logWeights, logWeight)
			sample.Codes = append(sample.Codes, row.Code)
			sample.LogP, sample.LogQ = append(sample.LogP, logP), append(sample.LogQ, logQ)
		}
		theta = append(theta, draws.theta...)
		if cfg.Progress != nil {
			cfg.Progress(len(logWeights), total)
		}
	}
	sample.Theta = mat.NewDense(total, dim, theta)
	smoothed := psis.Smooth(logWeights)
	certificate.KHat, certificate.ESS, certificate.Draws = smoothed.K, smoothed.ESS, len(logWeights)
	certificate.LogEvidence, certificate.LogEvidenceSE = smoothed.LogMean, smoothed.LogMeanSE
	norm := logSumExp(smoothed.LogWeights)
	for _, logWeight := range smoothed.LogWeights {
		sample.Weight = append(sample.Weight, math.Exp(logWeight-norm))
	}
	certificate.gather()
	logModel, err := p.logModel(certificate.Models)
	if err != nil {
		return nil, err
	}
	certificate.setQ(logModel)
	certificate.sortModels()
	certificate.judge()
	return certificate, nil
}

// gather sums the weights of the sample by model.
func (c *Certificate) gather() {
	position := map[string]int{}
	key := func(code []int32) string { return fmt.Sprint(code) }
	for i, code := range c.Sample.Codes {
		k, seen := position[key(code)]
		if !seen {
			k = len(c.Models)
			position[key(code)] = k
			c.Models = append(c.Models, ModelEstimate{Code: code, LogEvidence: math.NaN(), LogEvidenceSE: math.NaN(), KHat: math.Inf(1)})
		}
		c.Models[k].Certified += c.Sample.Weight[i]
		c.Models[k].Draws++
	}
	// Σ_i w_i² (1[i in m] − p_m)² = (1 − 2 p_m) Σ_{i in m} w_i² + p_m² Σ_i w_i².
	own := make([]float64, len(c.Models))
	var all float64
	for i, code := range c.Sample.Codes {
		square := c.Sample.Weight[i] * c.Sample.Weight[i]
		own[position[key(code)]] += square
		all += square
	}
	for k := range c.Models {
		model := &c.Models[k]
		model.SE = math.Sqrt(math.Max(0, (1-2*model.Certified)*own[k]+model.Certified*model.Certified*all))
	}
	c.ModelsChecked = len(c.Models)
}

// checkCode fails unless code names a model of the space.
func checkCode(sp space.Space, code []int32) error {
	cards := sp.Cards()
	if len(code) != len(cards) {
		return fmt.Errorf("expected a code of %d sites, found %d", len(cards), len(code))
	}
	for site, outcome := range code {
		if outcome < 0 || int(outcome) >= cards[site] {
			return fmt.Errorf("site %d: expected an outcome from 0 to %d, found %d", site, cards[site]-1, outcome)
		}
	}
	return nil
}
