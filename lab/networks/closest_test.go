package networks

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/integrate"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
)

// TestExpectedClass checks expectedClass by quadrature: the means, over a normal linear predictor
// η, of the first derivative of log p(y | η) and of minus the second derivative.
func TestExpectedClass(t *testing.T) {
	task := computed(t)["classes-5"]
	for _, variance := range []float64{1e-4, 0.01, 1, 30} {
		for _, mean := range []float64{-3, -0.1, 0, 0.4, 8} {
			normal := distuv.Normal{Mu: mean, Sigma: math.Sqrt(variance)}
			const nodes = 100001
			etas, slopes, informations := make([]float64, nodes), make([]float64, nodes), make([]float64, nodes)
			floats.Span(etas, mean-10*normal.Sigma, mean+10*normal.Sigma)
			for i, eta := range etas {
				_, slope, information := task.response(-1, eta)
				slopes[i], informations[i] = slope*normal.Prob(eta), information*normal.Prob(eta)
			}
			slope, information := expectedClass(-1, mean, variance)
			require.InDelta(t, integrate.Trapezoidal(etas, slopes), slope, 1e-6)
			require.InDelta(t, integrate.Trapezoidal(etas, informations), information, 1e-5)
		}
	}
}

// TestClosestNormal checks that the result of closest, the normal closest to a posterior, is a
// minimum: normals with a somewhat different center or scale must have a larger divergence from the
// posterior. All divergences are means over the same standard normal draws and their negatives.
func TestClosestNormal(t *testing.T) {
	testkit.Slow(t)
	task := computed(t)["classes-5"]
	random := stream.Rand(6, "closest")
	d := task.dataSet(random)
	a, err := task.anchor(d.rows)
	require.NoError(t, err)
	const pairs = 2000
	z := mat.NewDense(2*pairs, task.dim, nil)
	for k := range pairs {
		row := normals(task.dim, random)
		z.SetRow(2*k, row)
		floats.Scale(-1, row)
		z.SetRow(2*k+1, row)
	}
	divergence := func(a *anchor) []float64 {
		theta := a.toParams(z)
		values := make([]float64, pairs)
		for k := range 2 * pairs {
			value, _, _ := task.expand(d.rows, theta.RawRowView(k))
			values[k/2] -= value / 2
		}
		floats.AddConst(-a.logDet, values)
		return values
	}
	here := divergence(a)
	for j := range task.dim {
		for _, shift := range []float64{-0.4, 0.4} {
			moved := *a
			moved.center = append([]float64(nil), a.center...)
			floats.AddScaled(moved.center, shift, mat.Col(nil, j, a.root))
			wider := *a
			wider.root = mat.DenseCopyOf(a.root)
			for i := range task.dim {
				wider.root.Set(i, j, a.root.At(i, j)*(1+shift))
			}
			wider.logDet += math.Log(1 + shift)
			for _, other := range []*anchor{&moved, &wider} {
				gain := divergence(other)
				floats.Sub(gain, here)
				mean, sd := stat.MeanStdDev(gain, nil)
				require.Greater(t, mean, 2*sd/math.Sqrt(pairs))
			}
		}
	}
}

// TestClosestDiagonal checks the normal at which the gradient steps of closestDiagonal end, for the
// posterior of a network. It must be closer to the posterior than the expansion at the mode, than
// the same normal moved to the mode, and than somewhat wider or narrower normals.
func TestClosestDiagonal(t *testing.T) {
	task := computed(t)["nonlinear-classes-5"]
	random := stream.Rand(7, "closest")
	d := task.dataSet(random)
	a, err := task.anchor(d.rows)
	require.NoError(t, err)
	_, _, slopes := task.expand(d.rows, a.mode)
	expansion, err := task.newAnchor(a.mode, slopes)
	require.NoError(t, err)
	z := mat.NewDense(400, task.parameters(), nil)
	fill(z, random.NormFloat64)
	divergence := func(center []float64, root *mat.Dense, logDet float64) (mean float64) {
		theta := (&anchor{center: center, root: root}).toParams(z)
		for k := range 400 {
			value, _ := task.slope(d.rows, theta.RawRowView(k))
			mean -= value / 400
		}
		return mean - logDet
	}
	here := divergence(a.center, a.root, a.logDet)
	require.Less(t, here, divergence(expansion.center, expansion.root, expansion.logDet)-100)
	require.Less(t, here, divergence(a.mode, a.root, a.logDet)-10)
	for _, factor := range []float64{0.7, 1.4} {
		var scaled mat.Dense
		scaled.Scale(factor, a.root)
		require.Less(t, here, divergence(a.center, &scaled, a.logDet+float64(task.parameters())*math.Log(factor))-1)
	}
}
