package regression

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/hbm/formula"
)

// The marginal density of a smooth function is that of a normal vector with the covariance of its
// basis, summed densely: prior of β, s² B Bᵀ, groups and noise.
func TestSmoothsAreIntegratedOut(t *testing.T) {
	f := frameOf(t, grouped18, FrameOptions{Formula: "y ~ s(z, k=6) + s(x, k=5) + (1 | g)"})
	r, err := New(f, Options{})
	require.NoError(t, err)
	assert.Equal(t, []string{"sd((Intercept) | g)", "sd(s(z, k=6))", "sd(s(x, k=5))", "sigma"}, r.sdNames())
	mask, theta := make([]bool, r.Dim()), make([]float64, r.Dim())
	for j := range mask {
		mask[j], theta[j] = true, 0.2*float64(j%4)-0.1
	}
	require.Equal(t, mask, r.space.masks[0])
	got, ok := newJointEffects(r).given(mask, theta)
	require.True(t, ok)
	sds := make([]float64, r.sdCount())
	r.tableSDs(got.factors, r.responseOf(got.sigma), got.shares, sds)
	n := f.Rows()
	mean, covariance := make([]float64, n), mat.NewSymDense(n, nil)
	add := func(z []float64, variance float64) {
		for i := range n {
			for j := range i + 1 {
				covariance.SetSym(i, j, covariance.At(i, j)+variance*z[i]*z[j])
			}
		}
	}
	for j := range f.Columns {
		sd := r.coordinates[j].sd * r.ySD / r.xSD[j]
		column := mat.Col(nil, j, f.X)
		for i := range column {
			column[i] -= r.xMean[j]
		}
		add(column, sd*sd)
	}
	for i := range n {
		mean[i] = r.yMean
		covariance.SetSym(i, i, covariance.At(i, i)+sds[3]*sds[3])
		for j := range i + 1 {
			if f.Groupings[0].Index[i] == f.Groupings[0].Index[j] {
				covariance.SetSym(i, j, covariance.At(i, j)+sds[0]*sds[0])
			}
		}
	}
	for k, name := range []string{"z", "x"} {
		values, err := formula.Variable{Column: name}.Numbers(tableOf(t, grouped18))
		require.NoError(t, err)
		basis, err := f.Formula.Smooths[k].Basis(values, n)
		require.NoError(t, err)
		_, columns := basis.Dims()
		for c := range columns {
			add(mat.Col(nil, c, basis), sds[1+k]*sds[1+k])
		}
	}
	var cholesky mat.Cholesky
	require.True(t, cholesky.Factorize(covariance))
	residual, solved := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
	for i := range n {
		residual.SetVec(i, f.Y[i]-mean[i])
	}
	require.NoError(t, cholesky.SolveVecTo(solved, residual))
	want := -float64(n)*math.Log(2*math.Pi)/2 - cholesky.LogDet()/2 - mat.Dot(residual, solved)/2
	assert.InDelta(t, want, got.logDensity+r.logJacobian, 1e-8)
	assert.Contains(t, strings.Join(r.Priors(), "\n"), "sd of s(z, k=6) around its line: ~ half-normal")
}

// A curve is found, rows of a new table lie on it, and its standard deviation has the prior that it
// is given.
func TestSmoothRun(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	stored := finished(t, "sleepstudy.csv", FrameOptions{Formula: "Reaction ~ s(Days, k=5) + (1 | Subject)"})
	own := mustRows(t, stored)
	data, err := stored.Record.Table()
	require.NoError(t, err)
	keep := make([]int, data.Rows())
	keep[3], keep[17] = 1, 1
	fresh, err := stored.Rows(data.Repeat(keep))
	require.NoError(t, err)
	a, b := make([]float64, own.Draws()), make([]float64, own.Draws())
	for k, row := range []int{3, 17} {
		own.Predictor(row, a)
		fresh.Predictor(k, b)
		require.InDeltaSlice(t, a, b, 1e-8)
	}
	r, err := New(frameOf(t, grouped18, FrameOptions{Formula: "y ~ s(x, k=5)"}), Options{Terms: termPriors(t, "sd:s(x, k=5)=exponential(4)")})
	require.NoError(t, err)
	assert.Contains(t, strings.Join(r.Priors(), "\n"), "sd of s(x, k=5) around its line: ~ exponential(4), mean 0.25")
}

func TestWhatSmoothsCannotBe(t *testing.T) {
	for text, options := range map[string]FrameOptions{
		"smooth functions are for gaussian and lognormal responses": {Formula: "y ~ s(x, k=5)", Response: StudentResponse},
		`s(h): column "h" holds text, want numbers`:                 {Formula: "y ~ s(h)"},
		"3 different values, want at least as many as the 10 knots": {Formula: "y ~ s(v)"},
	} {
		_, err := NewFrame(tableOf(t, grouped18), options)
		if strings.Contains(options.Formula, "v") {
			_, err = NewFrame(tableOf(t, "y,v\n1,1\n2,2\n3,3\n4,1\n"), options)
		}
		assert.ErrorContains(t, err, text)
	}
	f := frameOf(t, grouped18, FrameOptions{Formula: "y ~ s(x, k=5)"})
	r, err := New(f, Options{})
	require.NoError(t, err)
	_, err = r.Plates()
	require.ErrorContains(t, err, "neither weights nor smooth functions")
}
