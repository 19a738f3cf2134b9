package modeldist

import (
	"math"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"
)

// Training gives up improbable models, and the few draws among them would have large weights. A
// flatter version of the network, with each conditional taken to a power, draws these models. Not
// tuned.
const (
	flatPower = 0.5
	flatShare = 4 // one draw in four
)

// Widened is a mixture of a network and a flatter version of it, in the proportion of their rows in
// a batch: the first NearRows of BatchRows come from the network itself.
type Widened struct {
	original, flat      *Autoregressive
	NearRows, BatchRows int
}

// Widened returns the mixture for batches of the given number of rows.
func (a *Autoregressive) Widened(batch int) Widened {
	return Widened{a, a.Tempered(flatPower), batch - max(batch/flatShare, 1), batch}
}

// LogProb returns the log density of the mixture: codes [B,S] -> [B].
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
