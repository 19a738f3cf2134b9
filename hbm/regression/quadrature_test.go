package regression

import (
	"math"
	"testing"

	"github.com/transdim/vti/hbm/frame"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
)

const counts18 = `y,b,x,g,h
3,0,0.1,a,u
4,1,1.1,a,v
9,1,1.3,a,u
0,0,0.4,b,u
1,0,1.9,b,v
0,1,1.1,b,w
7,1,0.2,c,v
12,1,0.7,c,v
15,0,1.9,c,w
2,0,0.5,d,w
1,1,1.2,d,u
`

// gridLogDensity returns log p(y | θ) of a response, with the inner effects summed over a grid.
func gridLogDensity(r *Regression, theta []float64) float64 {
	row, mask, sigma := r.rowLikelihood(), r.space.masks[0], r.noiseAt(theta)
	factor := r.factorAt(r.inner, mask, theta, r.sdsAt(theta))
	q := len(factor)
	base := predictorAt(r, mask, theta)
	total := likelihood.LogConstants(row, r.y, nil)
	step, reach := 0.03, 14.0
	if q > 1 {
		step, reach = 0.1, 8
	}
	for level := range r.inner.Levels {
		var values []float64
		var visit func(u []float64)
		visit = func(u []float64) {
			if len(u) < q {
				for x := -reach; x <= reach; x += step {
					visit(append(u[:len(u):len(u)], x))
				}
				return
			}
			value := 0.0
			for _, x := range u {
				value += math.Log(step) - x*x/2 - math.Log(2*math.Pi)/2
			}
			for i, rowLevel := range r.inner.Index {
				if rowLevel != level {
					continue
				}
				eta := base[i]
				for a := range q {
					for c := range a + 1 {
						eta += r.inner.z.At(i, a) * factor[a][c] * u[c]
					}
				}
				value += row.LogKernelAt(r.y[i], eta, sigma)
			}
			values = append(values, value)
		}
		visit(nil)
		total += logsum.Of(values)
	}
	return total
}

// The quadrature agrees with sums over a grid of effects, and its gradient with finite differences.
// For gaussian rows it agrees with the closed form.
func TestQuadrature(t *testing.T) {
	for name, test := range map[string]struct {
		opt       frame.Options
		tolerance float64
	}{
		"poisson":             {frame.Options{Formula: "y ~ x + (1 | g)", Response: likelihood.PoissonKind}, 1e-5},
		"poisson, slopes":     {frame.Options{Formula: "y ~ x + (1 + x | g)", Response: likelihood.PoissonKind}, 2e-3},
		"poisson, crossed":    {frame.Options{Formula: "y ~ x + (1 | g) + (1 | h)", Response: likelihood.PoissonKind}, 1e-5},
		"poisson with offset": {frame.Options{Formula: "y ~ offset(x) + (1 | g)", Response: likelihood.PoissonKind}, 1e-5},
		"logistic":            {frame.Options{Formula: "b ~ x + (1 | g)", Response: likelihood.LogisticKind}, 1e-6},
		"logistic, slopes":    {frame.Options{Formula: "b ~ 0 + (1 + x || g)", Response: likelihood.LogisticKind}, 1e-4},
		"negbinomial":         {frame.Options{Formula: "y ~ x + (1 | g)", Response: likelihood.NegativeBinomialKind}, 1e-6},
		"zero-inflated":       {frame.Options{Formula: "y ~ x + (1 | g)", Response: likelihood.ZeroInflatedKind}, 1e-6},
		"hurdle":              {frame.Options{Formula: "y ~ x + (1 | g)", Response: likelihood.HurdleKind}, 2e-6},
		"robust":              {frame.Options{Formula: "y ~ x + (1 | g)", Response: likelihood.RobustKind}, 0.02},
		"student":             {frame.Options{Formula: "y ~ x + (1 | g)", Response: likelihood.StudentKind}, 0.02},
		"student, slopes":     {frame.Options{Formula: "y ~ x + (1 + x | g)", Response: likelihood.StudentKind}, 0.1},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRegression(t, frameOf(t, counts18, test.opt), Options{})
			random := stream.Rand(5, name)
			const draws = 4
			theta := mat.NewDense(draws, r.Dim(), nil)
			codes := make([][]int32, draws)
			for k := range draws {
				codes[k] = []int32{0}
				for j := range r.Dim() {
					theta.Set(k, j, 0.6*random.NormFloat64())
				}
			}
			got := logJoints(t, r.Target(), codes, theta)
			for k := range draws {
				row := theta.RawRowView(k)
				want := gridLogDensity(r, row) + r.logPriorOfHyperparameters(r.space.masks[0], row)
				for j, c := range r.coordinates {
					if c.kind == populationCoordinate || c.kind == effectCoordinate {
						want -= row[j]*row[j]/(2*c.sd*c.sd) + math.Log(c.sd) + math.Log(2*math.Pi)/2
					}
				}
				assert.InDelta(t, want, got[k], test.tolerance)
			}
			if test.tolerance > 1e-5 {
				// gradients of rule and integral agree only if the rule is exact
				return
			}
			exec, err := NewExec(testkit.Backend(t), func(theta *Node) *Node {
				codes := Zeros(theta.Graph(), shapeOfCodes(draws))
				return Gradient(ReduceAllSum(r.Target().LogJoint(codes, r.space.Mask(codes), theta)), theta)[0]
			})
			require.NoError(t, err)
			out, err := exec.Exec(tensors.FromFlatDataAndDimensions(theta.RawMatrix().Data, draws, r.Dim()))
			require.NoError(t, err)
			gradient := tensors.MustCopyFlatData[float64](out[0])
			numeric := fd.Gradient(nil, func(x []float64) float64 {
				return logJoints(t, r.Target(), codes[:1], mat.NewDense(1, r.Dim(), x))[0]
			}, theta.RawRowView(0), &fd.Settings{Formula: fd.Central})
			assert.InDeltaSlice(t, numeric, gradient[:r.Dim()], 1e-4)
		})
	}
}

func TestQuadratureOfGaussianRows(t *testing.T) {
	for _, formula := range []string{"y ~ x + (1 | g)", "y ~ x + (1 + x | g) + (1 | h)", "y ~ x", "y ~ 0 + (1 | g)"} {
		r := newRegression(t, frameOf(t, grouped18, frame.Options{Formula: formula}), Options{})
		theta := mat.NewDense(3, r.Dim(), nil)
		random := stream.Rand(6, formula)
		for k := range 3 {
			for j := range r.Dim() {
				theta.Set(k, j, 0.7*random.NormFloat64())
			}
		}
		codes := [][]int32{{0}, {0}, {0}}
		want := logJoints(t, r.Target(), codes, theta)
		rows := newQuadratureRows(likelihood.New(likelihood.GaussianKind, likelihood.Shape{}), r, quadratureNodes)
		r.likelihood = func() groupedLikelihood { return rows }
		assert.InDeltaSlice(t, want, logJoints(t, r.Target(), codes, theta), 1e-8, formula)
	}
}

func TestTooManyEffectsForQuadrature(t *testing.T) {
	f := frameOf(t, counts18, frame.Options{Formula: "y ~ (1 + x + b + h | g)", Response: likelihood.PoissonKind})
	_, err := New(f, Options{})
	require.ErrorContains(t, err, "5 effects vary by g; with the poisson likelihood at most 4 can")
}

func shapeOfCodes(rows int) shapes.Shape { return shapes.Make(dtypes.Int32, rows, 1) }
