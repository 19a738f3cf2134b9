package cosmic_test

import (
	"fmt"

	"github.com/gomlx/gomlx/backends"
	_ "github.com/gomlx/gomlx/backends/simplego"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/cosmic"
)

// Two models of three coordinates go through one flow, which starts as the affine map given by
// Shift and LogScale. The second model does not use coordinate 1, so its value passes through and
// counts for nothing.
func Example() {
	flow, err := cosmic.New(cosmic.Config{
		Dim:      3,
		Features: 2,
		Shift:    []float64{10, 20, 30},
		LogScale: []float64{0, 0, -1},
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
		[][]float64{{0.5, 0.5, 0}, {0.5, 0.5, 0}},         // standard normal draws
	)
	if err != nil {
		panic(err)
	}
	fmt.Println(theta.Value())
	fmt.Println(logDet.Value())
	// Output:
	// [[10.5 20.5 30] [10.5 0.5 30]]
	// [-1 -1]
}
