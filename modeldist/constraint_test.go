package modeldist_test

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/gradest"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/space"
)

// different is a constraint: no site may have the outcome of the site before it.
type different struct{ cards []int }

func (d different) Allowed(codes *graph.Node, site int) *graph.Node {
	g := codes.Graph()
	outcome := make([][]int32, 1)
	for k := range d.cards[site] {
		outcome[0] = append(outcome[0], int32(k))
	}
	before := graph.Const(g, [][]int32{{-1}})
	if site > 0 {
		before = space.TakeColumns(codes, []int32{int32(site - 1)})
	}
	batch := codes.Shape().Dim(0)
	return graph.NotEqual(graph.BroadcastToDims(before, batch, d.cards[site]), graph.BroadcastToDims(graph.Const(g, outcome), batch, d.cards[site]))
}

// constrained lists every constraint with the codes that it must allow.
var constrained = map[string]struct {
	cards      []int
	constraint modeldist.Constraint
	valid      func(code []int32) bool
}{
	"at most two": {[]int{2, 2, 2, 2}, modeldist.MaxActive{Limit: 2}, func(c []int32) bool { return c[0]+c[1]+c[2]+c[3] <= 2 }},
	"none":        {[]int{2, 2}, modeldist.MaxActive{}, func(c []int32) bool { return c[0]+c[1] == 0 }},
	"both parents": {[]int{2, 2, 2, 2}, modeldist.Parents{Of: [][]int{nil, nil, {0, 1}, {1}}},
		func(c []int32) bool { return c[2] <= c[0]*c[1] && c[3] <= c[1] }},
	"one parent": {[]int{2, 2, 2}, modeldist.Parents{Of: [][]int{nil, nil, {0, 1}}, Any: true}, func(c []int32) bool { return c[2] <= c[0]+c[1] }},
	"conjunction": {[]int{2, 2, 2}, modeldist.Both{modeldist.MaxActive{Limit: 2}, modeldist.Parents{Of: [][]int{nil, nil, {0}}}},
		func(c []int32) bool { return c[0]+c[1]+c[2] <= 2 && c[2] <= c[0] }},
	"different": {[]int{3, 4, 3}, different{[]int{3, 4, 3}}, func(c []int32) bool { return c[0] != c[1] && c[1] != c[2] }},
}

func TestConstraints(t *testing.T) {
	testkit.Slow(t)
	for name, c := range constrained {
		t.Run(name, func(t *testing.T) {
			for _, dtype := range []dtypes.DType{dtypes.Float32, dtypes.Float64} {
				q := newAutoregressive(t, c.cards, modeldist.AutoregressiveConfig{Constraint: c.constraint, DType: dtype})
				ctx := randomised(t, q, 0.5)
				probs := allLogProbs(t, ctx, q)
				require.InDelta(t, 0, floats.LogSumExp(probs), 1e-12)
				for index, code := range space.All(c.cards) {
					require.Equal(t, c.valid(code), !math.IsInf(probs[index], -1), "%v", code)
				}
				for i := range probs {
					probs[i] = math.Exp(probs[i])
				}
				requireFrequencies(t, c.cards, probs, run(t, ctx, q.Sample, uniforms(5, 10_000, len(c.cards)))[0].([][]int32))
			}
		})
	}
}

// TestConstrainedGradientIsFinite checks that gradients are finite although some outcomes are
// forbidden.
func TestConstrainedGradientIsFinite(t *testing.T) {
	for name, c := range constrained {
		t.Run(name, func(t *testing.T) {
			q := newAutoregressive(t, c.cards, modeldist.AutoregressiveConfig{Constraint: c.constraint})
			ctx := randomised(t, q, 0.5)
			outputs := run(t, ctx, func(ctx *context.Context, u *graph.Node) []*graph.Node {
				codes := q.Sample(ctx, u)
				logQ := q.LogProb(ctx, codes)
				loss, _ := gradest.ScoreFunction(graph.IotaFull(u.Graph(), logQ.Shape()), graph.ZerosLike(logQ), logQ)
				var variables []*graph.Node
				for v := range ctx.IterVariables() {
					variables = append(variables, v.ValueGraph(u.Graph()))
				}
				sum := graph.ScalarZero(u.Graph(), dtypes.Float64)
				for _, gradient := range graph.Gradient(loss, variables...) {
					sum = graph.Add(sum, graph.ConvertDType(graph.ReduceAllSum(graph.Abs(gradient)), dtypes.Float64))
				}
				return []*graph.Node{sum}
			}, uniforms(5, 50, len(c.cards)))
			require.False(t, math.IsNaN(outputs[0].(float64)) || math.IsInf(outputs[0].(float64), 0))
		})
	}
}
