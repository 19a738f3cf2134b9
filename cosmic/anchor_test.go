package cosmic

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/stream"
)

// randomPrecision returns a positive definite matrix [dim·dim] with rows of very different units.
func randomPrecision(dim int) []float64 {
	rng := stream.Rand(uint64(dim), "precision")
	x := mat.NewDense(2*dim+1, dim, nil)
	for i := range 2*dim + 1 {
		shared := rng.NormFloat64()
		for j := range dim {
			x.Set(i, j, (shared+rng.NormFloat64())*math.Pow(3, float64(j%3-1)))
		}
	}
	return precisionOf(x)
}

// precisionOf returns xᵀx, row-major.
func precisionOf(x *mat.Dense) []float64 {
	_, dim := x.Dims()
	h := mat.NewSymDense(dim, nil)
	h.SymOuterK(1, x.T())
	values := make([]float64, 0, dim*dim)
	for i := range dim {
		for j := range dim {
			values = append(values, h.At(i, j))
		}
	}
	return values
}

func randomLinear(dim int) []float64 {
	rng := stream.Rand(uint64(dim), "linear")
	b := make([]float64, dim)
	for i := range b {
		b[i] = 5 * rng.NormFloat64()
	}
	return b
}

// gaussian returns the active coordinates A of a mask, and the H_AA and b_A of a configuration.
func gaussian(cfg Config, mask []bool) (active []int, precision *mat.SymDense, linear *mat.VecDense) {
	for i, on := range mask {
		if on {
			active = append(active, i)
		}
	}
	if len(active) == 0 {
		return nil, nil, nil
	}
	precision, linear = mat.NewSymDense(len(active), nil), mat.NewVecDense(len(active), nil)
	for a, i := range active {
		for b, j := range active[:a+1] {
			precision.SetSym(a, b, cfg.Precision[i*cfg.Dim+j])
		}
		linear.SetVec(a, cfg.Linear[i])
	}
	return active, precision, linear
}

// anchorOracle computes the map of an anchor, without the other layers of a flow, by gonum's
// Cholesky decomposition H_AA = G Gᵀ: θ_A = G⁻ᵀ(z_A + G⁻¹b_A).
func anchorOracle(cfg Config, mask []bool, z []float64) (theta []float64, logDet float64) {
	theta = append(theta, z...)
	active, precision, linear := gaussian(cfg, mask)
	if active == nil {
		return theta, 0
	}
	var cholesky mat.Cholesky
	cholesky.Factorize(precision)
	var lower mat.TriDense
	cholesky.LTo(&lower)
	var y mat.VecDense
	if err := y.SolveVec(&lower, linear); err != nil {
		panic(err)
	}
	for a, i := range active {
		y.SetVec(a, y.AtVec(a)+z[i])
	}
	var x mat.VecDense
	if err := x.SolveVec(lower.T(), &y); err != nil {
		panic(err)
	}
	for a, i := range active {
		theta[i] = x.AtVec(a)
	}
	return theta, -cholesky.LogDet() / 2
}

// allMasks returns a batch with one row for every subset of dim coordinates, each with the value x.
func allMasks(dim int, x []float64) (b batch) {
	for code := range 1 << dim {
		mask := make([]bool, dim)
		for i := range mask {
			mask[i] = code>>i&1 == 1
		}
		b.mask, b.x = append(b.mask, mask), append(b.x, x)
	}
	return b
}

// TestAnchorIsExactForGaussians compares the mean, covariance and log-determinant of the anchor,
// for every subset of active coordinates, with the Gaussian given by the quadratic.
func TestAnchorIsExactForGaussians(t *testing.T) {
	for _, dim := range []int{1, 5} {
		cfg := Config{Dim: dim, Kind: Diagonal, Precision: randomPrecision(dim), Linear: randomLinear(dim)}
		s := newSubject(t, cfg)
		b := allMasks(dim, make([]float64, dim))
		mean, logDet := s.eval(s.flow.ToParams, dtypes.Float64, b)
		jacobian := s.jacobian(s.flow.ToParams, b)
		for n, mask := range b.mask {
			requireNoLeak(t, mask, jacobian[n])
			active, precision, linear := gaussian(cfg, mask)
			if active == nil {
				require.Zero(t, logDet[n])
				continue
			}
			var cholesky mat.Cholesky
			require.True(t, cholesky.Factorize(precision))
			var want mat.VecDense
			require.NoError(t, cholesky.SolveVecTo(&want, linear))
			var covariance mat.SymDense
			require.NoError(t, cholesky.InverseTo(&covariance))
			require.InDelta(t, -cholesky.LogDet()/2, logDet[n], 1e-11, "%v", mask)
			for a, i := range active {
				require.InDelta(t, want.AtVec(a), mean[n][i], 1e-10, "%v", mask)
				for c, j := range active {
					got := 0.
					for _, k := range active {
						got += jacobian[n][i][k] * jacobian[n][j][k]
					}
					require.InDelta(t, covariance.At(a, c), got, 1e-10, "%v", mask)
				}
			}
		}
	}
}

