package vti

import (
	"math"
	"math/rand/v2"
	"slices"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/modeldist"
)

// Joint certification draws a part of the models from a flatter version of an autoregressive q(m),
// each of whose conditionals is taken to a power. What wideProposal does for θ, this does for m:
// training gives up improbable models, and the few draws that fall there would have large weights.
// Both numbers were chosen by hand, not tuned.
const (
	flatPower = 0.5
	flatShare = 4 // one draw in four
)

// wideModels is a mixture of near and flat, in the proportion of their rows in a batch: the first
// ones come from near.
type wideModels struct {
	near, flat          ModelDistribution
	nearRows, batchRows int
}

// referenceModels is what joint certification draws models from, and the number of rows of each
// batch, the first ones, that come from q(m) itself.
func referenceModels(e *evaluator) (reference ModelDistribution, nearRows int) {
	batch := e.Batch
	network, ok := e.Models.(*modeldist.Autoregressive)
	if !ok {
		return e.Models, batch
	}
	nearRows = batch - max(batch/flatShare, 1)
	return wideModels{network, network.Tempered(flatPower), nearRows, batch}, nearRows
}

// LogProb is the log density of the mixture: codes [B,S] -> [B].
func (w wideModels) LogProb(ctx *context.Context, codes *Node) *Node {
	share := float64(w.nearRows) / float64(w.batchRows)
	near := AddScalar(w.near.LogProb(ctx, codes), math.Log(share))
	flat := AddScalar(w.flat.LogProb(ctx, codes), math.Log1p(-share))
	return LogAddExp(near, flat)
}

// Sample draws a batch: uniforms [B,S] -> codes [B,S].
func (w wideModels) Sample(ctx *context.Context, uniforms *Node) *Node {
	near := w.near.Sample(ctx, SliceAxis(uniforms, 0, AxisRange(0, w.nearRows)))
	flat := w.flat.Sample(ctx, SliceAxis(uniforms, 0, AxisRange(w.nearRows)))
	return Concatenate([]*Node{near, flat}, 0)
}

// wideProposal draws from wideModels and knows their density.
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
