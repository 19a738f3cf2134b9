package varsel

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/testkit"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/space"
)

// With unknown noise every model has its own scale and its own coefficients: modes are within half
// a standard deviation of posterior means, and standard deviations within a factor of two, for few
// rows and for many, beside 4,000 exact draws of each model.
func TestExactAnchorsAreThePosteriorsOfTheirModels(t *testing.T) {
	const draws = 4000
	for _, rows := range []int{5, 8, 40} {
		problem := smallProblem(t, likelihood.GaussianKind, rows, ModelOptions{})
		target := problem.Posterior().(anchoredExactBits)
		var codes [][]int32
		for _, code := range space.All(target.Space().Cards()) {
			codes = append(codes, append([]int32(nil), code...))
		}
		outputs := MustNewExec(testkit.Backend(t), func(codes *Node) (*Node, *Node) {
			return target.Quadratic(codes, target.Space().Mask(codes), dtypes.Float64)
		}).MustExec(codes)
		precisions, linears := tensors.MustCopyFlatData[float64](outputs[0]), tensors.MustCopyFlatData[float64](outputs[1])
		dim := target.Space().Dim()
		for index, code := range codes {
			var active []int
			for j, on := range problem.Target.space.MaskRow(code, nil) {
				if on {
					active = append(active, j)
				}
			}
			precision, linear := mat.NewSymDense(len(active), nil), mat.NewVecDense(len(active), nil)
			for a, j := range active {
				linear.SetVec(a, linears[index*dim+j])
				for b, k := range active {
					precision.SetSym(a, b, precisions[(index*dim+j)*dim+k])
				}
			}
			var cholesky mat.Cholesky
			require.True(t, cholesky.Factorize(precision))
			var mode mat.VecDense
			var covariance mat.SymDense
			require.NoError(t, cholesky.SolveVecTo(&mode, linear))
			require.NoError(t, cholesky.InverseTo(&covariance))
			theta, _, err := target.SampleParameters(code, draws, stream.Rand(1, "draws"))
			require.NoError(t, err)
			for a, j := range active {
				mean, sd := stat.MeanStdDev(mat.Col(nil, j, theta), nil)
				require.InDelta(t, mean, mode.AtVec(a), sd/2, "%d rows, model %v, coordinate %d", rows, code, j)
				require.InDelta(t, 0, math.Log(math.Sqrt(covariance.At(a, a))/sd), math.Log(2), "%d rows, model %v, coordinate %d", rows, code, j)
			}
			known, err := target.LogEvidences(t.Context(), [][]int32{code})
			require.NoError(t, err)
			own, err := problem.Target.logEvidence(problem.Target.active(code))
			require.NoError(t, err)
			require.Equal(t, own, known[0], "model %v", code)
		}
	}
}

// Targets with known noise, or with too many models, have none.
func TestExactAnchorsWhereTheyHelp(t *testing.T) {
	require.Nil(t, smallProblem(t, likelihood.GaussianKind, 10, ModelOptions{Sigma: 1}).exactAnchors())
	require.NotNil(t, wideProblem(t, 13, Prior{}).exactAnchors())
	require.Nil(t, wideProblem(t, 17, Prior{}).exactAnchors())
}
