package vti

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/space"
)

// gain is the contribution of each coordinate to the log evidence of a model in the target normals.
const gain = 0.5

// normals is a target over subsets of independent coordinates, each with posterior N(1, ½²). The
// log evidence of a model is gain times the number of its coordinates. The prior over models is
// uniform.
type normals struct{ *space.Subsets }

func newNormals(t testing.TB, dim int) normals {
	t.Helper()
	groups := make([][]int, dim)
	for j := range dim {
		groups[j] = []int{j}
	}
	subsets, err := space.NewSubsets(dim, nil, groups)
	require.NoError(t, err)
	return normals{subsets}
}

func (n normals) Space() space.Space { return n.Subsets }

func (n normals) LogPrior(codes *Node) *Node {
	uniform := -float64(len(n.Cards())) * math.Ln2
	return AddScalar(MulScalar(ReduceSum(ConvertDType(codes, dtypes.Float64), -1), 0), uniform)
}

func (n normals) LogJoint(_, mask, theta *Node) *Node {
	density := AddScalar(MulScalar(Square(AddScalar(theta, -1)), -2), gain-0.5*math.Log(2*math.Pi)+math.Ln2)
	return ReduceSum(Where(mask, density, ZerosLike(theta)), -1)
}

func (n normals) logEvidence(code []int32) (total float64) {
	for _, in := range code {
		total += gain * float64(in)
	}
	return total
}

// newEvaluatorOf returns an evaluator of normals with an exact flow and q(m) = p(m).
func newEvaluatorOf(t testing.TB, target normals, batch int) *evaluator {
	t.Helper()
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	t.Cleanup(device.Close)
	dim := target.Dim()
	precision, linear := make([]float64, dim*dim), make([]float64, dim)
	for j := range dim {
		precision[j*dim+j], linear[j] = 4, 4
	}
	flow, err := cosmic.New(cosmic.Config{Dim: dim, Features: space.FeatureDimOf(target), Kind: cosmic.Diagonal, Precision: precision, Linear: linear})
	require.NoError(t, err)
	table, err := modeldist.NewCategorical(target.Cards(), modeldist.CategoricalConfig{})
	require.NoError(t, err)
	return newEvaluator(&evaluate.Evaluator{
		Graphs: evaluate.Graphs{Device: device, Variables: context.New().Checked(false)},
		Target: target, Flow: flow, Models: table, DType: dtypes.Float64, Batch: batch, Seed: 3,
	})
}

// Densities of rows, each a model with parameters, equal the closed forms, also if the number of
// rows is larger than a batch and not a multiple of it.
func TestEvaluator(t *testing.T) {
	target := newNormals(t, 3)
	e := newEvaluatorOf(t, target, 5)
	codes := space.ListModels(target.Space())
	logPrior, err := e.LogPrior(codes)
	require.NoError(t, err)
	logModel, err := e.LogModel(codes)
	require.NoError(t, err)
	theta := mat.NewDense(len(codes), 3, nil)
	for i := range codes {
		theta.SetRow(i, []float64{0.5, 1, float64(i)})
	}
	logQ, err := e.LogProb(codes, theta)
	require.NoError(t, err)
	for i, code := range codes {
		require.InDelta(t, -3*math.Ln2, logPrior[i], 1e-12)
		require.InDelta(t, -3*math.Ln2, logModel[i], 1e-12)
		want := -3 * math.Ln2
		for j, in := range code {
			d := theta.At(i, j) - 1
			want += float64(in) * (math.Ln2 - 0.5*math.Log(2*math.Pi) - 2*d*d)
		}
		require.InDelta(t, want, logQ[i], 1e-9)
	}

	flat := []int32{1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 1, 0, 1, 1, 0}
	draws, err := e.Push(flat, []float64{1, 0, -2, 1, 9, 1, 4, 4, 4, 0, 0, 0, 2, 1, 7})
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{1.5, 1, 0, 1.5, 0, 1.5, 0, 0, 0, 0, 1, 0, 2, 1.5, 0}, draws.Theta, 1e-9)
	require.Equal(t, []float64{1, 0, -2, 1, 0, 1, 0, 0, 0, 0, 0, 0, 2, 1, 0}, draws.Noise)
	require.Equal(t, []float64{3, 2, 0, 1, 2}, draws.Active)
	for row := range 5 { // the flow is exact: the two densities differ by the evidence
		require.InDelta(t, gain*draws.Active[row], draws.LogJoint[row]-draws.LogQ[row], 1e-9)
	}
}
