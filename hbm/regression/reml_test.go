package regression

import (
	"math"
	"testing"

	"github.com/transdim/vti/hbm/frame"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
)

// classical is a fit by (restricted) maximum likelihood, in the units of the table, without priors.
type classical struct {
	logLikelihood float64
	fixed, errors []float64
	sd            [][]float64 // standard deviations, by grouping and column
	correlation   float64     // of the first two columns of the first grouping
	sigma         float64
}

// fitClassical maximises the (restricted) likelihood over the hyperparameters.
func fitClassical(t testing.TB, r *Regression, restricted bool) classical {
	t.Helper()
	require.Len(t, r.groups, 1)
	data, mask := newGrouped(r.y, r.wide(), r.inner), r.space.masks[0]
	free := r.hyperparameters(mask)
	theta := make([]float64, r.Dim())
	n, p := float64(len(r.y)), float64(len(r.Frame.Columns))
	var solved mat.VecDense
	var cholesky mat.Cholesky
	logLikelihood := func(h []float64) float64 {
		for i, j := range free {
			theta[j] = h[i]
		}
		m := data.momentsAt(r.factorAt(r.inner, mask, theta, r.sdsAt(theta)), r.noiseAt(theta))
		if !cholesky.Factorize(m.vv) || cholesky.SolveVecTo(&solved, m.vy) != nil {
			return math.Inf(-1)
		}
		value := -n*(math.Log(2*math.Pi)/2+math.Log(r.ySD)) - m.logDet/2 - (m.yy-mat.Dot(m.vy, &solved))/2
		if restricted { // integral over β in the units of the table
			value += p*(math.Log(2*math.Pi)/2+math.Log(r.ySD)) - cholesky.LogDet()/2
			for _, sd := range r.xSD {
				value -= math.Log(sd)
			}
		}
		return value
	}
	best, err := optimize.Minimize(optimize.Problem{Func: func(h []float64) float64 { return finiteOr(-logLikelihood(h), 1e100) }},
		make([]float64, len(free)), &optimize.Settings{Converger: &optimize.FunctionConverge{Absolute: 1e-11, Iterations: 300}}, &optimize.NelderMead{})
	require.NoError(t, err)
	fit := classical{logLikelihood: logLikelihood(best.X), sigma: r.noiseAt(theta) * r.ySD}
	var covariance mat.SymDense
	require.NoError(t, cholesky.InverseTo(&covariance))
	shift := r.yMean
	for j := range r.Frame.Columns {
		slope := r.ySD / r.xSD[j]
		fit.fixed = append(fit.fixed, solved.AtVec(j)*slope)
		fit.errors = append(fit.errors, math.Sqrt(covariance.At(j, j))*slope)
		shift -= fit.fixed[j] * r.xMean[j]
	}
	if r.Frame.Formula.HasIntercept() {
		fit.fixed[0] += shift
	}
	for _, g := range r.groups {
		factor := r.factorAt(g, mask, theta, r.sdsAt(theta))
		var sds []float64
		for a := range factor {
			sds = append(sds, floats.Norm(factor[a], 2)*r.ySD/g.zSD[a])
		}
		fit.sd = append(fit.sd, sds)
		if len(factor) > 1 {
			fit.correlation = factor[1][0] / floats.Norm(factor[1], 2)
		}
	}
	return fit
}

