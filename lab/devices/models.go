package devices

import (
	gocontext "context"
	"slices"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/modeldist"
)

// bits holds the number of outcomes of each site of a space of subsets, where a site says whether
// an item is in the subset.
var bits = slices.Repeat([]int{2}, 5)

// items and slots are the sizes of the space of lists: the number of items, and the length of
// lists.
const (
	items = 9
	slots = 3
)

// modelSubjects returns a subject (a computation to compare) for each kind of distribution q(m)
// over models: its density, the derivatives of the density, and draws.
func modelSubjects() []subject {
	codes := randomCodes("codes", rows, bits)
	return []subject{
		{"q(m) categorical", func(_ gocontext.Context, device *gpu.Device, _ dtypes.DType) ([]measured, error) {
			models, err := modeldist.NewCategorical(bits, modeldist.CategoricalConfig{LogPrior: normals("logits", 1, 1<<len(bits), 1)[0]})
			if err != nil {
				return nil, err
			}
			return measureModels(device, models, codes)
		}},
		{"q(m) autoregressive", func(_ gocontext.Context, device *gpu.Device, dtype dtypes.DType) ([]measured, error) {
			models, err := modeldist.NewAutoregressive(bits, modeldist.AutoregressiveConfig{Hidden: 16, Constraint: modeldist.MaxActive{Limit: 4}, Seed: seed, DType: dtype})
			if err != nil {
				return nil, err
			}
			return measureModels(device, models, codes)
		}},
		{"q(m) list", func(_ gocontext.Context, device *gpu.Device, dtype dtypes.DType) ([]measured, error) {
			odds := normals("odds", 1, items, 1)[0]
			models, err := modeldist.NewList(items, slots, modeldist.ListConfig{LogOdds: odds, Active: 6, Embedding: 4, Hidden: 16, Seed: seed, DType: dtype})
			if err != nil {
				return nil, err
			}
			return measureModels(device, models, randomLists("lists", rows, items, slots))
		}},
		{"q(m) surrogate", func(_ gocontext.Context, device *gpu.Device, _ dtypes.DType) ([]measured, error) {
			models, err := modeldist.NewSurrogate(bits, modeldist.SurrogateConfig{Belief: modeldist.ProcessBelief, Seed: seed})
			if err != nil {
				return nil, err
			}
			return measureModels(device, models, codes)
		}},
	}
}

func measureModels(device *gpu.Device, models vti.ModelDistribution, codes [][]int32) ([]measured, error) {
	learner, learns := models.(vti.Learner)
	e, err := newEvaluation(device, func(ctx *context.Context, inputs []*Node) []*Node {
		logProb := models.LogProb(ctx, inputs[0])
		outputs := []*Node{models.Sample(ctx, inputs[1]), logProb}
		if learns {
			return outputs
		}
		possible := Where(IsFinite(StopGradient(logProb)), logProb, ZerosLike(logProb))
		return append(outputs, slopes(ctx, possible))
	})
	if err != nil {
		return nil, err
	}
	noise := uniforms("uniforms", 4*rows, len(codes[0]))
	if _, err := e.run(codes, noise); err != nil {
		return nil, err
	}
	if learns {
		random := stream.Rand(seed, "rewards")
		rewards := make([]float64, len(codes))
		for i := range rewards {
			rewards[i] = 3 * random.NormFloat64()
		}
		if err := learner.Learn(e.ctx, slices.Concat(codes...), rewards, 0); err != nil {
			return nil, err
		}
	} else if err := e.perturb(0.5); err != nil {
		return nil, err
	}
	out, err := e.run(codes, noise)
	if err != nil {
		return nil, err
	}
	all := []measured{{Draws, out[0]}, {Values, out[1]}}
	if !learns {
		all = append(all, measured{Gradients, out[2]})
	}
	return all, nil
}
