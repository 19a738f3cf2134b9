package regression

import (
	"math"
	"testing"

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
	"github.com/transdim/vti/internal/testkit"
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

// gridLogDensity is log p(y | θ) of a response, the effects of the inner grouping summed over a
// grid.
func gridLogDensity(r *Regression, theta []float64) float64 {
	row, mask, sigma := r.rowDensity(), r.space.masks[0], r.noiseAt(theta)
	factor := r.factorAt(r.inner, mask, theta)
	q := len(factor)
	base := r.predictorAt(mask, theta)
	total := row.normaliser(r.y)
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
			for i, of := range r.inner.Index {
				if of != level {
					continue
				}
				eta := base[i]
				for a := range q {
					for c := range a + 1 {
						eta += r.inner.z.At(i, a) * factor[a][c] * u[c]
					}
				}
				value += row.logAt(r.y[i], eta, sigma)
			}
			values = append(values, value)
		}
		visit(nil)
		total += logsum.Of(values)
	}
	return total
}

// The quadrature agrees with sums over a grid of effects, its gradient with differences; for
// gaussian rows it agrees with the closed form.
func TestQuadrature(t *testing.T) {
	for name, test := range map[string]struct {
		opt       FrameOptions
		tolerance float64
	}{
		"poisson":             {FrameOptions{Formula: "y ~ x + (1 | g)", Response: PoissonResponse}, 1e-5},
		"poisson, slopes":     {FrameOptions{Formula: "y ~ x + (1 + x | g)", Response: PoissonResponse}, 2e-3},
		"poisson, crossed":    {FrameOptions{Formula: "y ~ x + (1 | g) + (1 | h)", Response: PoissonResponse}, 1e-5},
		"poisson with offset": {FrameOptions{Formula: "y ~ offset(x) + (1 | g)", Response: PoissonResponse}, 1e-5},
		"logistic":            {FrameOptions{Formula: "b ~ x + (1 | g)", Response: LogisticResponse}, 1e-6},
		"logistic, slopes":    {FrameOptions{Formula: "b ~ 0 + (1 + x || g)", Response: LogisticResponse}, 1e-4},
		"student":             {FrameOptions{Formula: "y ~ x + (1 | g)", Response: StudentResponse}, 0.02},
		"student, slopes":     {FrameOptions{Formula: "y ~ x + (1 + x | g)", Response: StudentResponse}, 0.1},
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
				// the gradient of the integral is that of the rule only where the rule is exact
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
		r := newRegression(t, frameOf(t, grouped18, FrameOptions{Formula: formula}), Options{})
		theta := mat.NewDense(3, r.Dim(), nil)
		random := stream.Rand(6, formula)
		for k := range 3 {
			for j := range r.Dim() {
				theta.Set(k, j, 0.7*random.NormFloat64())
			}
		}
		codes := [][]int32{{0}, {0}, {0}}
		want := logJoints(t, r.Target(), codes, theta)
		r.likelihood = newQuadratureRows(gaussianRow{}, r, quadratureNodes)
		assert.InDeltaSlice(t, want, logJoints(t, r.Target(), codes, theta), 1e-8, formula)
	}
}

// Slopes and curvatures are derivatives; graph and host agree; the log density integrates to one.
func TestRowDensities(t *testing.T) {
	for name, test := range map[string]struct {
		row  rowDensity
		y    float64
		tail bool
	}{"poisson": {poissonRow{}, 3, false}, "logistic": {logisticRow{}, 1, false}, "student": {studentRow{4}, 0.7, true}, "gaussian": {gaussianRow{}, 0.7, false}} {
		t.Run(name, func(t *testing.T) {
			const eta, sigma = 0.4, 0.8
			f := func(eta float64) float64 { return test.row.logAt(test.y, eta, sigma) }
			slope, curvature := test.row.workingAt(test.y, eta, sigma)
			assert.InDelta(t, fd.Derivative(f, eta, &fd.Settings{Formula: fd.Central}), slope, 1e-6)
			if !test.tail {
				assert.InDelta(t, -fd.Derivative(f, eta, &fd.Settings{Formula: fd.Central2nd}), curvature, 1e-4)
			}
			exec, err := NewExec(testkit.Backend(t), func(y *Node) []*Node {
				eta, noise := AddScalar(ZerosLike(y), eta), AddScalar(ZerosLike(y), math.Log(sigma))
				slope, curvature := test.row.working(y, eta, noise)
				return []*Node{test.row.log(y, eta, noise), slope, curvature}
			})
			require.NoError(t, err)
			out, err := exec.Exec([][]float64{{test.y}})
			require.NoError(t, err)
			for i, want := range []float64{f(eta), slope, curvature} {
				assert.InDelta(t, want, tensors.MustCopyFlatData[float64](out[i])[0], 1e-12)
			}
			total, random, mean := 0.0, stream.Rand(7, name), 0.0
			const draws = 20000
			if name == "student" || name == "gaussian" {
				for y := -400.0; y < 400; y += 0.01 {
					total += 0.01 * math.Exp(test.row.logAt(y, eta, sigma)+test.row.normaliser([]float64{y}))
				}
			} else {
				for y := range 200 {
					if y < 2 || name == "poisson" {
						total += math.Exp(test.row.logAt(float64(y), eta, sigma) + test.row.normaliser([]float64{float64(y)}))
					}
				}
			}
			assert.InDelta(t, 1, total, 1e-5)
			for range draws {
				mean += test.row.draw(eta, sigma, random) / draws
			}
			want := map[string]float64{"poisson": math.Exp(eta), "logistic": 1 / (1 + math.Exp(-eta)), "student": eta, "gaussian": eta}[name]
			// no sd is above 1.3: false alarms below 1e-6
			assert.InDelta(t, want, mean, 5*1.3/math.Sqrt(draws))
		})
	}
}

func TestTooManyEffectsForQuadrature(t *testing.T) {
	f := frameOf(t, counts18, FrameOptions{Formula: "y ~ (1 + x + b + h | g)", Response: PoissonResponse})
	_, err := New(f, Options{})
	require.ErrorContains(t, err, "5 effects vary by g; with the poisson likelihood at most 3 can")
}

func shapeOfCodes(rows int) shapes.Shape { return shapes.Make(dtypes.Int32, rows, 1) }
