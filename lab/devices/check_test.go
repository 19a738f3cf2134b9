package devices

import (
	"errors"
	"testing"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/lab/testkit"
)

// shared returns the reference that all tests share. A few training steps suffice to distinguish
// right from wrong results.
func shared(t testing.TB) *Reference {
	t.Helper()
	steps := 10
	if testing.Short() {
		steps = 5
	}
	reference, err := NewReference(t.Context(), open(t, gpu.Reference), steps)
	require.NoError(t, err)
	return reference
}

// disagreements returns the comparisons that a device fails, by subject and class.
func disagreements(t testing.TB, reference *Reference, device *gpu.Device, dtype dtypes.DType) map[string]Comparison {
	t.Helper()
	wrong, seen := map[string]Comparison{}, 0
	require.NoError(t, reference.Check(t.Context(), device, dtype, func(c Comparison) {
		seen++
		if !c.Agrees() {
			wrong[c.Subject+", "+c.Class.String()] = c
		}
	}))
	require.GreaterOrEqual(t, seen, len(reference.subjects))
	return wrong
}

// TestCheck checks that the processor agrees with the interpreter in both float types, and that
// backends with inaccurate arithmetic disagree.
func TestCheck(t *testing.T) {
	testkit.Slow(t)
	reference := shared(t)
	device := open(t, gpu.CPU)
	for _, dtype := range DTypes() {
		require.Empty(t, disagreements(t, reference, device, dtype))
	}

	t.Run("products of 10 bits", func(t *testing.T) {
		wrong := disagreements(t, reference, device.With(coarse{device.Backend()}), dtypes.Float32)
		require.Contains(t, wrong, "target gaussian, values")
		require.Contains(t, wrong, "flow spline, values")
		require.NotContains(t, wrong, "q(m) categorical, values", "has no products")
	})
	t.Run("inexact exponentials", func(t *testing.T) {
		wrong := disagreements(t, reference, device.With(inexact{device.Backend()}), dtypes.Float64)
		require.Contains(t, wrong, "q(m) categorical, values")
		require.Contains(t, wrong, "target logistic, values")
		require.Contains(t, wrong, "target poisson, gradients")
		require.Contains(t, wrong, "flow affine, gradients")
		require.NotContains(t, wrong, "target dag mlp, draws")
	})
	t.Run("no answer", func(t *testing.T) {
		lost := errors.New("lost")
		watched := &testkit.Watched{Backend: device.Backend(), BeforeLaunch: func(string) error { return lost }}
		require.NoError(t, reference.Check(t.Context(), device.With(watched), dtypes.Float32, func(c Comparison) {
			require.ErrorIs(t, c.Err, lost)
			require.False(t, c.Agrees())
		}))
	})
}

// coarse is a backend that rounds the operands of matrix products to 10 bits, as graphics cards do
// by default.
type coarse struct{ backends.Backend }

func (c coarse) Builder(name string) backends.Builder { return &coarseBuilder{c.Backend.Builder(name)} }

type coarseBuilder struct{ backends.Builder }

func (b *coarseBuilder) Dot(x, y backends.Op) (backends.Op, error) {
	x, err := b.rounded(x)
	if err != nil {
		return nil, err
	}
	if y, err = b.rounded(y); err != nil {
		return nil, err
	}
	return b.Builder.Dot(x, y)
}

func (b *coarseBuilder) DotGeneral(x backends.Op, xAxes, xBatch []int, y backends.Op, yAxes, yBatch []int) (backends.Op, error) {
	x, err := b.rounded(x)
	if err != nil {
		return nil, err
	}
	if y, err = b.rounded(y); err != nil {
		return nil, err
	}
	return b.Builder.DotGeneral(x, xAxes, xBatch, y, yAxes, yBatch)
}

// rounded returns x with the 13 lowest bits of each number cleared if its type is Float32, and x
// otherwise.
func (b *coarseBuilder) rounded(x backends.Op) (backends.Op, error) {
	shape, err := b.OpShape(x)
	if err != nil || shape.DType != dtypes.Float32 {
		return x, err
	}
	mask, err := b.Constant([]uint32{0xffffe000})
	if err != nil {
		return nil, err
	}
	whole := shape.Clone()
	whole.DType = dtypes.Uint32
	if mask, err = b.BroadcastInDim(mask, whole, nil); err != nil {
		return nil, err
	}
	if x, err = b.Bitcast(x, dtypes.Uint32); err != nil {
		return nil, err
	}
	if x, err = b.BitwiseAnd(x, mask); err != nil {
		return nil, err
	}
	return b.Bitcast(x, dtypes.Float32)
}

// inexact is a backend whose exponentials are too large by a factor of about 1 + 10⁻⁸.
type inexact struct{ backends.Backend }

func (c inexact) Builder(name string) backends.Builder {
	return &inexactBuilder{c.Backend.Builder(name)}
}

type inexactBuilder struct{ backends.Builder }

func (b *inexactBuilder) Exp(x backends.Op) (backends.Op, error) {
	value, err := b.Builder.Exp(x)
	if err != nil {
		return nil, err
	}
	shape, err := b.OpShape(value)
	if err != nil || shape.DType != dtypes.Float64 {
		return value, err
	}
	factor, err := b.Constant([]float64{1 + 1e-8})
	if err != nil {
		return nil, err
	}
	if factor, err = b.BroadcastInDim(factor, shape, nil); err != nil {
		return nil, err
	}
	return b.Mul(value, factor)
}

func TestDifferences(t *testing.T) {
	want := []measured{{Values, []float64{1, -20, 0.5}}, {Draws, []float64{0, 1, 1, 0}}}
	got := []measured{{Values, []float64{1, -21, 0.5}}, {Draws, []float64{0, 1, 0, 0}}}
	worst, any := compare(want, got, Values)
	require.True(t, any)
	require.InDelta(t, 0.05, worst, 1e-15)
	worst, _ = compare(want, got, Draws)
	require.InDelta(t, 0.25, worst, 0)
	_, any = compare(want, got, Training)
	require.False(t, any)
	worst, _ = compare(want, []measured{{Values, []float64{1}}, {Draws, nil}}, Values)
	require.IsType(t, 0.0, worst)
	require.Greater(t, worst, 1e300, "too few numbers")
}
