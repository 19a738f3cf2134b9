package regression

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/distinct"
)

// levelEffects is the density of the standard effects u ~ N(0, I) [M·q] of one level of the inner
// grouping given everything else: its rows have the linear predictors η_im + a_i u_m.
type levelEffects struct {
	r        *Regression
	given    response
	eta      []float64  // η, of all rows of the table [M·n]
	rows     []int      // of the level
	y, times []float64  // of them; times nil where each counts once
	design   *mat.Dense // a_i, [rows, q]
	at       []float64  // predictors overwrites it [M·rows]
	// derivatives overwrites these, [M·rows] and [M (M+1)/2 · rows]
	slopes, curvatures []float64
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
	planes := func(count int) []float64 { return make([]float64, count*len(rows)) }
	return &levelEffects{r, given, eta, rows, distinct.At(r.y, rows), r.timesOf(rows), design, planes(r.planes), planes(r.planes), planes(r.curvatures())}
}

// drawEffects draws u of a level of the inner grouping given everything else, and returns the
// covariance of u at its mode.
func (r *Regression) drawEffects(rows []int, eta []float64, factor [][]float64, given response, random *rand.Rand) (u []float64, covariance *mat.SymDense) {
	l := r.levelEffects(rows, eta, factor, given)
	mode, cholesky := l.climb(r.startOf(rows, distinct.At(eta, rows), l.design.RawRowView, given))
	covariance = mat.NewSymDense(len(mode), nil)
	if cholesky.InverseTo(covariance) != nil {
		return mode, covariance
	}
	var lower mat.TriDense
	cholesky.LTo(&lower)
	return l.drawAround(mode, &lower, random), covariance
}

// predictors are the linear predictors of the rows at u.
func (l *levelEffects) predictors(u []float64) []float64 {
	rows, n := len(l.rows), len(l.r.y)
	q := len(u) / l.r.planes
	for m := range l.r.planes {
		for k, i := range l.rows {
			at := m*rows + k
			l.at[at] = l.eta[m*n+i]
			for c, x := range l.design.RawRowView(k) {
				l.at[at] += x * u[m*q+c]
			}
		}
	}
	return l.at
}

// logDensity is that of u given everything else, up to a constant.
func (l *levelEffects) logDensity(u []float64) float64 {
	return l.given.logKernels(l.y, l.times, l.predictors(u)) - dot(u, u)/2
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
			for m := range l.r.planes {
				for k := range l.rows {
					change = math.Max(change, math.Abs(dot(l.design.RawRowView(k), step.RawVector().Data[m*len(mode)/l.r.planes:])))
				}
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
	for a := range u {
		slope.SetVec(a, -u[a])
		for b := range a {
			hessian.SetSym(a, b, 0)
		}
		hessian.SetSym(a, a, 1)
	}
	l.newtons(l.predictors(u))
	rows := len(l.rows)
	q := len(u) / l.r.planes
	for m := range l.r.planes {
		for other := range m + 1 {
			for k := range l.rows {
				first, second := l.slopes[m*rows+k], l.curvatures[curvatureOf(m, other)*rows+k]
				for c, x := range l.design.RawRowView(k) {
					a := m*q + c
					last := q
					if other == m {
						slope.SetVec(a, slope.AtVec(a)+first*x)
						last = c + 1
					}
					for d, z := range l.design.RawRowView(k)[:last] {
						b := other*q + d
						hessian.SetSym(a, b, hessian.At(a, b)+second*x*z)
					}
				}
			}
		}
	}
}

// newtons sets slopes and curvatures of the rows.
func (l *levelEffects) newtons(eta []float64) {
	if l.given.unordered != nil {
		l.given.newtons(l.y, l.times, eta, l.slopes, l.curvatures)
		return
	}
	newton := l.given.Row.NewtonAt
	if l.r.Frame.Response.Continuous() { // as Newton is in graphs
		newton = l.given.Row.BoundAt
	}
	for k, at := range eta {
		l.slopes[k], l.curvatures[k] = newton(l.y[k], at, l.given.sigma)
		if l.times != nil {
			l.slopes[k], l.curvatures[k] = l.times[k]*l.slopes[k], l.times[k]*l.curvatures[k]
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
