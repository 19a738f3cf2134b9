package vti

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/models"
)

// Evidences estimates the evidences of chosen models by weights, like Certify, but with numbers of
// draws that the caller chooses. It is for applications whose answer is not the posterior over
// models. It uses neither q(m) nor the prior over models.
type Evidences struct {
	sampler *importanceSampler
	models  []ModelEstimate
}

func newEvidences(e *evaluator, codes [][]int32, name string) *Evidences {
	return &Evidences{sampler: newImportanceSampler(e, codes, name), models: models.EstimatesOf(codes)}
}

// Draw adds allocation[i] draws of model i. If keep is true it stores them for Sample. Otherwise it
// keeps one draw of each model, which represents the posterior of the model.
func (e *Evidences) Draw(ctx context.Context, allocation []int, keep bool) error {
	return e.sampler.draw(ctx, allocation, keep)
}

// Models returns the estimates from all draws, in the order of the codes: the log evidence, its
// standard error, k̂ and the number of draws. Without draws the log evidence is −Inf and k̂ is
// +Inf.
func (e *Evidences) Models() []ModelEstimate {
	for i := range e.models {
		estimate, model := e.sampler.tallies[i].estimate(), &e.models[i]
		model.LogEvidence, model.LogEvidenceSE, model.KHat, model.Draws = estimate.Log, estimate.SE, estimate.KHat, estimate.Draws
	}
	return e.models
}

// NonFinite returns the number of draws with a non-finite density.
func (e *Evidences) NonFinite() int { return e.sampler.nonFinite }

// Sample returns weighted draws of the parameters of one model, with inactive coordinates 0 and
// weights that sum to one. It returns no draws if none has weight.
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
