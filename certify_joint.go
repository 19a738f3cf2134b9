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

// conclude fills in q(m) and the evidences of the models, orders them and sets the verdict. As p(m)
// Z_m is the certified probability times the evidence of all models together, log Z_m follows; its
// error takes those two for independent.
func (p *Posterior) conclude(c *Certificate) error {
	logModel, err := p.logModel(c.Models)
	if err != nil {
		return err
	}
	c.setQ(logModel)
	logPrior, err := p.logPriorOf(c.Models)
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

// certifyJointly weighs draws (m, θ) from r(m) r(θ | m), wider versions of q(m) and q(θ | m), by
// p(m) η(θ | m). A model's probability is the weight of its draws; a model that r(m) never proposes
// has none, which k̂ can only hint at.
func (p *Posterior) certifyJointly(ctx gocontext.Context, cfg CertifyConfig) (*Certificate, error) {
	dim, batch := p.target.Space().Dim(), p.config.Batch
	sites := len(p.target.Space().Cards())
	certificate := &Certificate{}
	sample := &certificate.Sample
	total := (cfg.Draws + batch - 1) / batch * batch
	logWeights, theta := make([]float64, 0, total), make([]float64, 0, total*dim)
	random, z := stream.Rand(p.config.Seed, "certify"), make([]float64, batch*dim)
	reference, nearRows := p.referenceModels()
	for start := 0; start < total; start += batch {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("certification stopped after %d draws: %w", start, err)
		}
		codes, err := p.drawCodesFrom("draw wide", reference, random)
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
		logReference, err := p.logModelOf("wide models", reference, rows)
		if err != nil {
			return nil, err
		}
		for i, row := range rows {
			logP, logQ := logPrior[i]+draws.logJoint[i], logModel[i]+draws.logQ[i]
			logWeight := logPrior[i] - logReference[i] + draws.logWeight(wideReference, i)
			if math.IsNaN(logWeight) || math.IsInf(logWeight, 1) {
				certificate.NonFinite++
				logWeight = math.Inf(-1)
			}
			logWeights = append(logWeights, logWeight)
			sample.Codes = append(sample.Codes, row.Code)
			if i < nearRows {
				certificate.Proposed = append(certificate.Proposed, row.Code)
			}
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
	return certificate, p.conclude(certificate)
}

// lister is a space of lists of items (space.Lists).
type lister interface {
	Items() int
	Set(code []int32) []int32
}

// outcomes numbers what a model can have in common with others: the members of a list, or the
// outcomes of sites other than the first. members lists those of a code.
func (p *Posterior) outcomes() (n int, members func(code []int32) []int) {
	if lists, ok := p.target.Space().(lister); ok {
		return lists.Items(), func(code []int32) (members []int) {
			for _, item := range lists.Set(code) {
				members = append(members, int(item))
			}
			return members
		}
	}
	cards := p.target.Space().Cards()
	first := make([]int, len(cards))
	for site, card := range cards {
		first[site] = n
		n += card - 1
	}
	return n, func(code []int32) (members []int) {
		for site, outcome := range code {
			if outcome > 0 {
				members = append(members, first[site]+int(outcome)-1)
			}
		}
		return members
	}
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
	_, se := c.Frequencies(len(c.Models), func(code []int32) []int { return []int{position[key(code)]} })
	for k := range c.Models {
		c.Models[k].SE = se[k]
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
