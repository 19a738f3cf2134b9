package gradest_test

import (
	"fmt"

	"github.com/gomlx/gomlx/backends"
	_ "github.com/gomlx/gomlx/backends/simplego"
	"github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti/gradest"
)

// A step of gradient descent on the logits of three models is computed from four drawn models and
// their losses. It is then shortened until it changes the entropy by at most 0.05 nats.
func ExampleInformationGain() {
	backend, err := backends.NewWithConfig("go:ops_sequential")
	if err != nil {
		fmt.Println(err)
		return
	}
	gain := gradest.InformationGain{Epsilon: 0.05}
	out := graph.MustExecOnceN(backend, func(logits, drawn, loss *graph.Node) []*graph.Node {
		logQ := graph.Gather(graph.LogSoftmax(logits), drawn)
		surrogate, _ := gradest.ScoreFunction(loss, gradest.LeaveOneOut(loss), logQ)
		step := graph.MulScalar(graph.Gradient(surrogate, logits)[0], -2) // a learning rate of 2
		scale := gain.Categorical(logits, step)
		return []*graph.Node{surrogate, scale, gradest.Advance(logits, step, scale)}
	}, []float64{0, 0, 0}, [][]int32{{0}, {1}, {1}, {2}}, []float64{8, 5, 4, 2})
	fmt.Println("mean loss", out[0].Value())
	fmt.Println("scale", out[1].Value())
	fmt.Printf("logits %.3f\n", out[2].Value())
	// Output:
	// mean loss 4.75
	// scale 0.125
	// logits [-0.271 0.042 0.229]
}
