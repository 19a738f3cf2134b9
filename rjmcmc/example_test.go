package rjmcmc_test

import (
	"context"
	"fmt"
	"math"

	"github.com/gomlx/gomlx/backends"
	_ "github.com/gomlx/gomlx/backends/simplego"
	"github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/space"
)

// mean is a comparison of two models of a sample of ten values with mean 1 and known variance 1:
// that its expectation is zero (model 0), or that it is θ ~ N(0, 1) (model 1).
type mean struct{ space *space.Table }

func (m mean) Space() space.Space { return m.space }

func (m mean) LogPrior(codes *graph.Node) *graph.Node {
	return graph.BroadcastToDims(graph.Const(codes.Graph(), -math.Ln2), codes.Shape().Dim(0))
}

func (m mean) LogJoint(_, mask, theta *graph.Node) *graph.Node {
	likelihood := graph.MulScalar(graph.Square(graph.SubScalar(theta, 1)), -5) // up to a constant
	prior := graph.AddScalar(graph.MulScalar(graph.Square(theta), -0.5), -0.5*math.Log(2*math.Pi))
	return graph.ReduceSum(graph.Add(likelihood, graph.Where(mask, prior, graph.ZerosLike(prior))), 1)
}

func ExampleRun() {
	backend, err := backends.NewWithConfig("go:ops_sequential")
	if err != nil {
		panic(err)
	}
	models, err := space.NewTable([][]bool{{false}, {true}})
	if err != nil {
		panic(err)
	}
	result, err := rjmcmc.Run(context.Background(), backend, mean{models},
		rjmcmc.Config{Chains: 64, BurnIn: 200, Iterations: 500, Seed: 1})
	if err != nil {
		panic(err)
	}
	in := result.Inclusion(0)
	// In closed form: the Bayes factor exp(100/22)/√11 gives 0.966.
	fmt.Printf("P(θ in) is 0.966 within 0.01: %v\n", math.Abs(in.Mean-0.966) < 0.01)
	fmt.Printf("trustworthy: %v\n", in.RHat < 1.01 && in.ESS > 400)
	// Output:
	// P(θ in) is 0.966 within 0.01: true
	// trustworthy: true
}
