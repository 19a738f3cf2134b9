package varsel

import (
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/varsel/regression"
)

// Quadratic returns the quadratic approximation of the log density at the mode that screening
// found, restricted to the columns of each model. precision is its precision matrix, and linear the
// precision matrix times the mean. The likelihood contributes −½ Σ w_i (η_i − ŷ_i)², where η_i is
// the linear predictor of row i, w_i its working weight and ŷ_i its working response; the prior is
// added. The approximation is exact for Gaussian noise of known scale. An unknown log σ is
// independent of the coefficients. Its mean and precision (from the method noise) and the weights,
// which depend on σ, differ between models.
func (t *SlotTarget) Quadratic(codes, mask *Node, dtype dtypes.DType) (precision, linear *Node) {
	x, weighted, information := t.information(codes, dtype)
	rows, dim := x.Shape().Dim(2), t.space.Dim()
	vector := func(values []float64, dims ...int) *Node { return regression.Constant(x, values, dims...) }
	at := t.scaleCoordinate()
	prior, shift := make([]float64, dim*dim), make([]float64, dim)
	for j := range dim {
		if j != at {
			prior[j*dim+j] = 1 / (t.sd[j] * t.sd[j])
			shift[j] = t.mean[j] * prior[j*dim+j]
		}
	}
	score := ReduceSum(Mul(weighted, vector(t.start.Response, 1, 1, rows)), -1)
	precision, linear = Add(information, vector(prior, 1, dim, dim)), Add(score, vector(shift, 1, dim))
	if at < 0 {
		return precision, linear
	}

	// The row and the column of log σ are zero here, so that Mode takes it as independent.
	theta := cosmic.Mode(mask, precision, linear)
	eta := Einsum("bd,bdn->bn", theta, x)
	if t.base.Offset != nil {
		eta = Add(eta, vector(t.base.Offset, 1, rows))
	}
	coefficients := AddScalar(ReduceAndKeep(ConvertDType(mask, dtype), ReduceSum, -1), -1)
	logScale, curvature := t.noise(eta, coefficients)
	ratio := Exp(MulScalar(AddScalar(logScale, -t.start.LogScale), -2)) // ratio of the weights at this σ to the weights of screening
	unit := make([]float64, dim)
	unit[at] = 1
	corner := make([]float64, dim*dim)
	corner[at*dim+at] = 1
	precision = Add(Mul(information, InsertAxes(ratio, -1)), vector(prior, 1, dim, dim))
	precision = Add(precision, Mul(InsertAxes(curvature, -1), vector(corner, 1, dim, dim)))
	linear = Add(Mul(score, ratio), vector(shift, 1, dim))
	linear = Add(linear, Mul(Mul(logScale, curvature), vector(unit, 1, dim)))
	return precision, linear
}

// information returns X [B,D,n] of each model, WX with the working weights W, and XWX' [B,D,D].
func (t *SlotTarget) information(codes *Node, dtype dtypes.DType) (x, weighted, information *Node) {
	x = t.gather(codes, dtype)
	weighted = Mul(x, regression.Constant(x, t.start.Weights, 1, 1, len(t.start.Weights)))
	return x, weighted, StopGradient(Einsum("bdn,ben->bde", weighted, x))
}

// Settings of Newton's method for log σ: the number of its steps, which are at most 1 and start
// from the value at the end of screening, and the distance in log σ between gradients whose
// difference gives the curvature. Training corrects the remaining error. Half and twice these
// values give the same answers (docs/benchmarks/constants.md).
const (
	noiseSteps      = 4
	noiseDifference = 0.05
)

// noise returns the maximum of the marginal density of log σ and the curvature there, both [B,1].
// eta [B,n] holds the linear predictors at the mode of the coefficients, and coefficients [B,1]
// their number. To integrate over a coefficient adds log σ to the log density.
func (t *SlotTarget) noise(eta, coefficients *Node) (logScale, curvature *Node) {
	mean, sd := t.mean[t.scaleCoordinate()], t.sd[t.scaleCoordinate()]
	eta = StopGradient(eta)
	slope := func(s *Node) *Node {
		s = Identity(StopGradient(s)) // a copy, since Gradient would stop at s itself
		gradient := Gradient(ReduceAllSum(t.base.Responses.LogDensity(eta, s)), s)[0]
		return StopGradient(Add(Add(gradient, coefficients), MulScalar(AddScalar(s, -mean), -1/(sd*sd))))
	}
	logScale = AddScalar(ZerosLike(coefficients), t.start.LogScale)
	for range noiseSteps {
		here := slope(logScale)
		curvature = MulScalar(Sub(slope(AddScalar(logScale, noiseDifference)), slope(AddScalar(logScale, -noiseDifference))), -0.5/noiseDifference)
		logScale = Add(logScale, Div(here, MaxScalar(Max(curvature, Abs(here)), 1/(sd*sd))))
	}
	return logScale, MaxScalar(curvature, 1/(sd*sd))
}
