package regression

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/distinct"
	"github.com/transdim/vti/likelihood"
)

// levelEffects is the density of the standard effects u ~ N(0, I) of one level of the inner
// grouping given everything else: its rows have the linear predictors η_i + a_i u.
type levelEffects struct {
	r        *Regression
	given    response
	eta      []float64  // η, of all rows of the table
	rows     []int      // of the level
	y, times []float64  // of them; times nil where each counts once
	design   *mat.Dense // a_i, [rows, q]
	at       []float64  // predictors overwrites it
}

// levelEffects are those of the rows of a level, with effects Λ u of the grouping's columns.
func (r *Regression) levelEffects(rows []int, eta []float64, factor [][]float64, given response) *levelEffects {
	q := len(factor)
	design := mat.NewDense(len(rows), q, nil)
	for k, i := range rows {
		for c := range q {
			sum := 0.0
			for a := c; a < q; a++ {
				sum += r.inner.z.At(i, a) * factor[a][c]
			}
			design.Set(k, c, sum)
		}
	}
	return &levelEffects{r, given, eta, rows, distinct.At(r.y, rows), r.timesOf(rows), design, make([]float64, len(rows))}
}

// drawEffects draws u of a level of the inner grouping given everything else, and returns the
// covariance of u at its mode.
func (r *Regression) drawEffects(rows []int, eta []float64, factor [][]float64, given response, random *rand.Rand) (u []float64, covariance *mat.SymDense) {
	l := r.levelEffects(rows, eta, factor, given)
	mode, cholesky := l.climb(r.startOf(rows, distinct.At(eta, rows), l.design.RawRowView, given))
	covariance = mat.NewSymDense(len(factor), nil)
	if cholesky.InverseTo(covariance) != nil {
		return mode, covariance
	}
	var lower mat.TriDense
	cholesky.LTo(&lower)
	return l.drawAround(mode, &lower, random), covariance
}

// predictors are the linear predictors of the rows at u.
func (l *levelEffects) predictors(u []float64) []float64 {
	for k, i := range l.rows {
		l.at[k] = l.eta[i]
		for c, x := range l.design.RawRowView(k) {
			l.at[k] += x * u[c]
		}
	}
	return l.at
}

// logDensity is that of u given everything else, up to a constant.
func (l *levelEffects) logDensity(u []float64) float64 {
	return likelihood.LogKernels(l.given.Row, l.y, l.times, l.predictors(u), l.given.sigma) - dot(u, u)/2
}

// climb takes mode, in place, to the mode of the density by Newton's steps, and returns it with the
// factor of the precision at the last of them.
func (l *levelEffects) climb(mode []float64) ([]float64, *mat.Cholesky) {
	response := l.r.Frame.Response
	q := len(mode)
	hessian, slope := mat.NewSymDense(q, nil), mat.NewVecDense(q, nil)
	var cholesky mat.Cholesky
	var step mat.VecDense
	for range mostModeSteps {
		l.derivatives(mode, slope, hessian)
		if !cholesky.Factorize(hessian) || cholesky.SolveVecTo(&step, slope) != nil {
			break
		}
		largest, share := 0.0, 1.0
		if !response.Conjugate() {
			change := 0.0
			for k := range l.rows {
				change = math.Max(change, math.Abs(dot(l.design.RawRowView(k), step.RawVector().Data)))
			}
			share = carefulShare(change)
		}
		for c := range q {
			move := share * step.AtVec(c)
			mode[c] += move
			largest = math.Max(largest, math.Abs(move))
		}
		if largest < 1e-6 || response.Conjugate() {
			break
		}
	}
	return mode, &cholesky
}

// derivatives writes the slope of the log density at u and the curvatures of its negative.
func (l *levelEffects) derivatives(u []float64, slope *mat.VecDense, hessian *mat.SymDense) {
	newton := l.given.Row.NewtonAt
	if l.r.Frame.Response.Continuous() { // as Newton is in graphs
		newton = l.given.Row.BoundAt
	}
	for a := range u {
		slope.SetVec(a, -u[a])
		for b := range a {
			hessian.SetSym(a, b, 0)
		}
		hessian.SetSym(a, a, 1)
	}
	for k, eta := range l.predictors(u) {
		first, second := newton(l.y[k], eta, l.given.sigma)
		if l.times != nil {
			first, second = l.times[k]*first, l.times[k]*second
		}
		for a := range u {
			slope.SetVec(a, slope.AtVec(a)+first*l.design.At(k, a))
			for b := range a + 1 {
				hessian.SetSym(a, b, hessian.At(a, b)+second*l.design.At(k, a)*l.design.At(k, b))
			}
		}
	}
}

// drawAround draws u by its weight among candidates from a normal distribution around the mode,
// lower being the factor of its precision. A gaussian response has one candidate, as the normal
// distribution is that of u itself.
func (l *levelEffects) drawAround(mode []float64, lower *mat.TriDense, random *rand.Rand) (u []float64) {
	candidates, stretch := effectCandidates, effectStretch
	if l.r.Frame.Response.Conjugate() {
		candidates, stretch = 1, 1
	}
	q := len(mode)
	best := math.Inf(-1)
	noise := make([]float64, q)
	for range candidates {
		squares := 0.0
		for c := range noise {
			noise[c] = random.NormFloat64()
			squares += noise[c] * noise[c] / 2
		}
		candidate := make([]float64, q)
		for a := q - 1; a >= 0; a-- { // mode + stretch L⁻ᵀ noise
			sum := noise[a] * stretch
			for b := a + 1; b < q; b++ {
				sum -= lower.At(b, a) * (candidate[b] - mode[b])
			}
			candidate[a] = mode[a] + sum/lower.At(a, a)
		}
		if candidates == 1 {
			return candidate
		}
		// The largest of log weight + Gumbel noise is a draw in proportion to weight.
		if value := l.logDensity(candidate) + squares - math.Log(random.ExpFloat64()); value > best {
			best, u = value, candidate
		}
	}
	if u == nil {
		u = mode
	}
	return u
}

// quadraticForm is xᵀ C x.
func quadraticForm(c *mat.SymDense, x []float64) (sum float64) {
	for a := range x {
		for b := range x {
			sum += x[a] * c.At(a, b) * x[b]
		}
	}
	return sum
}
