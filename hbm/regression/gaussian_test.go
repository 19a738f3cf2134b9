package regression

import (
	"math"
	"testing"

	"github.com/transdim/vti/hbm/frame"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/space"
)

// logJoints evaluates the target at the rows of theta.
func logJoints(t testing.TB, target vti.Target, codes [][]int32, theta *mat.Dense) []float64 {
	t.Helper()
	var flat []int32
	for _, code := range codes {
		flat = append(flat, code...)
	}
	exec, err := NewExec(testkit.Backend(t), func(codes, theta *Node) *Node {
		return target.LogJoint(codes, target.Space().Mask(codes), theta)
	})
	require.NoError(t, err)
	rows, dim := theta.Dims()
	out, err := exec.Exec(tensors.FromFlatDataAndDimensions(flat, rows, len(codes[0])), tensors.FromFlatDataAndDimensions(theta.RawMatrix().Data, rows, dim))
	require.NoError(t, err)
	require.Equal(t, dtypes.Float64, out[0].DType())
	return tensors.MustCopyFlatData[float64](out[0])
}

// naiveLogJoint returns log p(y, θ | m) of a gaussian response, by a dense covariance of rows.
func naiveLogJoint(t testing.TB, r *Regression, code []int32, theta []float64) float64 {
	mask := r.space.MaskRow(code, nil)
	n := len(r.y)
	mean := make([]float64, n)
	logPrior := r.logPriorOfHyperparameters(mask, theta)
	for j := range r.Frame.Columns {
		for i := range n {
			if mask[j] {
				mean[i] += r.x.At(i, j) * theta[j]
			}
		}
	}
	for j, c := range r.coordinates {
		if mask[j] && (c.kind == populationCoordinate || c.kind == effectCoordinate) {
			logPrior -= (theta[j]-c.mean)*(theta[j]-c.mean)/(2*c.sd*c.sd) + math.Log(c.sd) + math.Log(2*math.Pi)/2
		}
	}
	sigma := r.noiseAt(theta)
	covariance := mat.NewSymDense(n, nil)
	for i := range n {
		covariance.SetSym(i, i, sigma*sigma)
	}
	for _, g := range r.groups {
		factor := r.factorAt(g, mask, theta, r.sdsAt(theta))
		q := len(g.Columns)
		effect := func(i, k int) float64 { // change of row i by a unit of effect k
			sum := 0.0
			for a := range q {
				sum += g.z.At(i, a) * factor[a][k]
			}
			return sum
		}
		for i := range n {
			for k := range q {
				if g.first >= 0 {
					mean[i] += effect(i, k) * theta[g.first+k*len(g.Levels)+g.Index[i]]
					continue
				}
				for j := range i + 1 {
					if g.Index[i] == g.Index[j] {
						covariance.SetSym(i, j, covariance.At(i, j)+effect(i, k)*effect(j, k))
					}
				}
			}
		}
	}
	var cholesky mat.Cholesky
	require.True(t, cholesky.Factorize(covariance))
	residual, solved := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
	for i := range n {
		residual.SetVec(i, r.y[i]-mean[i])
	}
	require.NoError(t, cholesky.SolveVecTo(solved, residual))
	return logPrior - float64(n)*math.Log(2*math.Pi)/2 - cholesky.LogDet()/2 - mat.Dot(residual, solved)/2
}

// gaussianCases are formulas that together use every part of the code: slopes, correlations,
// crossed and nested groupings, factors, and known noise.
var gaussianCases = map[string]frame.Options{
	"one grouping":  {Formula: "y ~ x + (1 + x | g)"},
	"independent":   {Formula: "y ~ x + (1 + x || g)"},
	"crossed":       {Formula: "y ~ x + (1 + x | g) + (1 + x | h)"},
	"nested":        {Formula: "y ~ 1 + (1 | g/h)"},
	"three effects": {Formula: "y ~ x + (1 + x + z | g) + (1 | h)"},
	"no groups":     {Formula: "y ~ x*z"},
	"no intercept":  {Formula: "y ~ 0 + (1 + x | g)"},
	"known noise":   {Formula: "y ~ 1 + (1 | g)", SE: "s"},
	"factors":       {Formula: "y ~ h + (0 + h | g) + offset(z)"},
}

const grouped18 = `y,x,z,g,h,s
1.2,0.1,1.0,a,u,0.5
2.3,1.1,0.2,a,v,0.6
2.9,2.3,0.7,a,u,0.4
0.1,0.4,1.4,b,u,0.5
-0.4,1.9,0.3,b,v,0.9
-1.1,3.1,0.4,b,w,0.7
3.3,0.2,2.1,c,v,0.5
4.1,0.7,0.2,c,v,0.6
5.0,2.9,0.6,c,w,0.8
2.2,0.5,1.3,d,w,0.5
1.7,3.2,2.8,d,u,0.9
0.3,1.5,0.1,e,v,1.1
`

