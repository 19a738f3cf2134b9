package devices

import (
	"time"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/train"
)

// Limits holds the highest speeds of a device.
type Limits struct {
	FlopsPerSecond float64 `json:"flops_per_second"` // in a product of two square matrices
	BytesPerSecond float64 `json:"bytes_per_second"` // when it reads one array and writes another
}

// These are the smallest and largest sizes of the timed matrices and arrays. Sizes double until a
// run takes longEnough.
const (
	leastMatrix = 1 << 8
	mostMatrix  = 1 << 13
	leastArray  = 1 << 18
	mostArray   = 1 << 28
	longEnough  = 30 * time.Millisecond
)

// Measure returns the limits of a device. It times a product of square matrices and a pass over an
// array on the backend that training uses. Sizes double until a run takes 30 ms or the sizes are
// 8192² and 2²⁸. The time for a size is the shortest of five runs.
func Measure(device *gpu.Device, dtype dtypes.DType) (limits Limits, err error) {
	for size := leastMatrix; size <= mostMatrix; size *= 2 {
		taken, err := timeGraph(device, shapes.Make(dtype, size, size), func(x *Node) *Node { return MatMul(x, AddScalar(x, 1)) })
		if err != nil {
			return limits, err
		}
		n := float64(size)
		limits.FlopsPerSecond = max(limits.FlopsPerSecond, 2*n*n*n/taken.Seconds())
		if taken > longEnough {
			break
		}
	}
	for size := leastArray; size <= mostArray; size *= 2 {
		taken, err := timeGraph(device, shapes.Make(dtype, size), func(x *Node) *Node { return AddScalar(MulScalar(x, 0.5), 1) })
		if err != nil {
			return limits, err
		}
		// The speed is measured with the largest size, because smaller arrays fit into caches.
		limits.BytesPerSecond = 2 * float64(size*dtype.Size()) / taken.Seconds()
		if taken > longEnough {
			break
		}
	}
	return limits, nil
}

// timeGraph returns the shortest time of a run of a graph with one input array. The input and the
// result stay on the device; only one number of the result is read.
func timeGraph(device *gpu.Device, shape shapes.Shape, build func(x *Node) *Node) (best time.Duration, err error) {
	exec, err := NewExec(device.Backend(), func(x *Node) []*Node {
		result := build(x)
		ranges := make([]SliceAxisSpec, shape.Rank())
		for axis := range ranges {
			ranges[axis] = AxisElem(0)
		}
		return []*Node{result, Slice(result, ranges...)}
	})
	if err != nil {
		return 0, err
	}
	defer exec.Finalize()
	input := tensors.FromShape(shape)
	defer input.FinalizeAll() //nolint:errcheck // the backend frees it too
	for run := range 6 {
		started := time.Now()
		outputs, err := train.Call(func() ([]*tensors.Tensor, error) { return exec.Exec(input) })
		if err != nil {
			return 0, err
		}
		if err := outputs[1].ConstBytes(func([]byte) {}); err != nil { // waits for the run to end
			return 0, err
		}
		// the first run also compiles the graph, and is left out
		if taken := time.Since(started); run > 0 && (best == 0 || taken < best) {
			best = taken
		}
		for _, output := range outputs {
			if err := output.FinalizeAll(); err != nil {
				return 0, err
			}
		}
	}
	return best, nil
}
