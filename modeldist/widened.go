package modeldist

import (
	"math"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"
)

// Training almost never draws improbable models, so that their few draws would have large
// importance weights. One draw in flatShare comes from a flatter version of the network, with each
// conditional raised to flatPower, which draws such models more often. The weights of other draws
// grow by at most a third. On 20 predictors the largest weight is then 6 instead of 88 times the
// mean (docs/method.md).
const (
	flatPower = 0.5
	flatShare = 4
)

// Widened is a mixture of a network and a flatter version of it. Of the BatchRows rows of a batch,
// the first NearRows are drawn from the network and the rest from the flatter version. The mixture
// has the weights NearRows/BatchRows and 1 − NearRows/BatchRows.
type Widened struct {
	original, flat      *Autoregressive
	NearRows, BatchRows int
}

// Widened returns the mixture for batches of the given number of rows.
func (a *Autoregressive) Widened(batch int) Widened {
	return Widened{a, a.Tempered(flatPower), batch - max(batch/flatShare, 1), batch}
}

// LogProb returns the log probability of each of B codes under the mixture: codes [B,S] -> [B].
func (w Widened) LogProb(ctx *context.Context, codes *graph.Node) *graph.Node {
	share := float64(w.NearRows) / float64(w.BatchRows)
	original := graph.AddScalar(w.original.LogProb(ctx, codes), math.Log(share))
	flat := graph.AddScalar(w.flat.LogProb(ctx, codes), math.Log1p(-share))
	return graph.LogAddExp(original, flat)
}

// Sample draws a batch of B codes from uniform random numbers: uniforms [B,S] -> codes [B,S].
func (w Widened) Sample(ctx *context.Context, uniforms *graph.Node) *graph.Node {
	original := w.original.Sample(ctx, graph.SliceAxis(uniforms, 0, graph.AxisRange(0, w.NearRows)))
	flat := w.flat.Sample(ctx, graph.SliceAxis(uniforms, 0, graph.AxisRange(w.NearRows)))
	return graph.Concatenate([]*graph.Node{original, flat}, 0)
}
