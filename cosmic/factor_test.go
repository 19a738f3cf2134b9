package cosmic

import (
	"testing"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
)

// TestFactor compares the factor for every mask of a random matrix, and its products and solutions,
// with gonum's Cholesky decomposition.
func TestFactor(t *testing.T) {
	for _, dim := range []int{1, 2, 5} {
		cfg := Config{Dim: dim, Precision: randomPrecision(dim), Linear: randomLinear(dim)}
		quadratic := cfg.standardised()
		if dim == 1 {
			quadratic.couplings = make([]float64, 1)
		}
		rng := stream.Rand(uint64(dim), "factor")
		v := make([]float64, dim)
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		b := allMasks(dim, v)
		exec, err := graph.NewExec(testkit.Backend(t), func(mask, v, couplings, linear *graph.Node) []*graph.Node {
			f := newFactor(mask, graph.Reshape(couplings, dim, dim, 1), graph.Reshape(linear, dim, 1))
			v = turned(v)
			out := []*graph.Node{stacked(f.diagonal), f.shift, f.solve(v), f.solveTransposed(v), f.multiply(v), f.multiplyTransposed(v)}
			for i := range out {
				out[i] = turned(out[i])
			}
			return out
		})
		require.NoError(t, err)
		results, err := exec.Exec(b.mask, b.x, quadratic.couplings, quadratic.linear)
		require.NoError(t, err)
		for n, mask := range b.mask {
			matrix, linear := mat.NewSymDense(dim, nil), mat.NewVecDense(dim, nil)
			for i := range dim {
				matrix.SetSym(i, i, 1)
				for j := range i {
					if mask[i] && mask[j] {
						matrix.SetSym(i, j, quadratic.couplings[i*dim+j])
					}
				}
				if mask[i] {
					linear.SetVec(i, quadratic.linear[i])
				}
			}
			var cholesky mat.Cholesky
			require.True(t, cholesky.Factorize(matrix))
			var lower mat.TriDense
			cholesky.LTo(&lower)
			diagonal := mat.NewVecDense(dim, nil)
			for i := range dim {
				diagonal.SetVec(i, lower.At(i, i))
			}
			var shift, solved, solvedTransposed, product, productTransposed mat.VecDense
			vector := mat.NewVecDense(dim, v)
			require.NoError(t, shift.SolveVec(&lower, linear))
			require.NoError(t, solved.SolveVec(&lower, vector))
			require.NoError(t, solvedTransposed.SolveVec(lower.T(), vector))
			product.MulVec(&lower, vector)
			productTransposed.MulVec(lower.T(), vector)
			for i, want := range []*mat.VecDense{diagonal, &shift, &solved, &solvedTransposed, &product, &productTransposed} {
				got := results[i].Value().([][]float64)[n]
				require.InDeltaSlice(t, want.RawVector().Data, got, 1e-11, "result %d of %v", i, mask)
			}
		}
	}
}

// TestLinearMapGradient checks that linearMap returns exactly the product and takes its gradient
// from the transpose.
func TestLinearMapGradient(t *testing.T) {
	m := [][]float64{{1, 2}, {0, 3}}
	exec, err := graph.NewExec(testkit.Backend(t), func(m, x *graph.Node) []*graph.Node {
		apply := func(x *graph.Node) *graph.Node { return graph.MatMul(m, x) }
		transposed := func(x *graph.Node) *graph.Node { return graph.MatMul(turned(m), x) }
		y := linearMap(x, apply, transposed)
		direct := apply(x)
		loss := func(y *graph.Node) *graph.Node { return graph.ReduceAllSum(graph.Sin(y)) }
		return []*graph.Node{y, direct, graph.Gradient(loss(y), x)[0], graph.Gradient(loss(direct), x)[0]}
	})
	require.NoError(t, err)
	out, err := exec.Exec(m, [][]float64{{0.1, 1e9}, {0.3, -7}})
	require.NoError(t, err)
	require.Equal(t, out[1].Value(), out[0].Value())
	require.Equal(t, out[3].Value(), out[2].Value())
}
