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
	warm := MinScalar(DivScalar(step, WarmUpSteps), 1)
	cosine := MulScalar(AddScalar(Cos(MulScalar(step, math.Pi/float64(steps+1))), 1), 0.5)
	return MulScalar(Mul(warm, cosine), largest)
}
