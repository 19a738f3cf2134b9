package vti

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/weighted"
	"github.com/transdim/vti/models"
)

// evidences knows or estimates log p(y | m) of single models, and draws parameters given a model.
type evidences interface {
	// of returns those of codes.
	of(ctx context.Context, codes [][]int32) ([]models.Evidence, error)
	// parameters draws n times from p(θ | y, m) of a model with the given evidence: theta [n,D] and
	// log p(y, θ | m) [n], and the evidence that is known then. logWeights are those of the
	// proposals behind the draws, over their mean; nil where draws are exact.
	parameters(code []int32, own models.Evidence, n int, random *rand.Rand) (d modelDraws, err error)
}

// modelDraws are what evidences.parameters returns. weights are those of the draws, n in all.
type modelDraws struct {
	theta      *mat.Dense
	logJoint   []float64
	weights    []float64
	evidence   models.Evidence
	logWeights []float64
}

// keptEvidences finds each evidence once. It must not be called from several goroutines at once.
type keptEvidences struct {
	evidences
	exact bool
	kept  map[string]models.Evidence
}

func (k *keptEvidences) of(ctx context.Context, codes [][]int32) ([]models.Evidence, error) {
	var fresh [][]int32
	for _, code := range codes {
		if _, known := k.kept[codeKey(code)]; !known {
			fresh = append(fresh, code)
		}
	}
	found, err := k.evidences.of(ctx, fresh)
	if err != nil {
		return nil, err
	}
	for i, code := range fresh {
		k.kept[codeKey(code)] = found[i]
	}
	values := make([]models.Evidence, len(codes))
	for i, code := range codes {
		values[i] = k.kept[codeKey(code)]
	}
	return values, nil
}

// exactEvidences are those of an ExactTarget.
type exactEvidences struct{ target ExactTarget }

func (x exactEvidences) of(ctx context.Context, codes [][]int32) ([]models.Evidence, error) {
	values, err := x.target.LogEvidences(ctx, codes)
	if err != nil {
		return nil, err
	}
	known := make([]models.Evidence, len(values))
	for i, value := range values {
		known[i] = models.Closed(value)
	}
	return known, nil
}

func (x exactEvidences) parameters(code []int32, own models.Evidence, n int, random *rand.Rand) (modelDraws, error) {
	theta, logDensity, err := x.target.SampleParameters(code, n, random)
	if err != nil {
		return modelDraws{}, err
	}
	floats.AddConst(own.Log, logDensity)
	return modelDraws{theta, logDensity, slices.Repeat([]float64{1}, n), own, nil}, nil
}

// laplaceEvidences are estimates from draws of a LaplaceTarget. The first one of a model has a
// random stream of its own: it is the same whenever, and in whatever order, models are looked at.
type laplaceEvidences struct {
	target LaplaceTarget
	seed   uint64
}

// firstDraws are behind the first estimate of an evidence, and the least that are made for draws of
// parameters. Where a tenth of the draws is lost to the proposal the error of the estimate is a
// tenth of a nat: small compared with that of a model which is drawn a few times. Chosen by hand.
const firstDraws = 8

func (l laplaceEvidences) of(ctx context.Context, codes [][]int32) ([]models.Evidence, error) {
	estimates, failures := make([]models.Evidence, len(codes)), make([]error, len(codes))
	_ = parallel.Do(len(codes), func(i int) error {
		if failures[i] = ctx.Err(); failures[i] != nil {
			return nil
		}
		random := stream.Rand(l.seed, "certify/evidence/"+codeKey(codes[i]))
		_, logJoint, logProposal, err := l.target.ProposeParameters(codes[i], firstDraws, random)
		if failures[i] = err; err == nil {
			floats.Sub(logJoint, logProposal)
			estimates[i] = estimateOf(logJoint)
		}
		return nil
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for i, err := range failures {
		if err != nil {
			return nil, fmt.Errorf("evidence of model %v: %w", codes[i], err)
		}
	}
	return estimates, nil
}

// estimateOf is log of the mean of weights.
func estimateOf(logWeights []float64) models.Evidence {
	mean, se := psis.LogMeanExp(logWeights)
	return models.Estimated(mean, se, len(logWeights))
}

func (l laplaceEvidences) parameters(code []int32, own models.Evidence, n int, random *rand.Rand) (modelDraws, error) {
	proposals := max(n, firstDraws)
	theta, logJoint, logWeights, err := l.target.ProposeParameters(code, proposals, random)
	if err != nil {
		return modelDraws{}, err
	}
	floats.SubTo(logWeights, logJoint, logWeights)
	fresh := estimateOf(logWeights)
	if !finite(fresh.Log) {
		return modelDraws{}, fmt.Errorf("no draw of %d around the mode has weight", proposals)
	}
	floats.AddConst(-fresh.Log, logWeights)
	weights := make([]float64, proposals)
	for i, logWeight := range logWeights {
		weights[i] = math.Exp(logWeight)
	}
	d := modelDraws{evidence: own.With(fresh), logWeights: logWeights}
	if n == proposals {
		d.theta, d.logJoint, d.weights = theta, logJoint, weights
		return d, nil
	}
	_, dim := theta.Dims() // weights of few draws, over their sum, would be those of the proposal
	d.theta, d.weights = mat.NewDense(n, dim, nil), slices.Repeat([]float64{1}, n)
	for k, i := range weighted.Rows(weights, n, random) {
		d.theta.SetRow(k, theta.RawRowView(i))
		d.logJoint = append(d.logJoint, logJoint[i])
	}
	return d, nil
}
