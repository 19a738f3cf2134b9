package train

import (
	"math"

	. "github.com/gomlx/gomlx/pkg/core/graph"
)

// WarmUpSteps is the number of steps over which the learning rate rises to its largest value. In
// the first steps Adam's second moments are too inaccurate for large steps.
const WarmUpSteps = 50

// LearningRate returns the learning rate of a step, counted from 1. It rises linearly over the
// warm-up and then falls to zero along half a cosine.
func LearningRate(step *Node, largest float64, steps int) *Node {
	return RoundRate(step, largest, Scalar(step.Graph(), step.DType(), steps), Scalar(step.Graph(), step.DType(), WarmUpSteps))
}

// RoundRate is LearningRate for numbers of steps and warm-up steps that are known only when the
// graph runs. All arguments that are nodes are scalars.
func RoundRate(step *Node, largest float64, steps, warmUp *Node) *Node {
	warm := MinScalar(Div(step, warmUp), 1)
	cosine := MulScalar(AddScalar(Cos(Mul(step, Div(Scalar(steps.Graph(), steps.DType(), math.Pi), AddScalar(steps, 1)))), 1), 0.5)
	return MulScalar(Mul(warm, cosine), largest)
}
