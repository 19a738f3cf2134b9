package mode

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/dense"
)

// banana has its only mode at (1, 1). Its log density is not concave between the start of the
// search and the mode (Rosenbrock).
var banana = Density{
	Value: func(x []float64) float64 {
		a, b := 1-x[0], x[1]-x[0]*x[0]
		return -a*a - 100*b*b
	},
	Expand: func(x, gradient, curvature []float64) {
		a, b := 1-x[0], x[1]-x[0]*x[0]
		gradient[0], gradient[1] = 2*a+400*x[0]*b, -200*b
		curvature[0], curvature[2], curvature[3] = 2-400*b+800*x[0]*x[0], -400*x[0], 200
	},
}

// poisson is the log-concave posterior of log rates x with N(0, 1) priors, given counts y.
func poisson(y []float64) Density {
	return Density{
		Value: func(x []float64) (sum float64) {
			for i, v := range x {
				sum += y[i]*v - math.Exp(v) - v*v/2
			}
			return sum
		},
		Expand: func(x, gradient, curvature []float64) {
			for i, v := range x {
				gradient[i] = y[i] - math.Exp(v) - v
				curvature[i*len(x)+i] = math.Exp(v) + 1
			}
		},
	}
}

func TestFind(t *testing.T) {
	for name, c := range map[string]struct {
		density Density
		start   []float64
		want    []float64 // nil: any point with zero gradient
	}{
		"banana":               {banana, []float64{-1.2, 1}, []float64{1, 1}},
		"banana, far":          {banana, []float64{20, -300}, []float64{1, 1}},
		"at the mode":          {banana, []float64{1, 1}, []float64{1, 1}},
		"counts":               {poisson([]float64{0, 3, 1e6}), make([]float64, 3), nil},
		"banana, differences":  {differences(banana.Value, gradientOf(banana)), []float64{-1.2, 1}, []float64{1, 1}},
		"counts, from nowhere": {poisson([]float64{0, 7}), []float64{-40, 30}, nil},
		"a billion":            {poisson([]float64{1e9}), []float64{0}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := len(c.start)
			x := slices.Clone(c.start)
			r, factor := Find(x, c.density, Options{})
			require.True(t, r.Converged)
			require.Equal(t, c.density.Value(x), r.Value)
			if c.want != nil {
				require.InDeltaSlice(t, c.want, x, 1e-4)
			}
			// The factor must be a factor of the curvature, and the decrement must be gᵀH⁻¹g, with
			// the gradient g and the curvature H.
			gradient := fd.Gradient(nil, c.density.Value, x, &fd.Settings{Formula: fd.Central})
			for a := range d {
				require.InDelta(t, 0, gradient[a]*factorInverse(factor, a), 1e-4)
			}
			hessian := mat.NewSymDense(d, nil)
			fd.Hessian(hessian, c.density.Value, x, &fd.Settings{Step: 1e-3})
			for a := range d {
				for b := range a + 1 {
					sum := 0.0
					for k := range b + 1 {
						sum += factor.At(a, k) * factor.At(b, k)
					}
					require.InDelta(t, -hessian.At(a, b), sum, 1e-2*(1+math.Abs(sum)))
				}
			}
		})
	}
}

// factorInverse returns the standard deviation of coordinate a under the normal distribution whose
// precision matrix has the factor f.
func factorInverse(f dense.Factor, a int) float64 {
	e := make([]float64, f.Order())
	e[a] = 1
	f.SolveLower(e)
	return math.Sqrt(mat.Dot(mat.NewVecDense(len(e), e), mat.NewVecDense(len(e), e)))
}

func gradientOf(d Density) func(x, to []float64) {
	return func(x, to []float64) { d.Expand(x, to, make([]float64, len(x)*len(x))) }
}

// TestNotConverged checks that a point that is not a mode is not reported as one.
func TestNotConverged(t *testing.T) {
	r, _ := Find([]float64{-1.2, 1}, banana, Options{Steps: 3})
	require.False(t, r.Converged)
	require.Equal(t, 3, r.Steps)
	require.Greater(t, r.Decrement, 1e-3)

	saddle := Density{
		Value:  func(x []float64) float64 { return x[0]*x[0] - x[1]*x[1] },
		Expand: func(x, g, c []float64) { g[0], g[1], c[0], c[3] = 2*x[0], -2*x[1], -2, 2 },
	}
	r, _ = Find([]float64{0, 1}, saddle, Options{})
	require.False(t, r.Converged, "a saddle, where the gradient is zero")

	r, _ = Find([]float64{0}, Density{
		Value:  func(x []float64) float64 { return x[0] },
		Expand: func(_, g, c []float64) { g[0], c[0] = 1, math.NaN() },
	}, Options{})
	require.False(t, r.Converged)
}

// TestWallAndShare checks that a search finds a mode although some steps lead to points with log
// density −Inf.
func TestWallAndShare(t *testing.T) {
	gamma := Density{ // x² exp(−x), with its mode at 2
		Value: func(x []float64) float64 {
			if x[0] <= 0 {
				return math.Inf(-1)
			}
			return 2*math.Log(x[0]) - x[0]
		},
		Expand: func(x, g, c []float64) { g[0], c[0] = 2/x[0]-1, 2/(x[0]*x[0]) },
	}
	x := []float64{30}
	r, _ := Find(x, gamma, Options{Enough: 1e-20})
	require.True(t, r.Converged)
	require.InDelta(t, 2, x[0], 1e-9)
}

// TestHidden checks that a search converges if no step increases the log density, because its rises
// are below its rounding error.
func TestHidden(t *testing.T) {
	rounded := Density{
		Value:  func(x []float64) float64 { return 1e9 - x[0]*x[0]/2 },
		Expand: func(x, g, c []float64) { g[0], c[0] = -x[0]-1e-3, 1 }, // a gradient with an error
	}
	x := []float64{0}
	r, _ := Find(x, rounded, Options{})
	require.True(t, r.Converged)
	require.Less(t, r.Decrement, Hidden)
}

// differences returns a Density for a log density whose gradient is known. Its Hessian is computed
// by central differences of the gradient, with a relative error of about 1e-10.
func differences(value func(x []float64) float64, gradient func(x, to []float64)) Density {
	return Density{Value: value, Expand: func(x, to, curvature []float64) {
		d := len(x)
		point, above, below := slices.Clone(x), make([]float64, d), make([]float64, d)
		gradient(x, to)
		for b := range d {
			h := 6e-6 * math.Max(1, math.Abs(x[b])) // ε^(1/3) balances truncation and rounding errors
			point[b] = x[b] + h
			gradient(point, above)
			point[b] = x[b] - h
			gradient(point, below)
			point[b] = x[b]
			for a := range d { // both computations of a mixed derivative are averaged
				curvature[max(a, b)*d+min(a, b)] += (below[a] - above[a]) / (4 * h)
			}
			curvature[b*d+b] += (below[b] - above[b]) / (4 * h)
		}
	}}
}
