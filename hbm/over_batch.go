package hbm

import (
	gocontext "context"
	"fmt"
	"strings"

	. "github.com/gomlx/gomlx/pkg/core/graph"

	vti "github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/space"
)

// batchedFamily is a family over a space of models that trains on some members of each plate at a
// time (Config.Batch). Free encodings are variables of all members, of which a step takes some.
type batchedFamily struct {
	*targetFamily
	selector *selector
	part     *Posterior // of the members in a step
}

var _ vti.BatchedFlow = (*batchedFamily)(nil)

func newBatchedFamily(f *targetFamily, s *selector) *batchedFamily {
	part := &feed{model: f.model, data: f.data, dtype: f.config.DType, target: f}
	return &batchedFamily{f, s, &Posterior{model: f.model, config: f.config, family: f.family, feed: part}}
}

// String describes the family for checkpoints.
func (f *batchedFamily) String() string {
	var sizes []string
	for _, p := range f.model.plates {
		sizes = append(sizes, fmt.Sprint(f.selector.size(p)))
	}
	return fmt.Sprintf("%v, %s members in a step", f.targetFamily, strings.Join(sizes, "/"))
}

// Batch implements [vti.BatchedFlow].
func (f *batchedFamily) Batch(_ gocontext.Context, _ *gpu.Device, step int) ([]any, error) {
	chosen := f.selector.draw(stream.Rand(f.config.Seed, fmt.Sprintf("plates/%d", step)))
	return f.part.feed.inputs(chosen), nil
}

// Densities implements [vti.BatchedFlow].
func (f *batchedFamily) Densities(ctx *vti.Context, codes *Node, inputs []*Node) (logQ, logJoint *Node) {
	r := f.part.feed.replica(f.selector, inputs)
	f.tell(r, f.space.Mask(codes), space.Features(f.space, codes, r.dtype))
	logJoint, logQ = f.part.densities(ctx, r, codes.Shape().Dim(0))
	return logQ, logJoint
}
