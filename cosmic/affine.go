package cosmic

import (
	"github.com/gomlx/gomlx/pkg/core/graph"
)

// maxLogScale bounds the log-scale of one layer, so that exp and its gradient are finite for any
// input. A layer scales by at most exp(4), a factor of 55. The flow can scale by any factor,
// because its last map has no bound.
const maxLogScale = 4

// softClamp maps the reals smoothly to (-maxLogScale, maxLogScale), with value 0 and slope 1 at 0.
func softClamp(x *graph.Node) *graph.Node {
	return graph.MulScalar(graph.Tanh(graph.MulScalar(x, 1./maxLogScale)), maxLogScale)
}

// affine is the map θ = ρ0 + exp(softClamp(ρ1))·z of one coordinate. It is the identity at ρ = 0.
type affine struct{}

func (affine) outputs() []int { return []int{1, 1} }

func (affine) toParams(rho []*graph.Node, z *graph.Node) (theta, logSlope *graph.Node) {
	return shiftAndScale{rho[0], softClamp(rho[1])}.toParams(z)
}

func (affine) toBase(rho []*graph.Node, theta *graph.Node) (z, logSlope *graph.Node) {
	return shiftAndScale{rho[0], softClamp(rho[1])}.toBase(theta)
}
