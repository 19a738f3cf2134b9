package modeldist_test

import (
	"fmt"
	"math"

	"github.com/gomlx/gomlx/backends"
	_ "github.com/gomlx/gomlx/backends/simplego"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/modeldist"
)

// The prior is over the four subsets of two predictors and excludes the empty set.
func ExampleCategorical() {
	logPrior := []float64{math.Inf(-1), math.Log(0.5), math.Log(0.25), math.Log(0.25)}
	q, err := modeldist.NewCategorical([]int{2, 2}, modeldist.CategoricalConfig{LogPrior: logPrior})
	if err != nil {
		fmt.Println(err)
		return
	}
	backend, err := backends.NewWithConfig("go:ops_sequential")
	if err != nil {
		fmt.Println(err)
		return
	}
	uniforms := [][]float64{{0.1, 0}, {0.6, 0}, {0.9, 0}} // one row for each draw
	out := context.MustExecOnceN(backend, context.New(), func(ctx *context.Context, uniforms *graph.Node) []*graph.Node {
		codes := q.Sample(ctx, uniforms)
		return []*graph.Node{codes, graph.Exp(q.LogProb(ctx, codes))}
	}, uniforms)
	fmt.Println(out[0].Value(), out[1].Value())
	// Output: [[0 1] [1 0] [1 1]] [0.5 0.25 0.25]
}

// Sixty predictors make 2^60 models, too many to list. Before training each predictor is absent
// with probability 0.9.
func ExampleAutoregressive() {
	cards, prior := make([]int, 60), make([][]float64, 60)
	for site := range cards {
		cards[site] = 2
		prior[site] = []float64{math.Log(0.9), math.Log(0.1)}
	}
	q, err := modeldist.NewAutoregressive(cards, modeldist.AutoregressiveConfig{SiteLogPrior: prior, Hidden: 64, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	backend, err := backends.NewWithConfig("go:ops_sequential")
	if err != nil {
		fmt.Println(err)
		return
	}
	null := [][]int32{make([]int32, 60)}
	logQ := context.MustExecOnce(backend, context.New(), q.LogProb, null)
	fmt.Printf("log q of the null model: %.3f\n", logQ.Value().([]float64)[0])
	// Output: log q of the null model: -6.322
}
