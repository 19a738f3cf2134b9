package hbm

import (
	"math"
	"testing"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/testkit"
)

// Links with the event they are tried on, and the places of the value that are free coordinates of
// it.
var linkCases = map[string]struct {
	link  Link
	event []int
	free  []int
}{
	"identity": {IdentityLink{}, []int{2, 2}, []int{0, 1, 2, 3}},
	"exp":      {ExpLink{}, []int{3}, []int{0, 1, 2}},
	"softplus": {SoftplusLink{}, nil, []int{0}},
	"interval": {IntervalLink{-1, 4}, []int{3}, []int{0, 1, 2}},
	"softmax":  {SoftmaxLink{}, []int{4}, []int{0, 1, 2}},
	"cholesky": {CholeskyLink{}, []int{3, 3}, []int{0, 3, 4, 6, 7, 8}},
}

// Values lie in the support, and the determinant is that of a Jacobian by central differences.
func TestLinksAgainstDifferences(t *testing.T) {
	for name, c := range linkCases {
		t.Run(name, func(t *testing.T) {
			n, err := c.link.Dim(c.event)
			require.NoError(t, err)
			require.Len(t, c.free, n)
			exec := MustNewExec(testkit.Backend(t), func(u *Node) (*Node, *Node) { return c.link.ToEvent(u, c.event) })
			apply := func(rows [][]float64) (values [][]float64, logDets []float64) {
				out := exec.MustExec(rows)
				logDets = out[1].Value().([]float64)
				flat := tensors.MustCopyFlatData[float64](out[0])
				size := product(c.event)
				for i := range rows {
					values = append(values, flat[i*size:(i+1)*size])
				}
				return values, logDets
			}
			const h = 1e-5
			random := stream.Rand(5, name)
			for trial := range 8 {
				at := make([]float64, n)
				for i := range at {
					at[i] = 2 * random.NormFloat64()
				}
				if trial == 0 {
					clear(at)
				}
				rows := [][]float64{at}
				for i := range n {
					above, below := append([]float64{}, at...), append([]float64{}, at...)
					above[i] += h
					below[i] -= h
					rows = append(rows, above, below)
				}
				values, logDets := apply(rows)
				require.NoError(t, c.link.Support().check(values[0]))
				jacobian := mat.NewDense(n, n, nil)
				for i := range n {
					for k, place := range c.free {
						jacobian.Set(k, i, (values[1+2*i][place]-values[2+2*i][place])/(2*h))
					}
				}
				want, _ := mat.LogDet(jacobian)
				require.InDelta(t, want, logDets[0], 1e-6)
			}
		})
	}
}

// Far from zero values and determinants stay finite in Float32, and so do their gradients.
func TestLinksFarOut(t *testing.T) {
	for name, c := range linkCases {
		n, _ := c.link.Dim(c.event)
		for _, far := range []float32{-80, 0, 80} {
			u := make([]float32, n)
			for i := range u {
				u[i] = far
			}
			out := MustExecOnceN(testkit.Backend(t), func(u *Node) []*Node {
				value, logDet := c.link.ToEvent(InsertAxes(u, 0), c.event)
				return []*Node{ReduceAllSum(value), ReduceAllSum(logDet), ReduceAllSum(Gradient(ReduceAllSum(logDet), u)[0])}
			}, u)
			for i, x := range out {
				require.False(t, math.IsNaN(float64(x.Value().(float32))) || math.IsInf(float64(x.Value().(float32)), 0), "%s at %g: output %d is %v", name, far, i, x.Value())
			}
		}
	}
}

func TestLinksRefuseEvents(t *testing.T) {
	for _, c := range []struct {
		link  Link
		event []int
	}{{SoftmaxLink{}, []int{1}}, {SoftmaxLink{}, nil}, {CholeskyLink{}, []int{2, 3}}, {IntervalLink{1, 1}, nil}} {
		_, err := c.link.Dim(c.event)
		require.Error(t, err)
	}
}
