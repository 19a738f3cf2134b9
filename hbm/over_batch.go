package hbm

import (
	gocontext "context"
	"fmt"
	"math/rand/v2"
	"strings"

	. "github.com/gomlx/gomlx/pkg/core/graph"

	vti "github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/space"
)

// batchedFamily is a variational family over a space of models that trains on some members of each
// plate at a time (Config.Batch). Free encodings, a few trained numbers for each member, are stored
// for all members; a training step changes only the encodings of its members.
type batchedFamily struct {
	*targetFamily
	selector *selector
	part     *Posterior // the family at the members in a step
	// simulate, if not nil, simulates the data of a step.
	simulate dataSets
	fixed    []any // the inputs of every step, if each step has all members and the same data
}

var _ vti.BatchedFlow = (*batchedFamily)(nil)

// String describes the family for checkpoints.
func (f *batchedFamily) String() string {
	sizes := apply.To(f.model.plates, func(p *Plate) string { return fmt.Sprint(f.selector.size(p)) })
	return fmt.Sprintf("%v, %s members in a step", f.targetFamily, strings.Join(sizes, "/"))
}

// Batch implements [vti.BatchedFlow].
func (f *batchedFamily) Batch(ctx gocontext.Context, _ *gpu.Device, step int) (inputs []any, err error) {
	if f.fixed != nil {
		return f.fixed, nil
	}
	inputs, err = f.batch(ctx, step, func(*rand.Rand) [][]int32 { return nil })
	if f.simulate == nil && f.selector.isWhole() {
		f.fixed = inputs
	}
	return inputs, err
}

// batch draws the members of a step. If f.simulate is set, batch also simulates their data: the
// argument from returns the code of the model of each data set, or nil if there is only one model.
func (f *batchedFamily) batch(ctx gocontext.Context, step int, from func(random *rand.Rand) [][]int32) (inputs []any, err error) {
	random := stream.Rand(f.config.Seed, fmt.Sprintf("plates/%d", step))
	chosen := f.selector.draw(random)
	if f.simulate != nil {
		var left map[*Plate][]bool
		if f.config.Thin {
			left = chosen.thin(f.model, random)
		}
		if f.part.feed.data, err = f.simulate(ctx, from(random), fmt.Sprintf("amortize/%d", step), left); err != nil {
			return nil, err
		}
	}
	return f.part.feed.inputs(chosen), nil
}

// Densities implements [vti.BatchedFlow].
func (f *batchedFamily) Densities(ctx *vti.Context, codes *Node, inputs []*Node) (logQ, logJoint *Node) {
	r := f.part.feed.replica(f.selector, inputs)
	f.tell(r, f.space.Mask(codes), space.Features(f.space, codes, r.dtype))
	logJoint, logQ = f.part.densities(ctx, r, codes.Shape().Dim(0))
	return logQ, logJoint
}
