package devices

import (
	gocontext "context"
	"strings"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
)

// flowSubjects returns a subject (a computation to compare) for each kind of flow: both directions
// and all derivatives. Each flow ends in an anchor, a fixed affine map that makes coordinates
// correlated.
func flowSubjects() (all []subject) {
	for _, kind := range []cosmic.Kind{cosmic.Diagonal, cosmic.Affine, cosmic.Spline} {
		all = append(all, subject{"flow " + strings.ToLower(kind.String()), func(_ gocontext.Context, device *gpu.Device, dtype dtypes.DType) ([]measured, error) {
			return measureFlow(device, dtype, kind)
		}})
	}
	return all
}

func measureFlow(device *gpu.Device, dtype dtypes.DType, kind cosmic.Kind) ([]measured, error) {
	const dim, features = 5, 3
	precision, linear := make([]float64, dim*dim), make([]float64, dim)
	for i := range dim {
		for j := range dim {
			precision[i*dim+j] = 0.3
		}
		precision[i*dim+i], linear[i] = 2+float64(i)/2, float64(i)-2
	}
	flow, err := cosmic.New(cosmic.Config{
		Dim: dim, Features: features, Kind: kind, Layers: 2, Blocks: 2, Hidden: 16, Bins: 6, Precision: precision, Linear: linear, Seed: seed,
	})
	if err != nil {
		return nil, err
	}
	e, err := newEvaluation(device, func(ctx *context.Context, inputs []*Node) []*Node {
		mask := Equal(inputs[0], OnesLike(inputs[0]))
		feats, x := ConvertDType(inputs[1], dtype), ConvertDType(inputs[2], dtype)
		theta, logDet := flow.ToParams(ctx, mask, feats, x)
		z, logDetBack := flow.ToBase(ctx, mask, feats, x)
		loss := Sub(ReduceSum(Square(theta), -1), logDet)
		return []*Node{theta, logDet, z, logDetBack, slopes(ctx, loss), Gradient(ReduceAllSum(loss), x)[0]}
	})
	if err != nil {
		return nil, err
	}
	inputs := []any{
		randomCodes("mask", rows, []int{2, 2, 2, 2, 2}), normals("features", rows, features, 1), normals("coordinates", rows, dim, 1),
	}
	if _, err := e.run(inputs...); err != nil {
		return nil, err
	}
	if err := e.perturb(0.3); err != nil {
		return nil, err
	}
	out, err := e.run(inputs...)
	if err != nil {
		return nil, err
	}
	return []measured{{Values, out[0]}, {Values, out[1]}, {Values, out[2]}, {Values, out[3]}, {Gradients, out[4]}, {Gradients, out[5]}}, nil
}
