package vti

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/models"
)

// reference is a mixture of normals with mean zero. One scale holds for all coordinates of a draw.
type reference struct{ scales, shares []float64 }

// wideReference replaces the standard normal of training in certification. A flow trained by
// reverse KL is, if anything, too narrow, and weights then have a heavy right tail. The wide
// components bound the weights wherever the posterior is at most twice as wide as the flow, at the
// price of a fifth of the draws. The density of the mixture is exact, and so are the weights. Not
// tuned.
var wideReference = reference{[]float64{1, 1.25, 1.6, 2}, []float64{0.7, 0.15, 0.1, 0.05}}

func (r reference) draw(random *rand.Rand, z []float64) {
	u, scale := random.Float64(), r.scales[len(r.scales)-1]
	for k, share := range r.shares {
		if u < share {
			scale = r.scales[k]
			break
		}
		u -= share
	}
	for j := range z {
		z[j] = scale * random.NormFloat64()
	}
}

// logRatio returns the log density of the mixture over the standard normal, for the given number of
// active coordinates and their sum of squares.
func (r reference) logRatio(squares float64, active int) float64 {
	terms := make([]float64, len(r.scales))
	for k, scale := range r.scales {
		terms[k] = math.Log(r.shares[k]) - float64(active)*math.Log(scale) + squares/2*(1-1/(scale*scale))
	}
	return logsum.Of(terms)
}

// components returns the density of each component over the mixture's at a draw with the given sum
// of squares over its active coordinates. Their mean under the mixture is one. The last is left
// out, since their sum, weighted by their shares, is one.
func (r reference) components(squares float64, active int) []float64 {
	mixture := r.logRatio(squares, active)
	ratios := make([]float64, len(r.scales)-1)
	for k := range ratios {
		scale := r.scales[k]
		ratios[k] = math.Exp(-float64(active)*math.Log(scale) + squares/2*(1-1/(scale*scale)) - mixture)
	}
	return ratios
}

// logWeights returns log η(θ | m) − log r(θ | m) of draws, with r the density from this reference.
func (r reference) logWeights(draws evaluate.Pushed) []float64 {
	logWeights := make([]float64, len(draws.LogQ))
	for i := range logWeights {
		logWeights[i] = draws.LogJoint[i] - draws.LogQ[i] - r.logRatio(draws.Squares[i], int(draws.Active[i]))
	}
	return logWeights
}

// referenceModels returns the distribution of models for joint certification, and nearRows, the
// number of leading rows of each batch that come from q(m) itself. A flatter version of a network
// q(m) finds models that training has given up, as wideReference does for θ.
func referenceModels(e *evaluator) (reference ModelDistribution, nearRows int) {
	if network, ok := e.Models.(*modeldist.Autoregressive); ok {
		wide := network.Widened(e.Batch)
		return wide, wide.NearRows
	}
	return e.Models, e.Batch
}

// wideProposal draws from referenceModels and evaluates their density.
type wideProposal struct {
	e        *evaluator
	models   ModelDistribution
	nearRows int
}

// Draw draws a batch whose first rows come from q(m).
func (w wideProposal) Draw(random *rand.Rand) ([][]int32, int, error) {
	flat, err := w.e.DrawCodesFrom("draw wide", w.models, random)
	if err != nil {
		return nil, 0, err
	}
	_, sites, _ := w.e.Sizes()
	return slices.Collect(slices.Chunk(flat, sites)), w.nearRows, nil
}

// LogProb returns the log density of the mixture.
func (w wideProposal) LogProb(codes [][]int32) ([]float64, error) {
	return w.e.LogModelOf("wide models", w.models, codes)
}

// Draw draws a batch of models from q(m).
func (e *evaluator) Draw(random *rand.Rand) ([][]int32, error) {
	flat, err := e.DrawCodes(random)
	_, sites, _ := e.Sizes()
	return slices.Collect(slices.Chunk(flat, sites)), err
}

// Wide returns the wider version of q(m).
func (e *evaluator) Wide() models.Reference {
	reference, nearRows := referenceModels(e)
	return wideProposal{e, reference, nearRows}
}
