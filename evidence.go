package vti

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/models"
)

// Evidences estimates the evidences of chosen models by weights, like Certify but with numbers of
// draws that the caller chooses: for applications whose answer is not the posterior over the models
// themselves. Neither q(m) nor the prior over models plays a part.
type Evidences struct {
	sampler *importanceSampler
	models  []ModelEstimate
}

func newEvidences(e *evaluator, codes [][]int32, name string) *Evidences {
	return &Evidences{sampler: newImportanceSampler(e, codes, name), models: models.EstimatesOf(codes)}
}

// Draw adds allocation[i] draws of model i. keep stores them for Sample; otherwise, of all such
// draws of a model, one is kept that stands for its posterior.
func (e *Evidences) Draw(ctx context.Context, allocation []int, keep bool) error {
	return e.sampler.draw(ctx, allocation, keep)
}

// Models returns the estimates from all draws so far, in the order of the codes: log evidence, its
// error, k̂ and the number of draws. A model without draws has a log evidence of −Inf and a k̂ of
// +Inf.
func (e *Evidences) Models() []ModelEstimate {
	for i := range e.models {
		own, model := e.sampler.tallies[i].estimate(), &e.models[i]
		model.LogEvidence, model.LogEvidenceSE, model.KHat, model.Draws = own.Log, own.SE, own.KHat, own.Draws
	}
	return e.models
}

// NonFinite counts draws whose density was not finite.
func (e *Evidences) NonFinite() int { return e.sampler.nonFinite }

// Sample returns weighted draws of the parameters of one model, inactive coordinates 0, with
// weights that sum to one; none if no draw has weight.
func (e *Evidences) Sample(model int) (theta *mat.Dense, weights []float64) {
	draws, logWeights := e.sampler.tallies[model].representatives()
	norm := logsum.Of(logWeights)
	if len(draws) == 0 || !finite(norm) {
		return nil, nil
	}
	theta = mat.NewDense(len(draws), len(draws[0].theta), nil)
	for i, draw := range draws {
		theta.SetRow(i, draw.theta)
	}
	for _, logWeight := range logWeights {
		weights = append(weights, math.Exp(logWeight-norm))
	}
	return theta, weights
}
