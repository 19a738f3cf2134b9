package hbm

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	vti "github.com/transdim/vti"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/train"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/space"
)

// For every model, the mean of log q − log p over batches of two of six groups equals the mean over
// draws with all groups, to five standard errors of each: a false alarm in 200,000 models. If
// members in a batch did not represent the other members, the difference would be dozens of
// standard errors.
func TestBatchesStandForTheWhole(t *testing.T) {
	testkit.Slow(t)
	target := newChosenRegression(t).target
	flow, err := target.Family(Config{Family: Branch, Seed: 1, DType: dtypes.Float64, Batch: map[*Plate]int{target.model.plates[0]: 2}})
	require.NoError(t, err)
	batched := flow.(vti.BatchedFlow)
	variables, device := context.New().Checked(false), openCPU(t)
	whole, err := context.NewExec(device.Backend(), variables, func(ctx *context.Context, codes *Node) *Node {
		mask, feats := target.space.Mask(codes), space.Features(target.space, codes, dtypes.Float64)
		z := stream.Normal(ctx, codes.Graph(), 2, "test", shapes.Make(dtypes.Float64, mask.Shape().Dimensions...))
		theta, logDet := flow.ToParams(ctx, mask, feats, z)
		return Sub(Sub(logStandardNormal(z, ConvertDType(mask, dtypes.Float64)), logDet), target.LogJoint(codes, mask, theta))
	})
	require.NoError(t, err)
	part, err := context.NewExecAny(device.Backend(), variables, func(ctx *context.Context, inputs []*Node) *Node {
		logQ, logJoint := batched.Densities(ctx, inputs[0], inputs[1:])
		return Sub(logQ, logJoint)
	})
	require.NoError(t, err)
	const draws, batches = 64, 400
	for _, code := range [][]int32{{0, 0}, {1, 0}, {0, 1}, {1, 1}} {
		codes := tensors.FromFlatDataAndDimensions(slices.Repeat(code, draws), draws, 2)
		var all, means []float64
		for step := range batches {
			outputs, err := train.Call(func() ([]*tensors.Tensor, error) { return whole.Exec(codes) })
			require.NoError(t, err)
			all = append(all, tensors.MustCopyFlatData[float64](outputs[0])...)
			inputs, err := batched.Batch(t.Context(), device, step)
			require.NoError(t, err)
			outputs, err = train.Call(func() ([]*tensors.Tensor, error) { return part.Exec(append([]any{codes}, inputs...)...) })
			require.NoError(t, err)
			means = append(means, stat.Mean(tensors.MustCopyFlatData[float64](outputs[0]), nil))
		}
		want, spread := stat.MeanStdDev(all, nil)
		got, gotSpread := stat.MeanStdDev(means, nil)
		t.Log(code, want, got, gotSpread/math.Sqrt(batches))
		require.InDelta(t, want, got, 5*math.Hypot(spread/math.Sqrt(draws*batches), gotSpread/math.Sqrt(batches)))
	}
}
