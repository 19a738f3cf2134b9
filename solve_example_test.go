package vti_test

import (
	"context"
	"fmt"
	"log"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/space"
)

// The posteriors of the target are normal. The untrained flow, which is the normal approximation of
// each, therefore suffices.
func ExampleSolve() {
	models, err1 := space.NewSubsets(2, []int{0}, [][]int{{1}})
	device, err2 := gpu.Open(gpu.Auto)
	target := trend{models, []float64{-2, -1, 0, 1, 2}, []float64{-1.3, 0.2, 0.4, 0.3, 1.9}}
	solution, err3 := vti.Solve(context.Background(), device, target, vti.SolveConfig{Precision: 0.01, Fit: vti.Config{Seed: 1}})
	for _, err := range []error{err1, err2, err3} {
		if err != nil {
			log.Fatal(err)
		}
	}
	probability, se := solution.Certificate.Probability(func(code []int32) bool { return code[0] == 1 })
	fmt.Printf("%v after %d training steps: %.2f, to within 0.01: %v\n", solution.Certificate.Verdict, solution.Posterior.Steps(), probability, se <= 0.01)
	// Output:
	// trusted after 0 training steps: 0.67, to within 0.01: true
}

// normalTrend is a trend that declares one mode: its posteriors are normal.
type normalTrend struct{ trend }

func (normalTrend) Unimodal() bool { return true }

// If the posterior of every model has a single mode, importance weights need no check by Markov
// chains, which saves most of the time.
func ExampleUnimodalTarget() {
	models, err1 := space.NewSubsets(2, []int{0}, [][]int{{1}})
	device, err2 := gpu.Open(gpu.Auto)
	target := normalTrend{trend{models, []float64{-2, -1, 0, 1, 2}, []float64{-1.3, 0.2, 0.4, 0.3, 1.9}}}
	solution, err3 := vti.Solve(context.Background(), device, target, vti.SolveConfig{Fit: vti.Config{Seed: 1}})
	for _, err := range []error{err1, err2, err3} {
		if err != nil {
			log.Fatal(err)
		}
	}
	fmt.Printf("%v, confirmed by chains: %v\n", solution.Certificate.Verdict, solution.Certificate.Confirmed)
	// Output:
	// trusted, confirmed by chains: false
}
