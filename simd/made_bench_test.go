package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/backends"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/stretchr/testify/require"
)

// madeSize is the size of a flow of residual masked networks: its number of layers, of blocks per
// layer, the width of the networks, and their number of outputs per coordinate.
type madeSize struct{ layers, blocks, width, outputs int }

func (s madeSize) String() string { return fmt.Sprintf("%dx%dx%d", s.layers, s.blocks, s.width) }

const (
	madeBatch = 1024
	madeDim   = 8
)

// flops returns the number of floating-point operations in the matrix products of a forward and a
// backward pass. It counts masked matrices as dense and a multiply-add as two operations.
func (s madeSize) flops() float64 {
	weights := madeDim*s.width + 2*s.blocks*s.width*s.width + s.width*madeDim*s.outputs
	return 3 * 2 * madeBatch * float64(s.layers*weights)
}

// weights returns random weights in the order in which made uses them. Each layer has an input
// weight and bias, for each block a context bias, two weights and two biases, and an output weight
// and bias.
func (s madeSize) weights(rng *rand.Rand) []*tensors.Tensor {
	var list []*tensors.Tensor
	random := func(dims ...int) {
		data := make([]float32, product(dims))
		for i := range data {
			data[i] = float32(rng.NormFloat64() / math.Sqrt(float64(s.width)))
		}
		list = append(list, tensors.FromFlatDataAndDimensions(data, dims...))
	}
	for range s.layers {
		random(madeDim, s.width)
		random(s.width)
		for range s.blocks {
			random(s.width)
			random(s.width, s.width)
			random(s.width)
			random(s.width, s.width)
			random(s.width)
		}
		random(s.width, madeDim*s.outputs)
		random(madeDim * s.outputs)
	}
	return list
}

// madeMask returns a mask that is 1 where output unit j may depend on input unit i: the degree of i
// must be at most the degree of j. In the last layer, where strict is true, it must be less.
func madeMask(in, out int, inDegree, outDegree func(int) int, strict bool) [][]float32 {
	mask := make([][]float32, in)
	for i := range mask {
		mask[i] = make([]float32, out)
		for j := range mask[i] {
			if d, e := inDegree(i), outDegree(j); d < e || d == e && !strict {
				mask[i][j] = 1
			}
		}
	}
	return mask
}

// made applies the flow to x, a matrix with one point per row, and returns a loss and its gradients
// with respect to all weights.
func (s madeSize) made(x *Node, weights []*Node) []*Node {
	g := x.Graph()
	// Degrees increase with the index of units, so that masked weights are block triangular.
	hidden := func(j int) int { return 1 + j*(madeDim-1)/s.width }
	coordinate := func(i int) int { return 1 + i }
	output := func(k int) int { return 1 + k/s.outputs }
	first := Const(g, madeMask(madeDim, s.width, coordinate, hidden, false))
	inner := Const(g, madeMask(s.width, s.width, hidden, hidden, false))
	last := Const(g, madeMask(s.width, madeDim*s.outputs, hidden, output, true))
	next := 0
	take := func() *Node { next++; return weights[next-1] }
	linear := func(x, mask *Node) *Node {
		w, b := take(), take()
		return Add(MatMul(x, Mul(w, mask)), ExpandAxes(b, 0))
	}
	relu := func(x *Node) *Node { return Max(x, ScalarZero(g, x.DType())) }
	z := x
	for range s.layers {
		h := linear(z, first)
		for range s.blocks {
			context := ExpandAxes(take(), 0)
			h = Add(h, linear(relu(Add(linear(relu(h), inner), context)), inner))
		}
		out := Reshape(linear(h, last), madeBatch, madeDim, s.outputs)
		mean := ReduceMean(out, 2)
		scale := Squeeze(Slice(out, AxisRange(), AxisRange(), AxisRange(0, 1)), 2)
		z = Add(Mul(z, Exp(Tanh(scale))), mean)
	}
	loss := ReduceAllMean(Square(z))
	return append([]*Node{loss}, Gradient(loss, weights...)...)
}

var madeSizes = []madeSize{{5, 5, 16, 2}, {4, 6, 128, 31}, {4, 6, 512, 31}}

// execMADE compiles the flow and returns a function that runs one forward and backward pass.
func execMADE(t testing.TB, b backends.Backend, s madeSize) func() []*tensors.Tensor {
	rng := rand.New(rand.NewPCG(5, 6))
	weights := s.weights(rng)
	data := make([]float32, madeBatch*madeDim)
	for i := range data {
		data[i] = float32(rng.NormFloat64())
	}
	args := []any{tensors.FromFlatDataAndDimensions(data, madeBatch, madeDim)}
	for _, w := range weights {
		args = append(args, w)
	}
	exec, err := NewExec(b, func(in []*Node) []*Node { return s.made(in[0], in[1:]) })
	require.NoError(t, err)
	return func() []*tensors.Tensor { return exec.MustExec(args...) }
}

func BenchmarkMADE(b *testing.B) {
	for _, s := range madeSizes {
		b.Run(s.String(), func(b *testing.B) {
			run := execMADE(b, newBackend(b, ""), s)
			run()
			for b.Loop() {
				for _, out := range run() {
					out.MustFinalizeAll()
				}
			}
			b.ReportMetric(s.flops()*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms")
		})
	}
}
