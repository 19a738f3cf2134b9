package train

import (
	"math"

	. "github.com/gomlx/gomlx/pkg/core/graph"
)

// WarmUpSteps is the number of steps over which the learning rate rises to its largest value:
// Adam's second moments are too small before.
const WarmUpSteps = 50

// LearningRate rises linearly over the warm-up and then falls to zero along half a cosine. step is
// counted from 1.
func LearningRate(step *Node, largest float64, steps int) *Node {
	return RoundRate(step, largest, Scalar(step.Graph(), step.DType(), steps), Scalar(step.Graph(), step.DType(), WarmUpSteps))
}

// RoundRate is LearningRate for numbers of steps, in all and of the warm-up, that are known only
// when the graph runs. All are scalars.
func RoundRate(step *Node, largest float64, steps, warmUp *Node) *Node {
	warm := MinScalar(Div(step, warmUp), 1)
	cosine := MulScalar(AddScalar(Cos(Mul(step, Div(Scalar(steps.Graph(), steps.DType(), math.Pi), AddScalar(steps, 1)))), 1), 0.5)
	return MulScalar(Mul(warm, cosine), largest)
}