// The log joint density of the target agrees with naiveLogJoint, a dense normal density of all
// rows, at random coordinates of up to twelve models of each formula.
func TestGaussianLogJoint(t *testing.T) {
	for name, opt := range gaussianCases {
		t.Run(name, func(t *testing.T) {
			for _, choose := range []bool{false, true} {
				r := newRegression(t, frameOf(t, grouped18, opt), Options{Select: choose})
				random := stream.Rand(3, name)
				count := len(r.space.masks)
				var codes [][]int32
				theta := mat.NewDense(min(count, 12), r.Dim(), nil)
				for k := range min(count, 12) {
					codes = append(codes, space.Decode(r.space.cards, (k*count)/min(count, 12), nil))
					for j := range r.Dim() {
						theta.Set(k, j, random.NormFloat64())
					}
				}
				got := logJoints(t, r.Target(), codes, theta)
				for k, code := range codes {
					assert.InDelta(t, naiveLogJoint(t, r, code, theta.RawRowView(k)), got[k], 1e-8, r.FormulaOf(code))
				}
			}
		})
	}
}

// The marginal density computed on the host is the integral of the joint density over all effects,
// in which its logarithm is quadratic: differences of the joint density determine the integral.
func TestGaussianMarginal(t *testing.T) {
	for name, opt := range gaussianCases {
		t.Run(name, func(t *testing.T) {
			r := newRegression(t, frameOf(t, grouped18, opt), Options{Intercept: &NormalPrior{0.5, 2}})
			mask := r.space.masks[0]
			theta := make([]float64, r.Dim())
			for j := range theta {
				theta[j] = 0.3 * float64(j%5-2)
			}
			var normal []int
			for j, c := range r.coordinates {
				if c.kind == populationCoordinate || c.kind == effectCoordinate {
					normal = append(normal, j)
				}
			}
			// log p(y, h) = log p(y, h, v) − log p(v | y, h), where log p(y, h, v) is quadratic in
			// v, so that finite differences give the mean and covariance of v.
			f := func(v []float64) float64 {
				for i, j := range normal {
					theta[j] = v[i]
				}
				return naiveLogJoint(t, r, make([]int32, len(r.space.cards)), theta)
			}
			k := len(normal)
			if k == 0 {
				assert.InDelta(t, f(nil), newJointEffects(r).logMarginal(mask, theta), 1e-9)
				return
			}
			zero := f(make([]float64, k))
			gradient, hessian := mat.NewVecDense(k, nil), mat.NewSymDense(k, nil)
			unit := func(a, b int) []float64 {
				v := make([]float64, k)
				v[a]++
				v[b]++
				return v
			}
			single := make([]float64, k)
			for a := range k {
				v := make([]float64, k)
				v[a] = 1
				single[a] = f(v)
				double := f(unit(a, a))
				hessian.SetSym(a, a, -(double - 2*single[a] + zero))
				gradient.SetVec(a, single[a]-zero+hessian.At(a, a)/2)
			}
			for a := range k {
				for b := range a {
					hessian.SetSym(a, b, -(f(unit(a, b)) - single[a] - single[b] + zero))
				}
			}
			var cholesky mat.Cholesky
			require.True(t, cholesky.Factorize(hessian))
			var solved mat.VecDense
			require.NoError(t, cholesky.SolveVecTo(&solved, gradient))
			want := zero + mat.Dot(&solved, gradient)/2 + float64(k)*math.Log(2*math.Pi)/2 - cholesky.LogDet()/2
			assert.InDelta(t, want, newJointEffects(r).logMarginal(mask, theta), 1e-7)
		})
	}
}

// The prior density of each standard deviation, correlation and noise integrates to one, and the
// prior probabilities of models sum to one.
func TestPriorsIntegrateToOne(t *testing.T) {
	for prior := HalfNormalSD; prior <= ExponentialSD; prior++ {
		r := newRegression(t, frameOf(t, grouped18, frame.Options{Formula: "y ~ (1 + x | g)"}), Options{SDPrior: prior, SDScale: 0.7, Correlation: 1.3})
		for _, j := range r.hyperparameters(r.space.masks[0]) {
			mask, theta := make([]bool, r.Dim()), make([]float64, r.Dim())
			mask[j] = true
			sum := 0.0
			const step = 0.02
			high := 30.0
			if r.coordinates[j].kind == sdCoordinate && prior == HalfCauchySD {
				high = 1e4 // the tail above it, 2/(π high), is added
				sum += 2 / (math.Pi * high)
			}
			for x := -30.0; x < high; x += step {
				theta[j] = x
				sum += step * math.Exp(r.logPriorOfHyperparameters(mask, theta))
			}
			assert.InDelta(t, 1, sum, 1e-5, r.coordinates[j].name)
		}
	}
	r := newRegression(t, frameOf(t, grouped18, frame.Options{Formula: "y ~ x*z + (1 + x | g) + (1 + x | h)"}), Options{Select: true})
	total := 0.0
	for _, p := range r.space.logPrior {
		total += math.Exp(p)
	}
	assert.InDelta(t, 1, total, 1e-12)
}
