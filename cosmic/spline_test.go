package cosmic

import (
	"math"
	"sort"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
)

// naiveSpline is the rational-quadratic spline of Durkan et al., with its slope, as a loop over
// knots.
func naiveSpline(widths, heights, slopes []float64, x float64) (y, slope float64) {
	share := func(raw []float64) []float64 {
		knots, sum := []float64{-5}, 0.
		for _, r := range raw {
			sum += math.Exp(r)
		}
		for _, r := range raw {
			knots = append(knots, knots[len(knots)-1]+10*(1e-3+(1-1e-3*float64(len(raw)))*math.Exp(r)/sum))
		}
		return knots
	}
	xs, ys := share(widths), share(heights)
	d := []float64{1}
	for _, r := range slopes {
		d = append(d, math.Exp(4*math.Tanh(r/4)))
	}
	d = append(d, 1)
	if x <= -5 || x >= 5 {
		return x, 1
	}
	k := sort.Search(len(widths)-1, func(k int) bool { return xs[k+1] > x })
	w, h := xs[k+1]-xs[k], ys[k+1]-ys[k]
	xi, s := (x-xs[k])/w, h/w
	den := s + (d[k+1]+d[k]-2*s)*xi*(1-xi)
	y = ys[k] + h*(s*xi*xi+d[k]*xi*(1-xi))/den
	return y, s * s * (d[k+1]*xi*xi + 2*s*xi*(1-xi) + d[k]*(1-xi)*(1-xi)) / (den * den)
}

// splineCase holds the raw parameters of one spline per row, and the input x of each.
type splineCase struct{ widths, heights, slopes, shift, scale, x [][]float64 }

func newSplineCase(rows, bins int, scale float64) splineCase {
	rng := stream.Rand(12, "spline")
	normal := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = scale * rng.NormFloat64()
		}
		return v
	}
	var c splineCase
	for range rows {
		c.widths, c.heights, c.slopes = append(c.widths, normal(bins)), append(c.heights, normal(bins)), append(c.slopes, normal(bins-1))
		c.shift, c.scale = append(c.shift, []float64{0}), append(c.scale, []float64{0})
		c.x = append(c.x, []float64{12*rng.Float64() - 6})
	}
	return c
}

// run evaluates spline.toParams, its derivative with respect to x by automatic differentiation, and
// toBase at the resulting values.
func (c splineCase) run(t *testing.T, bins int) (y, log, derivative, back, backLog []float64) {
	t.Helper()
	exec, err := graph.NewExec(testkit.Backend(t), func(in []*graph.Node) []*graph.Node {
		s := spline{bins: bins}
		rho, x := in[:5], in[5]
		y, log := s.toParams(rho, x)
		derivative := graph.Gradient(graph.ReduceAllSum(y), x)[0]
		back, backLog := s.toBase(rho, y)
		return []*graph.Node{y, log, derivative, back, backLog}
	})
	require.NoError(t, err)
	out, err := exec.Exec(c.widths, c.heights, c.slopes, c.shift, c.scale, c.x)
	require.NoError(t, err)
	column := func(k int) (v []float64) {
		for _, row := range out[k].Value().([][]float64) {
			v = append(v, row[0])
		}
		return v
	}
	return column(0), column(1), column(2), column(3), column(4)
}

// TestSplineAgainstLoop compares the spline with naiveSpline, a loop over knots: its value, its
// slope (also by automatic differentiation) and its inverse.
func TestSplineAgainstLoop(t *testing.T) {
	for _, bins := range []int{2, 3, 10} {
		c := newSplineCase(200, bins, 1.5)
		y, log, derivative, back, backLog := c.run(t, bins)
		for n := range y {
			want, slope := naiveSpline(c.widths[n], c.heights[n], c.slopes[n], c.x[n][0])
			require.InDelta(t, want, y[n], 1e-11)
			require.InDelta(t, math.Log(slope), log[n], 1e-9)
			require.InEpsilon(t, slope, derivative[n], 1e-9)
			require.InDelta(t, c.x[n][0], back[n], 1e-8)
			require.InDelta(t, log[n], backLog[n], 1e-6)
		}
	}
}

// TestSplineAtKnots puts inputs on and next to the knots of equal bins, where rounding decides
// which bin is found. The value, the slope and the slope by automatic differentiation must still
// agree with naiveSpline, a loop over knots.
func TestSplineAtKnots(t *testing.T) {
	const bins = 4
	c := newSplineCase(21, bins, 1)
	for n := range c.x {
		c.widths[n] = make([]float64, bins)
		knot := -5 + 2.5*float64(n/3-1) // from one bin left of the square to one right of it
		c.x[n][0] = []float64{knot, math.Nextafter(knot, -9), math.Nextafter(knot, 9)}[n%3]
	}
	y, log, derivative, back, backLog := c.run(t, bins)
	for n := range y {
		want, slope := naiveSpline(c.widths[n], c.heights[n], c.slopes[n], c.x[n][0])
		require.InDelta(t, want, y[n], 1e-12)
		require.InDelta(t, math.Log(slope), log[n], 1e-10)
		require.InDelta(t, slope, derivative[n], 1e-10)
		require.InDelta(t, c.x[n][0], back[n], 1e-10)
		require.InDelta(t, log[n], backLog[n], 1e-9)
	}
}
