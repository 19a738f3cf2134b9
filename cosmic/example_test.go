package cosmic_test

import (
	"fmt"

	"github.com/gomlx/gomlx/backends"
	_ "github.com/gomlx/gomlx/backends/simplego"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/cosmic"
)

// Two models of three coordinates go through one flow, which starts as the normal approximation
// that Precision and Linear give for each model. Coordinates 0 and 1 share an effect of 2. The
// second model does not use coordinate 1: the value of that coordinate passes through without
// effect on logDet, and coordinate 0 takes the whole effect.
func Example() {
	flow, err := cosmic.New(cosmic.Config{
		Dim:       3,
		Features:  2,
		Precision: []float64{1, 0.6, 0, 0.6, 1, 0, 0, 0, 16},
		Linear:    []float64{1.6, 1.6, 48},
	})
	if err != nil {
		panic(err)
	}
	backend, err := backends.NewWithConfig("go:ops_sequential")
	if err != nil {
		panic(err)
	}
	exec, err := context.NewExec(backend, context.New(), func(ctx *context.Context, mask, feats, z *graph.Node) (*graph.Node, *graph.Node) {
		return flow.ToParams(ctx, mask, feats, z)
	})
	if err != nil {
		panic(err)
	}
	theta, logDet, err := exec.Exec2(
		[][]bool{{true, true, true}, {true, false, true}}, // coordinates each model uses
		[][]float64{{1, 1}, {0, 1}},                       // features of each model
		[][]float64{{0, 0, 1}, {0, 0.5, 1}},               // standard normal draws
	)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.3f\n%.3f\n", theta.Value(), logDet.Value())
	// Output:
	// [[1.000 1.000 3.250] [1.600 0.500 3.250]]
	// [-1.163 -1.386]
}
