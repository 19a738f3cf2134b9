package vti

import (
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/models"
)

// pushWide maps a batch of noise z, drawn from evaluate.WideReference, to draws with their log
// weights log p(y, θ | m) − log r(θ | m).
func (e *evaluator) pushWide(codes []int32, z []float64) (draws evaluate.Pushed, logWeights []float64, err error) {
	if draws, err = e.Push(codes, z); err != nil {
		return evaluate.Pushed{}, nil, err
	}
	return draws, evaluate.WideReference.LogWeights(draws), nil
}

// wideProposal is the distribution of models for joint certification. For a network q(m) the rows
// of a batch after the first nearRows rows come from a flatter version of the network, which finds
// models that training has made improbable. All other rows come from q(m) itself.
type wideProposal struct {
	e        *evaluator
	models   ModelDistribution
	nearRows int
}

func (e *evaluator) wide() wideProposal {
	if network, ok := e.Models.(*modeldist.Autoregressive); ok {
		wide := network.Widened(e.Batch)
		return wideProposal{e, wide, wide.NearRows}
	}
	return wideProposal{e, e.Models, e.Batch}
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

// LogProb returns the log probability of models under the wider version of q(m).
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
func (e *evaluator) Wide() models.Reference { return e.wide() }
