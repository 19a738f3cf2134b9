package modeldist

import (
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
)

// Given returns the distribution q(m | D) given a context vector for each row of a batch, for
// example a summary of a data set D. context [B, C] is an input of the network if the configuration
// has a Context of C numbers, and nil otherwise. logMass [R, M] float64 holds log weights of all
// models in lexicographic order of their codes, not normalised; nil stands for equal weights. The
// distribution with these weights has a conditional probability for each outcome. The network adds
// its outputs, which are zero before training, to the logarithms of these probabilities. R divides
// B: the first B/R rows of the batch have the first row of logMass, the next B/R rows the second
// row, and so on. The returned distribution can be used only in the computation graph of these
// nodes. It shares the variables of a.
func (a *Autoregressive) Given(context, logMass *graph.Node) *Autoregressive {
	conditioned := *a
	conditioned.context, conditioned.logMass = context, logMass
	return &conditioned
}

// offset returns log p(m_s = k | m_1 … m_{s−1}) for the weights logMass and each outcome k of a
// site s, up to a constant for each row of codes: codes [B, S] -> [B, K].
func (a *Autoregressive) offset(codes *graph.Node, site int) *graph.Node {
	before, after := 1, 1
	for _, card := range a.cards[:site] {
		before *= card
	}
	for _, card := range a.cards[site+1:] {
		after *= card
	}
	batch, rows, card := codes.Shape().Dim(0), a.logMass.Shape().Dim(0), a.cards[site]
	mass := logSumExp(graph.Reshape(a.logMass, rows*before, card, after)) // [R·before, K]
	if before == 1 && rows == batch {
		return mass
	}
	prefix := graph.Zeros(codes.Graph(), shapes.Make(dtypes.Int32, batch, 1)) // index of the outcomes before the site
	for s := range site {
		prefix = graph.Add(graph.MulScalar(prefix, a.cards[s]), graph.SliceAxis(codes, 1, graph.AxisElem(s)))
	}
	row := graph.Iota(codes.Graph(), shapes.Make(dtypes.Int32, batch, 1), 0)
	row = graph.MulScalar(graph.DivScalar(row, batch/rows), before)
	return graph.Gather(mass, graph.Add(row, prefix)) // [B, K]
}
