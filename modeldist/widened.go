package modeldist

import (
	"math"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"
)

// Training almost never draws improbable models, and the few draws among them would have large
// importance weights. A flatter version of the network, with each conditional raised to a power,
// draws these models more often. No other weight grows by more than a third. On 20 predictors the
// largest of 262,144 weights is 6 times the mean, and 88 times without it (docs/method.md).
const (
	flatPower = 0.5
	flatShare = 4 // one draw in four comes from the flatter version
)

// Widened is a mixture of a network and a flatter version of it. Of the BatchRows rows of a batch,
// the first NearRows are drawn from the network itself and the others from the flatter version;
// these are also the weights of the mixture.
type Widened struct {
	original, flat      *Autoregressive
	NearRows, BatchRows int
}

// Widened returns the mixture for batches of the given number of rows.
func (a *Autoregressive) Widened(batch int) Widened {
	return Widened{a, a.Tempered(flatPower), batch - max(batch/flatShare, 1), batch}
}

// LogProb returns the log probability of each code under the mixture: codes [B,S] -> [B].
func (w Widened) LogProb(ctx *context.Context, codes *graph.Node) *graph.Node {
	share := float64(w.NearRows) / float64(w.BatchRows)
	original := graph.AddScalar(w.original.LogProb(ctx, codes), math.Log(share))
	flat := graph.AddScalar(w.flat.LogProb(ctx, codes), math.Log1p(-share))
	return graph.LogAddExp(original, flat)
}

// Sample draws a batch: uniforms [B,S] -> codes [B,S].
func (w Widened) Sample(ctx *context.Context, uniforms *graph.Node) *graph.Node {
	original := w.original.Sample(ctx, graph.SliceAxis(uniforms, 0, graph.AxisRange(0, w.NearRows)))
	flat := w.flat.Sample(ctx, graph.SliceAxis(uniforms, 0, graph.AxisRange(w.NearRows)))
	return graph.Concatenate([]*graph.Node{original, flat}, 0)
}
