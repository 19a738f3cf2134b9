package hbm

import (
	gocontext "context"
	"fmt"
	"math/rand/v2"
	"strings"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"

	vti "github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/internal/pick"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/space"
)

// amortizedFamily is a variational family over a space of models that trains on simulated data
// sets, each set from a model drawn at random (Config.Amortize). In a step, every second data set
// is paired with the model that it comes from, so that models are drawn by their posterior. Other
// data sets are paired with models from the prior, since answers need the evidences of all models.
type amortizedFamily struct {
	*batchedFamily // simulates data from the first step on
	logPrior       []float64
}

var _ vti.AmortizedFlow = (*amortizedFamily)(nil)

// String describes the family for checkpoints: it does not depend on the sizes of plates.
func (f *amortizedFamily) String() string {
	return fmt.Sprintf("%v, over %d data sets in a step, thin %v, of %s", f.targetFamily, f.config.Amortize, f.config.Thin, strings.Join(template(f.model), "; "))
}

// prepare sets up the simulation of data sets. Encoders standardise all data by the mean and spread
// of data sets simulated here.
func (f *amortizedFamily) prepare(ctx gocontext.Context, device *gpu.Device) (err error) {
	if f.logPrior, err = evaluate.LogPriors(device, f.Target); err != nil {
		return err
	}
	if f.logPrior == nil {
		return fmt.Errorf("hbm: got a space of too many models to list, want fewer with Amortize")
	}
	if f.simulate, err = newDataSets(device, f.model, f.Target, f.data, f.config); err != nil {
		return err
	}
	data, err := f.simulate(ctx, f.draw(stream.Rand(f.config.Seed, "amortize/scale")), "amortize/scale", nil)
	if err == nil {
		f.family.reader().measure(f.model, data)
	}
	return err
}

// draw draws a model from the prior for each data set.
func (f *amortizedFamily) draw(random *rand.Rand) [][]int32 {
	return apply.UpTo(f.config.Amortize, func(int) []int32 { return space.Decode(f.space.Cards(), pick.Log(f.logPrior, random.Float64()), nil) })
}

// Batch implements [vti.BatchedFlow].
func (f *amortizedFamily) Batch(ctx gocontext.Context, device *gpu.Device, step int) (inputs []any, err error) {
	if f.simulate == nil {
		if err := f.prepare(ctx, device); err != nil {
			return nil, err
		}
	}
	var from, others [][]int32
	inputs, err = f.batch(ctx, step, func(random *rand.Rand) [][]int32 {
		from, others = f.draw(random), f.draw(random)
		return from
	})
	if err != nil {
		return nil, err
	}
	var codes []int32
	for i := range from {
		if i%2 == 0 {
			codes = append(codes, from[i]...)
		} else {
			codes = append(codes, others[i]...)
		}
	}
	return append(inputs, tensors.FromFlatDataAndDimensions(codes, len(from), len(codes)/len(from))), nil
}

// Codes implements [vti.AmortizedFlow].
func (f *amortizedFamily) Codes(inputs []*Node) *Node { return inputs[len(inputs)-1] }
