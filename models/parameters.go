package models

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/weighted"
	"github.com/transdim/vti/space"
)

// parameterDraws is the number of draws of parameters behind a certificate over models alone,
// unless Known.Draws sets it. Posterior means then have standard errors of 0.006 posterior standard
// deviations, and posterior standard deviations have standard errors of 0.4 percent.
const parameterDraws = 1 << 15

func (e *Engine) parameterDraws() int { return cmp.Or(e.Known.Draws, parameterDraws) }

// preliminaryParameters is the number of draws of parameters with Config.Preliminary if evidences
// are exact. The draws then do not improve the evidences, and only measure the distance of q from
// the posterior.
const preliminaryParameters = 1 << 12

// drawnModels holds the positions (in Visited) of the models with draws of parameters and, for each
// of these models, the number of its draws, their share in the total weight of the sample, and the
// log weights of its proposals, relative to their mean weight. Exact draws have no log weights.
type drawnModels struct {
	positions  []int
	counts     []int
	shares     []float64
	logWeights [][]float64
}

// fewWeights is the number of weights below which a model's k̂ is too uncertain to judge it alone
// (Vehtari et al. 2024, section 3.2.4).
const fewWeights = 2000

// shape returns the smallest k̂ of weights of parameters such that models with a larger k̂ together
// hold at most a tenth of the probability. The weights of all models with fewer than fewWeights
// weights are combined.
func (d *drawnModels) shape(probability []float64) float64 {
	var kHat, share []float64
	var few []float64
	fewShare := 0.0
	for k, at := range d.positions {
		if len(d.logWeights[k]) < fewWeights {
			few = append(few, d.logWeights[k]...)
			fewShare += probability[at]
			continue
		}
		kHat, share = append(kHat, psis.Smooth(d.logWeights[k]).K), append(share, probability[at])
	}
	if len(few) > 0 {
		kHat, share = append(kHat, psis.Smooth(few).K), append(share, fewShare)
	}
	return TypicalKHat(kHat, share)
}

// largestDeviation returns the largest difference, over models, between the probability of a model
// and the share of its draws in the total weight of the sample.
func (d *drawnModels) largestDeviation(probability []float64) float64 {
	left := slices.Clone(probability)
	for k, at := range d.positions {
		left[at] -= d.shares[k]
	}
	return math.Max(slices.Max(left), -slices.Min(left))
}

// drawParameters fills the sample of a certificate with n draws of parameters. The number of draws
// of each model is as near as possible to its weight times n. If evidences are estimates the draws
// improve them, and the weights of the draws follow the improved probability of each model.
func (x *Visited) drawParameters(ctx context.Context, c *Certificate, weights []float64, n int, stream string) (*drawnModels, error) {
	counts := weighted.Counts(weights, n, x.random(stream+"/parameters"))
	positions, draws, err := x.parametersOf(ctx, counts, stream)
	if err != nil {
		return nil, err
	}
	drawn := drawnModels{positions: positions}
	sample := &c.Sample
	sample.Theta = mat.NewDense(n, x.Space.Dim(), nil)
	total := 0.0
	for k, i := range positions {
		parameters := draws[k]
		drawn.counts = append(drawn.counts, counts[i])
		change := math.Exp(parameters.Evidence.Log - x.evidence[i].Log)
		x.evidence[i] = parameters.Evidence
		drawn.logWeights = append(drawn.logWeights, parameters.LogWeights)
		before := total
		for row := range counts[i] {
			sample.Theta.SetRow(len(sample.Codes), parameters.Theta.RawRowView(row))
			sample.Codes = append(sample.Codes, x.codes[i])
			sample.LogP = append(sample.LogP, x.logPrior[i]+parameters.LogJoint[row])
			weight := change * parameters.Weights[row]
			sample.Weight = append(sample.Weight, weight)
			total += weight
		}
		drawn.shares = append(drawn.shares, total-before)
	}
	for _, weights := range [][]float64{sample.Weight, drawn.shares} {
		for i := range weights {
			weights[i] /= total
		}
	}
	if !x.AnswerOnly {
		sample.LogQ, err = x.Q.LogProb(sample.Codes, sample.Theta)
	}
	return &drawn, err
}

// parametersOf draws parameters: counts[i] draws for the model at position i. It returns the
// positions of the models with draws, and the draws of each.
func (x *Visited) parametersOf(ctx context.Context, counts []int, stream string) (positions []int, draws []Parameters, err error) {
	positions = apply.Where(len(counts), func(i int) bool { return counts[i] > 0 })
	draws = make([]Parameters, len(positions))
	return positions, draws, parallel.Do(len(positions), func(k int) (err error) {
		if err := ctx.Err(); err != nil {
			return err
		}
		i := positions[k]
		random := x.random(stream + "/parameters/" + space.Key(x.codes[i]))
		if draws[k], err = x.Known.Evidences.Parameters(x.codes[i], x.evidence[i], counts[i], random); err != nil {
			return fmt.Errorf("parameters of model %v: %w", x.codes[i], err)
		}
		return nil
	})
}

// sharpen makes n more draws of parameters to improve estimated evidences. It gives each model a
// number of draws in proportion to the standard error of its probability times the square root of
// the number of draws behind its evidence (Neyman's allocation), which lowers the errors of
// probabilities most. It returns the argument before with the weights of the new draws added.
func (x *Visited) sharpen(ctx context.Context, before *drawnModels, n int, stream string) (*drawnModels, error) {
	probability, _ := x.probabilities()
	for i, evidence := range x.evidence {
		probability[i] *= evidence.SE * math.Sqrt(float64(evidence.Draws))
	}
	counts := weighted.Counts(probability, n, x.random(stream+"/parameters"))
	after := &drawnModels{}
	known := make(map[int][]float64, len(before.positions))
	for k, at := range before.positions {
		known[at] = before.logWeights[k]
	}
	fresh, draws, err := x.parametersOf(ctx, counts, stream)
	if err != nil {
		return nil, err
	}
	for k, i := range fresh {
		// the weights of each batch of draws are relative to the mean of the batch
		known[i] = append(slices.Clip(known[i]), draws[k].LogWeights...)
		x.evidence[i] = draws[k].Evidence
	}
	for i := range x.codes {
		if weights, ok := known[i]; ok {
			after.positions, after.logWeights = append(after.positions, i), append(after.logWeights, weights)
		}
	}
	return after, nil
}
