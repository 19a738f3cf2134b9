package gradest

import (
	"github.com/gomlx/gomlx/pkg/core/graph"
)

// CategoricalEntropy returns the entropy, in nats, of the categorical distributions with the given
// logits: [..., M] -> [...]. A logit of -Inf is an outcome of probability zero; each row must have
// a finite logit. The gradient is finite, and exactly zero for outcomes of probability zero.
//
// With x = logit − max and Z = ∑ exp x it computes log Z − ∑ x exp(x) / Z, which keeps full
// precision when one outcome dominates.
func CategoricalEntropy(logits *graph.Node) *graph.Node {
	x := graph.Sub(logits, graph.StopGradient(graph.ReduceAndKeep(logits, graph.ReduceMax, -1)))
	weights := graph.Exp(x)
	// An outcome of probability zero adds 0, not 0·(−Inf) = NaN. Its gradient is zero too, since
	// Where passes no gradient to the branch that it does not take.
	possible := graph.GreaterThan(x, graph.Infinity(x.Graph(), x.DType(), -1))
	finite := graph.Where(possible, x, graph.ZerosLike(x))
	total := graph.ReduceSum(weights, -1)
	return graph.Sub(graph.Log(total), graph.Div(graph.ReduceSum(graph.Mul(finite, weights), -1), total))
}