// The test fits tables by restricted maximum likelihood. The estimates agree with published
// figures: for sleepstudy in the documentation of lme4, for radon in chapter 12 of Gelman and Hill
// (2007), and for rats in the examples of BUGS.
func TestPublishedClassicalFits(t *testing.T) {
	fit := func(file, formula string, restricted bool) classical {
		return fitClassical(t, newRegression(t, frameOfFile(t, file, frame.Options{Formula: formula}), Options{}), restricted)
	}
	slopes := fit("sleepstudy.csv", "Reaction ~ Days + (Days | Subject)", true)
	assert.InDelta(t, -1743.628/2, slopes.logLikelihood, 1e-3)
	assert.InDeltaSlice(t, []float64{251.405, 10.467}, slopes.fixed, 1e-3)
	assert.InDelta(t, 1.546, slopes.errors[1], 1e-3)
	assert.InDeltaSlice(t, []float64{24.74, 5.92}, slopes.sd[0], 1e-2)
	assert.InDelta(t, 25.59, slopes.sigma, 1e-2)
	assert.InDelta(t, 0.066, slopes.correlation, 2e-3)
	likelihood := fit("sleepstudy.csv", "Reaction ~ Days + (Days | Subject)", false)
	assert.InDelta(t, -875.970, likelihood.logLikelihood, 1e-3)
	intercepts := fit("sleepstudy.csv", "Reaction ~ Days + (1 | Subject)", true)
	assert.InDelta(t, 37.124, intercepts.sd[0][0], 1e-3)
	assert.InDelta(t, 30.991, intercepts.sigma, 1e-3)

	hill := fit("radon_gelman_hill.csv", "log.radon ~ basement + (1 | county)", true)
	assert.InDeltaSlice(t, []float64{1.4616, -0.6930}, hill.fixed, 1e-4)
	assert.InDelta(t, 0.3282, hill.sd[0][0], 1e-4)
	assert.InDelta(t, 0.7556, hill.sigma, 1e-4)
	radon := fit("radon.csv", "log_radon ~ floor + (1 | county)", true)
	assert.InDeltaSlice(t, []float64{1.4924, -0.6629}, radon.fixed, 1e-4)
	assert.InDelta(t, 0.3154, radon.sd[0][0], 1e-4)
	assert.InDelta(t, 0.7258, radon.sigma, 1e-4)

	rats := fit("rats.csv", "weight ~ day + (day | rat)", true)
	assert.InDeltaSlice(t, []float64{106.568, 6.1857}, rats.fixed, 1e-3)
}

// moments holds Vᵀ C⁻¹ V, Vᵀ C⁻¹ y, yᵀ C⁻¹ y and log |C|, for the columns V of Regression.wide, the
// response y, and the covariance C of the rows given Λ and σ.
type moments struct {
	vv     *mat.SymDense
	vy     *mat.VecDense
	yy     float64
	logDet float64
}

// momentsAt computes the moments group by group.
func (d *grouped) momentsAt(factor [][]float64, sigma float64) moments {
	m := moments{mat.NewSymDense(max(d.width, 1), nil), mat.NewVecDense(max(d.width, 1), nil), 0, 2 * float64(d.rows) * math.Log(sigma)}
	add := func(v []float64, y float64) {
		m.yy += y * y
		for i := range d.width {
			m.vy.SetVec(i, m.vy.AtVec(i)+v[i]*y)
			for k := range i + 1 {
				m.vv.SetSym(i, k, m.vv.At(i, k)+v[i]*v[k])
			}
		}
	}
	row := make([]float64, d.width)
	for i, y := range d.rest {
		for k := range d.width {
			row[k] = d.restV.At(i, k) / sigma
		}
		add(row, y/sigma)
	}
	m.yy += d.residual / (sigma * sigma)
	covariance := mat.NewSymDense(max(d.q, 1), nil)
	block := mat.NewDense(max(d.q, 1), d.width+1, nil)
	var lower mat.TriDense
	for level := range d.levels {
		d.covarianceAt(level, factor, sigma, covariance)
		var cholesky mat.Cholesky
		if !cholesky.Factorize(covariance) {
			m.yy = math.Inf(1)
			return m
		}
		m.logDet += cholesky.LogDet()
		for a := range d.q {
			for k := range d.width {
				block.Set(a, k, d.v[a].At(level, k))
			}
			block.Set(a, d.width, d.y[a][level])
		}
		cholesky.LTo(&lower)
		for a := range d.q { // forward substitution, row by row
			for k := range d.width + 1 {
				sum := block.At(a, k)
				for b := range a {
					sum -= lower.At(a, b) * block.At(b, k)
				}
				block.Set(a, k, sum/lower.At(a, a))
			}
			add(block.RawRowView(a)[:d.width], block.At(a, d.width))
		}
	}
	return m
}

// covarianceAt computes σ² I + R^z Λ Λᵀ R^zᵀ, the covariance of the vector e of one level; see
// grouped.
func (d *grouped) covarianceAt(level int, factor [][]float64, sigma float64, covariance *mat.SymDense) {
	spread := mat.NewDense(d.q, d.q, nil)
	for a := range d.q {
		for c := range d.q {
			sum := 0.0
			for k := c; k < d.q; k++ {
				sum += d.z[a*d.q+k][level] * factor[k][c]
			}
			spread.Set(a, c, sum)
		}
	}
	covariance.SymOuterK(1, spread)
	for a := range d.q {
		covariance.SetSym(a, a, covariance.At(a, a)+sigma*sigma)
	}
}
