package line

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/logsum"
)

func normal(mean, sd float64) func(x float64) float64 {
	return func(x float64) float64 {
		z := (x - mean) / sd
		return -z*z/2 - math.Log(sd*math.Sqrt(2*math.Pi))
	}
}

func logGamma(x float64) float64 { value, _ := math.Lgamma(x); return value }

// densities holds log densities, with options for their integration and their log integrals.
var densities = map[string]struct {
	o          Options
	logDensity func(x float64) float64
	want       float64
}{
	"normal, from its mode":  {Options{From: 3, To: 3, Step: 0.7}, normal(3, 1), 0},
	"normal, from its tail":  {Options{From: -5, To: -5, Step: 0.5}, normal(3, 1), 0},
	"narrow":                 {Options{From: -2, To: 2, Step: 0.25}, normal(0.1234, 1e-4), 0},
	"wide":                   {Options{From: -2, To: 2, Step: 0.25}, normal(0, 30), 0},
	"peak between two nodes": {Options{From: 0, To: 1, Step: 1}, normal(0.5, 0.01), 0},
	"two modes, one far lower": {Options{From: -20, To: 20, Step: 0.25}, func(x float64) float64 {
		return logsum.Add(normal(-10, 0.5)(x), normal(12.1, 0.01)(x))
	}, math.Ln2},
	"log of a gamma variable": {Options{From: 0, To: 0, Step: 0.3}, func(x float64) float64 { return 4*x - math.Exp(x) }, logGamma(4)},
	// This is the log density of x = log σ for 500 residuals whose mean square is 1.
	"log of a scale": {Options{From: -10, To: 5, Step: 0.25}, func(x float64) float64 { return -500*x - 250*math.Exp(-2*x) }, logGamma(250) - math.Ln2 - 250*math.Log(250)},
	"wall, smooth":   {Options{From: 0.5, To: 0.5, Step: 0.1, Low: 0, High: 1}, func(x float64) float64 { return 9 * math.Log(x*(1-x)) }, 2*logGamma(10) - logGamma(20)},
}

func TestIntegrals(t *testing.T) {
	for name, c := range densities {
		t.Run(name, func(t *testing.T) {
			for _, c.o.Parallel = range []bool{false, true} {
				got, err := Of(c.o, c.logDensity)
				require.NoError(t, err)
				require.InDelta(t, c.want, got.Log, 1e-8)
				require.LessOrEqual(t, got.Difference, 1e-6)
				require.Less(t, len(got.Nodes), 4000)
				require.InDelta(t, 1, meanOf(got, func(Node[struct{}]) float64 { return 1 }), 1e-12)
			}
			// The error is about the square of the difference that the tolerance bounds, so a large
			// tolerance still gives a small error.
			c.o.Tolerance = 1e-2
			got, err := Of(c.o, c.logDensity)
			require.NoError(t, err)
			require.InDelta(t, c.want, got.Log, 1e-3)
		})
	}
}

func TestMean(t *testing.T) {
	got, err := Integrate(Options{From: 0, To: 0, Step: 1}, func(x float64) (float64, float64, error) { return normal(2, 3)(x), x * x, nil })
	require.NoError(t, err)
	require.InDelta(t, 13, meanOf(got, func(n Node[float64]) float64 { return n.Given }), 1e-9)
	for k, node := range got.Nodes {
		require.Equal(t, node.X*node.X, node.Given)
		require.InDelta(t, math.Log(got.Step), node.LogWeight-node.LogDensity, 1e-12)
		require.True(t, k == 0 || got.Nodes[k-1].X < node.X)
	}
}

func TestErrors(t *testing.T) {
	failed := errors.New("failed")
	_, err := Integrate(Options{Step: 1}, func(x float64) (float64, bool, error) { return -x * x, true, failed })
	require.ErrorIs(t, err, failed)
	_, err = Of(Options{Step: 1}, func(float64) float64 { return math.NaN() })
	require.ErrorContains(t, err, "the log density at 0 is NaN")
	_, err = Of(Options{Step: 1, To: 3}, func(float64) float64 { return math.Inf(-1) })
	require.ErrorContains(t, err, "zero from 0 to 3")
	_, err = Of(Options{Step: 1}, func(float64) float64 { return 0 })
	require.ErrorIs(t, err, ErrMost, "a density without an end")
	_, err = Of(Options{Step: 1}, func(float64) float64 { return -1e130 })
	require.ErrorIs(t, err, ErrMost, "Depth is less than a digit")
	require.Panics(t, func() { _, _ = Of(Options{}, normal(0, 1)) })
}

// meanOf returns the expectation of a function of the nodes under the density.
func meanOf[T any](i *Integral[T], value func(node Node[T]) float64) (total float64) {
	for _, node := range i.Nodes {
		total += math.Exp(node.LogWeight-i.Log) * value(node)
	}
	return total
}
