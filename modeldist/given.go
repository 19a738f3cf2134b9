package modeldist

import (
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
)

// Given returns the distribution conditional on a context for each row of a batch: q(m | D).
// context [B, C] is the input of the network, for a configuration with a Context of C numbers, and
// nil otherwise. logMass [R, M] float64, nil for none, are log weights of all models in the order
// of their index, not normalised. They are the distribution of a new network: the outputs of the
// network are added to their conditionals. R divides B: the first B/R rows of the batch have the
// first row of logMass, and so on. The result belongs to the graph of the nodes; it shares the
// variables of a.
func (a *Autoregressive) Given(context, logMass *graph.Node) *Autoregressive {
	conditioned := *a
	conditioned.context, conditioned.logMass = context, logMass
	return &conditioned
}

// offset is, for the codes [B, S] of a batch, log p(m_s = k | m_1 … m_{s−1}) of each outcome k of
// a site under logMass, up to a constant of the row. [B, K]
func (a *Autoregressive) offset(codes *graph.Node, site int) *graph.Node {
	before, after := 1, 1
	for _, card := range a.cards[:site] {
		before *= card
	}
	for _, card := range a.cards[site+1:] {
		after *= card
	}
	batch, rows, card := codes.Shape().Dim(0), a.logMass.Shape().Dim(0), a.cards[site]
	mass := logSumExpLast(graph.Reshape(a.logMass, rows*before, card, after)) // [R·before, K]
	if before == 1 && rows == batch {
		return mass
	}
	prefix := graph.Zeros(codes.Graph(), shapes.Make(dtypes.Int32, batch, 1)) // its index
	for s := range site {
		prefix = graph.Add(graph.MulScalar(prefix, a.cards[s]), graph.SliceAxis(codes, 1, graph.AxisElem(s)))
	}
	row := graph.Iota(codes.Graph(), shapes.Make(dtypes.Int32, batch, 1), 0)
	row = graph.MulScalar(graph.DivScalar(row, batch/rows), before)
	return graph.Gather(mass, graph.Add(row, prefix)) // [B, K]
}

// logSumExpLast is log Σ exp over the last axis.
func logSumExpLast(x *graph.Node) *graph.Node {
	peak := graph.StopGradient(graph.ReduceAndKeep(x, graph.ReduceMax, -1))
	sum := graph.ReduceSum(graph.Exp(graph.Sub(x, peak)), -1)
	return graph.Add(graph.Log(sum), graph.Squeeze(peak, -1))
}
