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

// reference is a mixture of normals with mean zero and these scales, one scale for all coordinates
// of a draw.
type reference struct{ scales, shares []float64 }

// Certification draws z not from the standard normal that the flow was trained on but from a wider
// mixture. A flow trained by reverse KL is, if anything, too narrow, and weights then have a heavy
// right tail; the wide components bound them wherever the posterior is no more than twice as wide
// as the flow, at the price of a fifth of the draws. The density of the mixture is exact, so the
// weights are. Scales and shares were chosen by hand, not tuned.
var wideReference = reference{[]float64{1, 1.25, 1.6, 2}, []float64{0.7, 0.15, 0.1, 0.05}}

// draw fills z with one draw.
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

// logRatio is the log density of the mixture over that of the standard normal, for active
// coordinates with the given sum of squares.
func (r reference) logRatio(squares float64, active int) float64 {
	terms := make([]float64, len(r.scales))
	for k, scale := range r.scales {
		terms[k] = math.Log(r.shares[k]) - float64(active)*math.Log(scale) + squares/2*(1-1/(scale*scale))
	}
	return logsum.Of(terms)
}

// components are the densities of the components of the reference over that of the mixture at a
// draw with the given sum of squares over its active coordinates: numbers with mean one under the
// mixture. The last is left out, as all together, weighted by their shares, are one.
func (r reference) components(squares float64, active int) []float64 {
	mixture := r.logRatio(squares, active)
	ratios := make([]float64, len(r.scales)-1)
	for k := range ratios {
		scale := r.scales[k]
		ratios[k] = math.Exp(-float64(active)*math.Log(scale) + squares/2*(1-1/(scale*scale)) - mixture)
	}
	return ratios
}

// logWeights are log η(θ | m) − log r(θ | m) of draws, r being the density of θ when its z comes
// from this reference.
func (r reference) logWeights(draws evaluate.Pushed) []float64 {
	logWeights := make([]float64, len(draws.LogQ))
	for i := range logWeights {
		logWeights[i] = draws.LogJoint[i] - draws.LogQ[i] - r.logRatio(draws.Squares[i], int(draws.Active[i]))
	}
	return logWeights
}

// referenceModels is what joint certification draws models from, and the number of rows of each
// batch, the first ones, that come from q(m) itself: as wideReference does for θ, a flatter version
// of a network q(m) finds models that training has given up.
func referenceModels(e *evaluator) (reference ModelDistribution, nearRows int) {
	if network, ok := e.Models.(*modeldist.Autoregressive); ok {
		wide := network.Widened(e.Batch)
		return wide, wide.NearRows
	}
	return e.Models, e.Batch
}

// wideProposal draws from referenceModels and knows their density.
type wideProposal struct {
	e        *evaluator
	models   ModelDistribution
	nearRows int
}

// Draw draws a batch, of which the first rows come from q(m).
func (w wideProposal) Draw(random *rand.Rand) ([][]int32, int, error) {
	flat, err := w.e.DrawCodesFrom("draw wide", w.models, random)
	if err != nil {
		return nil, 0, err
	}
	_, sites, _ := w.e.Sizes()
	return slices.Collect(slices.Chunk(flat, sites)), w.nearRows, nil
}

// LogProb is the log density of the mixture.
func (w wideProposal) LogProb(codes [][]int32) ([]float64, error) {
	return w.e.LogModelOf("wide models", w.models, codes)
}

// Draw draws a batch of models from q(m).
func (e *evaluator) Draw(random *rand.Rand) ([][]int32, error) {
	flat, err := e.DrawCodes(random)
	_, sites, _ := e.Sizes()
	return slices.Collect(slices.Chunk(flat, sites)), err
}

// Wide is the wider version of q(m).
func (e *evaluator) Wide() models.Reference {
	reference, nearRows := referenceModels(e)
	return wideProposal{e, reference, nearRows}
}