// TestDiagonalPrecision compares an anchor with anchorOracle for a diagonal precision in more than
// MaxCoupledDim coordinates. The map back must return the draws.
func TestDiagonalPrecision(t *testing.T) {
	const dim = MaxCoupledDim + 1
	cfg := Config{Dim: dim, Kind: Diagonal, Precision: identity(dim), Linear: randomLinear(dim)}
	for i := range dim {
		cfg.Precision[i*dim+i] = 1 + float64(i)
	}
	s := newSubject(t, cfg)
	b := newBatch(11, 4, dim, 0)
	theta, logDet := s.eval(s.flow.ToParams, dtypes.Float64, b)
	z, logDet2 := s.eval(s.flow.ToBase, dtypes.Float64, b.with(theta))
	for n := range theta {
		want, wantDet := anchorOracle(cfg, b.mask[n], b.x[n])
		require.InDeltaSlice(t, want, theta[n], 1e-12)
		require.InDelta(t, wantDet, logDet[n], 1e-11)
		require.InDeltaSlice(t, b.x[n], z[n], 1e-12)
	}
	require.Equal(t, logDet, logDet2)
}

// TestNearlySingularPrecision has two coordinates that repeat a third one, first almost (variance
// inflation 1e4), then to within rounding. In Float32 the anchor must be finite and invertible in
// both cases, and agree with anchorOracle in the first.
func TestNearlySingularPrecision(t *testing.T) {
	const dim, rows = 12, 30
	for _, c := range []struct {
		noise float64
		exact bool
	}{{1e-2, true}, {1e-7, false}} {
		rng := stream.Rand(12, "singular")
		x := mat.NewDense(rows, dim, nil)
		for i := range rows {
			for j := range dim {
				x.Set(i, j, rng.NormFloat64())
			}
			x.Set(i, 4, x.At(i, 0)+c.noise*rng.NormFloat64())
			x.Set(i, 9, x.At(i, 0)-c.noise*rng.NormFloat64())
		}
		var linear mat.VecDense // the linear term of a quadratic with its mode at randomLinear
		linear.MulVec(mat.NewDense(dim, dim, precisionOf(x)), mat.NewVecDense(dim, randomLinear(dim)))
		cfg := Config{Dim: dim, Kind: Diagonal, Precision: precisionOf(x), Linear: linear.RawVector().Data}
		s := newSubject(t, cfg)
		b := newBatch(12, 40, dim, 0)
		theta, logDet := s.eval(s.flow.ToParams, dtypes.Float32, b)
		z, logDet2 := s.eval(s.flow.ToBase, dtypes.Float32, b.with(theta))
		for n, mask := range b.mask {
			for i := range dim {
				require.False(t, math.IsNaN(theta[n][i]) || math.IsInf(theta[n][i], 0))
				require.InDelta(t, b.x[n][i], z[n][i], 0.02)
			}
			require.InDelta(t, logDet[n], logDet2[n], 1e-4)
			active, precision, _ := gaussian(cfg, mask)
			if !c.exact || active == nil {
				continue
			}
			want, wantDet := anchorOracle(cfg, mask, b.x[n])
			require.InDelta(t, wantDet, logDet[n], 0.01)
			var cholesky mat.Cholesky
			cholesky.Factorize(precision)
			var covariance mat.SymDense
			require.NoError(t, cholesky.InverseTo(&covariance))
			for a, i := range active { // differences in posterior standard deviations
				require.InDelta(t, 0, (theta[n][i]-want[i])/math.Sqrt(covariance.At(a, a)), 0.02)
			}
		}
	}
}

// TestAnchorStaysInItsContext restores an anchor from the context, as a run that continues from a
// checkpoint does. A flow configured without an anchor, or with another one, must use the restored
// anchor.
func TestAnchorStaysInItsContext(t *testing.T) {
	cfg := Config{Dim: 5, Kind: Diagonal, Precision: randomPrecision(5), Linear: randomLinear(5)}
	s := newSubject(t, cfg)
	b := allMasks(5, []float64{1, -1, 0.5, 2, 0})
	want, _ := s.eval(s.flow.ToParams, dtypes.Float64, b)
	var err error
	for _, other := range []Config{{Dim: 5, Kind: Diagonal}, {Dim: 5, Kind: Diagonal, Precision: identity(5)}} {
		s.flow, err = New(other)
		require.NoError(t, err)
		got, _ := s.eval(s.flow.ToParams, dtypes.Float64, b)
		require.Equal(t, want, got)
	}
	for v := range s.ctx.IterVariables() {
		require.Equal(t, v.Scope() == "/coordinates", v.Trainable, v.ScopeAndName())
	}
}

// TestUnmaskedFactorIsWrong shows that TestAnchorIsExactForGaussians can fail. With the factor of
// the matrix of all coordinates in place of the active ones, the draws of a submodel have the wrong
// mean and scale.
func TestUnmaskedFactorIsWrong(t *testing.T) {
	cfg := Config{Dim: 5, Kind: Diagonal, Precision: randomPrecision(5), Linear: randomLinear(5)}
	s := newSubject(t, cfg)
	b := allMasks(5, []float64{1, -1, 0.5, 2, 0})
	broken := func(ctx *context.Context, mask, _, z *graph.Node) (theta, logDet *graph.Node) {
		everything := graph.LogicalOr(mask, graph.LogicalNot(mask))
		a := s.flow.anchor(ctx.Checked(false), everything, z.DType())
		a.mask = mask
		return stages{selected{mask, a}}.toParams(z)
	}
	theta, _ := s.eval(broken, dtypes.Float64, b)
	largest := 0.
	for n := range theta {
		want, _ := anchorOracle(cfg, b.mask[n], b.x[n])
		for i := range want {
			largest = math.Max(largest, math.Abs(want[i]-theta[n][i]))
		}
	}
	require.Greater(t, largest, 0.1)
}
