package vti

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/rank"
)

// jointDraws holds the weighted draws (m, θ) of a joint certificate in progress.
type jointDraws struct {
	evaluator   *evaluator
	certificate *weighing
	reference   wideProposal // r(m)
	random      *rand.Rand
	logWeights  []float64 // [draws]
	theta       []float64 // [draws, D]
}

// input draws the models of a batch from r(m), the wider version of q(m), and inputs z of the flow
// from evaluate.WideReference.
func (d *jointDraws) input() (batchInput, error) {
	batch, _, dim := d.evaluator.Sizes()
	codes, _, err := d.reference.Draw(d.random)
	if err != nil {
		return batchInput{}, err
	}
	z := make([]float64, batch*dim)
	for row := range batch {
		evaluate.WideReference.Draw(d.random, z[row*dim:(row+1)*dim])
	}
	return batchInput{slices.Concat(codes...), z, "joint", d.evaluator.pushWide}, nil
}

// add appends the draws of a batch with their weights.
func (d *jointDraws) add(codes [][]int32, draws batchPiece) error {
	logPrior, err := d.evaluator.LogPrior(codes)
	if err != nil {
		return err
	}
	logModel, err := d.evaluator.LogModel(codes)
	if err != nil {
		return err
	}
	logReference, err := d.reference.LogProb(codes)
	if err != nil {
		return err
	}
	c := d.certificate
	for i, code := range codes {
		logP, logQ := logPrior[i]+draws.LogJoint[i], logModel[i]+draws.LogQ[i]
		logWeight := logPrior[i] - logReference[i] + draws.LogWeights[i]
		if math.IsNaN(logWeight) || math.IsInf(logWeight, 1) {
			c.NonFinite++
			logWeight = math.Inf(-1)
		}
		d.logWeights = append(d.logWeights, logWeight)
		c.Sample.Codes = append(c.Sample.Codes, code)
		if i < d.reference.nearRows {
			c.Proposed = append(c.Proposed, code)
		}
		c.Sample.LogP, c.Sample.LogQ = append(c.Sample.LogP, logP), append(c.Sample.LogQ, logQ)
	}
	d.theta = append(d.theta, draws.Theta...)
	return nil
}

// conclude smooths the weights and completes the certificate.
func (d *jointDraws) conclude(earlier witnesses) (*weighing, error) {
	c, draws := d.certificate, len(d.logWeights)
	_, _, dim := d.evaluator.Sizes()
	c.Sample.Theta = mat.NewDense(draws, dim, d.theta)
	smoothed := psis.Smooth(d.logWeights)
	c.KHat, c.ESS, c.Draws = smoothed.K, smoothed.ESS, draws
	c.LogEvidence, c.LogEvidenceSE = smoothed.LogMean, smoothed.LogMeanSE
	c.Missed = psis.TailShare(smoothed.K, draws)
	c.Sample.Weight = logsum.Shares(smoothed.LogWeights)
	c.Gather()
	heavy := make([]witness, draws)
	for i, weight := range d.logWeights {
		heavy[i] = witness{c.Sample.Codes[i], c.Sample.Theta.RawRowView(i), c.Sample.LogP[i], weight - math.Log(float64(draws))}
	}
	c.witnesses.add(heaviestOf(heavy))
	if err := d.evaluator.engine.Conclude(c.Certificate); err != nil {
		return nil, err
	}
	c.shares = func(w witnesses) ([]float64, error) { return jointShares(d.evaluator, w, d.reference, draws) }
	return c, c.judgeUnseen(earlier)
}

// certifyJointly draws (m, θ) from r(m) r(θ | m), wider versions of q(m) and q(θ | m), and weights
// the draws by p(m) p(y, θ | m) / (r(m) r(θ | m)). The probability of a model is the sum of the
// weights of its draws as a share of all weights. It is 0 for a model that r(m) never proposes,
// which a large k̂ may indicate.
func certifyJointly(ctx context.Context, e *evaluator, cfg CertifyConfig) (*weighing, error) {
	batch, sites, dim := e.Sizes()
	total := (cfg.Draws + batch - 1) / batch * batch
	draws := &jointDraws{evaluator: e, certificate: &weighing{Certificate: &Certificate{}}, reference: e.wide(), random: e.Random(cfg.stream)}
	draws.logWeights, draws.theta = make([]float64, 0, total), make([]float64, 0, total*dim)
	for start := 0; start < total; start += batch * e.batches() {
		var inputs []batchInput
		for range min(e.batches(), (total-start)/batch) {
			input, err := draws.input()
			if err != nil {
				return nil, err
			}
			inputs = append(inputs, input)
		}
		evaluated, err := e.evaluateBatches(ctx, inputs)
		if err != nil {
			return nil, fmt.Errorf("certification stopped after %d draws: %w", start, err)
		}
		for k, one := range evaluated {
			if err := draws.add(slices.Collect(slices.Chunk(inputs[k].Codes, sites)), one); err != nil {
				return nil, err
			}
			if cfg.Progress != nil {
				cfg.Progress(len(draws.logWeights), total)
			}
		}
	}
	return draws.conclude(cfg.witnesses)
}

// jointShares considers each witness, a point of posterior mass from an earlier certificate. It
// returns the logs of the amounts that draws at these points would add to the evidence estimated
// from the given number of draws.
func jointShares(e *evaluator, w witnesses, reference wideProposal, draws int) ([]float64, error) {
	all := w.flat()
	codes := apply.To(all, func(one witness) []int32 { return one.Code })
	theta := apply.To(all, func(one witness) []float64 { return one.Theta })
	logReference, err := reference.LogProb(codes)
	if err != nil {
		return nil, err
	}
	logPrior, err := e.LogPrior(codes)
	if err != nil {
		return nil, err
	}
	weights, err := newImportanceSampler(e, codes, "").weightsAt(rank.UpTo(len(all)), theta)
	for i := range weights {
		weights[i] += logPrior[i] - logReference[i] - math.Log(float64(draws))
	}
	return weights, err
}
