package gpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/backends"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/stretchr/testify/require"
)

// counting is a backend that counts the matrix products of its graphs. If contract is set it
// converts sums of products to matrix products, as an XLA device does.
type counting struct {
	backends.Backend
	contract bool
	products int
}

func (c *counting) Builder(name string) backends.Builder {
	counted := &countingBuilder{c.Backend.Builder(name), c}
	if !c.contract {
		return counted
	}
	return newContracting(counted)
}

type countingBuilder struct {
	backends.Builder
	counts *counting
}

func (b *countingBuilder) DotGeneral(left backends.Op, leftContracted, leftBatch []int, right backends.Op, rightContracted, rightBatch []int) (backends.Op, error) {
	b.counts.products++
	return b.Builder.DotGeneral(left, leftContracted, leftBatch, right, rightContracted, rightBatch)
}

// TestGradientsOfProductsAreProducts checks that gradients of matrix products are matrix products,
// and compares them with GoMLX's interpreter, which adds up their terms one by one.
func TestGradientsOfProductsAreProducts(t *testing.T) {
	for _, test := range []struct {
		name        string
		left, right []int
		compute     func(a, b *Node) *Node
		products    int // the expected number of matrix products
	}{
		{"matrices", []int{3, 4}, []int{4, 5}, MatMul, 2}, // only the two gradients: the forward product is a Dot, which is not counted
		{"batch, contracted in front", []int{2, 4, 3}, []int{4, 5, 2}, func(a, b *Node) *Node {
			return DotGeneral(a, []int{1}, []int{0}, b, []int{0}, []int{2})
		}, 3},
		{"two contracted", []int{3, 4, 2}, []int{2, 5, 4}, func(a, b *Node) *Node {
			return DotGeneral(a, []int{1, 2}, nil, b, []int{2, 0}, nil)
		}, 3},
		{"sum of a broadcast product", []int{3, 1, 4}, []int{1, 5, 4}, func(a, b *Node) *Node { return ReduceSum(Mul(a, b), 2) }, 3},
		{"axes of size 1", []int{3, 1, 1, 4}, []int{1, 1, 5, 4}, func(a, b *Node) *Node { return ReduceSum(Mul(a, b), 3) }, 3},
		{"the right factor in front", []int{1, 5, 4}, []int{3, 1, 4}, func(a, b *Node) *Node { return ReduceSum(Mul(a, b), 2) }, 3},
		{"a free axis is summed", []int{3, 1, 4}, []int{1, 5, 4}, func(a, b *Node) *Node { return ReduceSum(Mul(a, b), 1, 2) }, 0},
		{"no broadcast", []int{3, 4}, []int{3, 4}, func(a, b *Node) *Node { return ReduceSum(Mul(a, b), 1) }, 0},
		{"a scalar", []int{3, 4}, nil, func(a, b *Node) *Node { return ReduceSum(Mul(a, b), 1) }, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			device, err := Open(Reference)
			require.NoError(t, err)
			defer device.Close()
			outputs := func(backend backends.Backend) []*tensors.Tensor {
				random := rand.New(rand.NewPCG(1, 2))
				left, right := normals(random, test.left), normals(random, test.right)
				return MustNewExec(backend, func(a, b *Node) []*Node {
					product := test.compute(a, b)
					return append(Gradient(ReduceAllSum(Sin(product)), a, b), product)
				}).MustExec(left, right)
			}
			got := &counting{Backend: device.Backend(), contract: true}
			computed, want := outputs(got), outputs(device.Backend())
			require.Equal(t, test.products, got.products)
			for i := range want {
				require.Equal(t, want[i].Shape(), computed[i].Shape())
				require.InDeltaSlice(t, tensors.MustCopyFlatData[float64](want[i]), tensors.MustCopyFlatData[float64](computed[i]), 1e-12)
			}
		})
	}
}

// normals returns a tensor of standard normal numbers.
func normals(random *rand.Rand, dims []int) *tensors.Tensor {
	size := 1
	for _, d := range dims {
		size *= d
	}
	values := make([]float64, size)
	for i := range values {
		values[i] = random.NormFloat64() / math.Sqrt2
	}
	return tensors.FromFlatDataAndDimensions(values, dims...)
}
