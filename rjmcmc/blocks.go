package rjmcmc

import (
	"context"
	"fmt"
	"strings"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/transdim/vti/internal/parallel"
)

// Rows, each the state of one chain at one temperature, are moved in blocks, whose data stay in the
// caches of a core. One goroutine moves a block through one or more whole moves, and goroutines
// wait for each other only where chains exchange states. The division into blocks and the results
// do not depend on the number of goroutines.

// blockRows is the number of rows of a block: large enough that the computation of a graph takes
// several times as long as its launch, and small enough that two cores share the 128 chains of a
// run by default. On an accelerator, where a launch costs far more than a row, all rows are one
// block. Half or twice this number gives the same answers (docs/benchmarks/constants.md).
const blockRows = 64

// block holds the rows from first to last-1 and the inputs of their graphs: [rows,S] int32,
// [rows,D] Bool and [rows,D].
type block struct {
	first, last        int
	codes, mask, theta *tensors.Tensor
	// host is the density of a HostTarget. It is nil where a graph computes the density.
	host func(codes []int32, mask []bool, theta, logPrior, logJoint []float64)
}

// accelerated reports whether launching a graph on backend takes far longer than computing a row.
func accelerated(backend backends.Backend) bool { return strings.HasPrefix(backend.Name(), "xla") }

// newBlocks divides rows among blocks. If the backend has memory that graphs read directly, the
// inputs use it: for a small table, copying the inputs would take as long as computing the graph.
func newBlocks(backend backends.Backend, rows, sites, dim int) ([]block, error) {
	size := min(blockRows, rows)
	accelerator := accelerated(backend)
	if accelerator {
		size = rows
	}
	var blocks []block
	for first := 0; first < rows; first += size {
		last := min(first+size, rows)
		b := block{
			first: first, last: last, codes: tensors.FromShape(shapes.Make(dtypes.Int32, last-first, sites)),
			mask: tensors.FromShape(shapes.Make(dtypes.Bool, last-first, dim)), theta: tensors.FromShape(shapes.Make(dtypes.Float64, last-first, dim)),
		}
		for _, input := range []*tensors.Tensor{b.codes, b.mask, b.theta} {
			if accelerator || !backend.HasSharedBuffers() {
				break
			}
			if err := input.MaterializeOnDevice(backend, true, 0); err != nil {
				return nil, fmt.Errorf("rjmcmc: memory for the inputs of graphs: %w", err)
			}
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// eachBlock calls f for every block, from several goroutines. f must touch only the rows of its
// block.
func (s *sampler) eachBlock(f func(w *workspace, b *block) error) error {
	return parallel.Each(context.Background(), len(s.blocks), func(w int) func(i int) error {
		return func(i int) error { return f(&s.workspaces[w], &s.blocks[i]) }
	})
}

// oneByOne calls f for one block after another. It is meant for short work, and for the first
// evaluation of the target, which builds its graph.
func (s *sampler) oneByOne(f func(w *workspace, b *block) error) error {
	for i := range s.blocks {
		if err := f(&s.workspaces[0], &s.blocks[i]); err != nil {
			return err
		}
	}
	return nil
}
