package exact

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/internal/line"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/pick"
)

// GPrior is the posterior of one Gaussian model under a mixture of g-priors. Let Q R = [X₀ X₁] be a
// QR decomposition, where X₀ has the columns that are in every model and X₁ the other columns of
// the model. With u = Q'y and v = Rθ, the posterior given g is
//
//	v₀ ~ N(u₀, σ²),   v₁ ~ N(s u₁, s σ²),   σ² ~ InvGamma(N/2, S(1 − s r)/2),   s = g/(1 + g).
//
// S is the residual sum of squares of the response given X₀ alone, r the share of S that X₁
// explains, and N the number of rows less the number of columns of X₀. If X₁ has p₁ columns, the
// Bayes factor against X₀ alone is (Liang et al. 2008)
//
//	(1 + g)^((N − p₁)/2) (1 + g (1 − r))^(−N/2).
type GPrior struct {
	fixed, size int         // p₀ and p₁
	order       []int       // numbers of the given columns, the columns of X₀ first
	u           []float64   // [p₀ + p₁]
	r           [][]float64 // columns of R
	degrees     float64     // N
	squares     float64     // S
	share       float64     // r
	rest        float64     // 1 − r
	logDetFixed float64     // log |R₀₀|
	logDet      float64     // log |R|

	logG, logPosterior []float64 // values of log g, and their normalised log probabilities
	logEvidence        float64
}

// dependent is a length relative to the length of a column. If the part of a column outside the
// span of other columns is shorter, the column counts as their linear combination.
const dependent = 1e-10

// NewGPrior returns the posterior of a model with the given columns and response y. The argument
// always says which columns are in every model, more is the number of further rows, and residual
// their sum of squares, which no column explains (see [Compress]). selectable is the number of all
// columns that can be in a model.
func NewGPrior(slab Slab, columns [][]float64, always []bool, y []float64, more int, residual float64, selectable int) (*GPrior, error) {
	m := &GPrior{}
	for _, fixed := range []bool{true, false} {
		for k, in := range always {
			if in == fixed {
				m.order = append(m.order, k)
			}
		}
		if fixed {
			m.fixed = len(m.order)
		}
	}
	rows, fixed := len(y)+more, m.fixed
	m.size, m.degrees = len(columns)-fixed, float64(rows-fixed)
	if rows <= len(columns) {
		return nil, errors.New("a g-prior needs models of fewer columns than rows: limit them by --max-size")
	}
	rest := append([]float64(nil), y...)
	var q [][]float64
	before := 0.0
	for j, k := range m.order {
		column := columns[k]
		w, r := append([]float64(nil), column...), make([]float64, j+1)
		for range 2 { // two rounds make the columns orthogonal up to rounding
			for i, other := range q {
				inner := floats.Dot(other, w)
				r[i] += inner
				floats.AddScaled(w, -inner, other)
			}
		}
		length := floats.Norm(w, 2)
		if !(length > dependent*floats.Norm(column, 2)) {
			return nil, errors.New("a column of the model is a linear combination of others, for which a g-prior is not defined: leave one out")
		}
		floats.Scale(1/length, w)
		r[j] = length
		if j == fixed {
			before = floats.Dot(rest, rest) + residual
		}
		if j < fixed {
			m.logDetFixed += math.Log(length)
		}
		m.logDet += math.Log(length)
		u := floats.Dot(w, rest)
		floats.AddScaled(rest, -u, w)
		q, m.r, m.u = append(q, w), append(m.r, r), append(m.u, u)
	}
	after := floats.Dot(rest, rest) + residual
	if m.size == 0 {
		before = after
	}
	m.squares = before
	if !(before > 0) || math.IsInf(before, 0) {
		return nil, errors.New("the columns in every model explain the whole response, and nothing is left for a g-prior to explain")
	}
	m.share = floats.Dot(m.u[fixed:], m.u[fixed:]) / before
	m.rest = after / before
	logBayes, err := m.integrate(slab, rows, selectable)
	if err != nil {
		return nil, err
	}
	m.logEvidence = logBayes - math.Ln2 + logsum.Gamma(m.degrees/2) - m.degrees/2*math.Log(math.Pi*m.squares) - m.logDetFixed
	if math.IsNaN(m.logEvidence) || math.IsInf(m.logEvidence, 0) {
		return nil, errors.New("the evidence of a model is not finite")
	}
	return m, nil
}

// integrate finds the posterior of log g, and returns the log Bayes factor against only X₀.
func (m *GPrior) integrate(slab Slab, rows, selectable int) (logBayes float64, err error) {
	logBayesAt := func(x float64) float64 {
		g := math.Exp(x)
		return (m.degrees-float64(m.size))/2*math.Log1p(g) - m.degrees/2*math.Log1p(g*m.rest)
	}
	switch {
	case m.size == 0: // the model without predictors has no g
		m.logG, m.logPosterior = []float64{0}, []float64{0}
		return 0, nil
	case slab.Kind == FixedG:
		m.logG, m.logPosterior = []float64{math.Log(slab.fixed(rows, selectable))}, []float64{0}
		return logBayesAt(m.logG[0]), nil
	}
	integral, err := line.Of(line.Options{From: leastLogG, To: mostLogG, Step: logGStep}, func(x float64) float64 {
		return slab.logPrior(x, float64(rows)) + logBayesAt(x)
	})
	if err != nil {
		return 0, fmt.Errorf("the density of g: %w", err)
	}
	for _, node := range integral.Nodes {
		m.logG, m.logPosterior = append(m.logG, node.X), append(m.logPosterior, node.LogWeight-integral.Log)
	}
	return integral.Log, nil
}

// LogEvidence returns log p(y | m), up to a constant that all models share: the priors of log σ and
// of the coefficients in every model are flat, and have no normalising constant.
func (m *GPrior) LogEvidence() float64 { return m.logEvidence }

// Unexplained returns the share of the sum of squares of the response, less the columns in every
// model, that the other columns of the model do not explain.
func (m *GPrior) Unexplained() float64 { return m.rest }

// rate returns b of σ² ~ InvGamma(N/2, b), given shrink = g/(1 + g).
func (m *GPrior) rate(shrink float64) float64 { return m.squares * (1 - shrink*m.share) / 2 }

// Draw writes a draw of the coefficients to theta [p₀ + p₁]. It returns a draw of log σ, and the
// log density of the coefficients and log σ.
func (m *GPrior) Draw(random *rand.Rand, theta []float64) (logSigma, logDensity float64) {
	shrink := 1 / (1 + math.Exp(-m.logG[pick.Log(m.logPosterior, random.Float64())]))
	sigma := math.Sqrt(m.rate(shrink) / distuv.Gamma{Alpha: m.degrees / 2, Beta: 1, Src: random}.Rand())
	v := make([]float64, len(theta))
	for j, u := range m.u {
		v[j] = u + sigma*random.NormFloat64()
		if j >= m.fixed {
			v[j] = shrink*u + sigma*math.Sqrt(shrink)*random.NormFloat64()
		}
	}
	for j := len(v) - 1; j >= 0; j-- { // R θ = v
		v[j] /= m.r[j][j]
		floats.AddScaled(v[:j], -v[j], m.r[j][:j])
		theta[m.order[j]] = v[j]
	}
	logSigma = math.Log(sigma)
	return logSigma, m.LogDensity(theta, logSigma)
}

// LogDensity returns the log posterior density of the coefficients and log σ.
func (m *GPrior) LogDensity(theta []float64, logSigma float64) float64 {
	v := make([]float64, len(theta))
	for j, column := range m.r {
		floats.AddScaled(v[:j+1], theta[m.order[j]], column)
	}
	precision := math.Exp(-2 * logSigma)
	fixed, square, inner := 0.0, 0.0, 0.0
	for j, u := range m.u {
		if j < m.fixed {
			fixed += (v[j] - u) * (v[j] - u)
		} else {
			square += v[j] * v[j]
			inner += v[j] * u
		}
	}
	explained := m.share * m.squares
	terms := make([]float64, len(m.logG))
	for i, x := range m.logG {
		shrink := 1 / (1 + math.Exp(-x))
		rate := m.rate(shrink)
		apart := square/shrink - 2*inner + shrink*explained // |v₁ − s u₁|² / s
		terms[i] = m.logPosterior[i] - precision*(fixed+apart)/2 - float64(m.size)/2*math.Log(shrink) +
			math.Ln2 + m.degrees/2*math.Log(rate) - logsum.Gamma(m.degrees/2) - m.degrees*logSigma - rate*precision
	}
	return logsum.Of(terms) + m.logDet - float64(len(theta))*(logSigma+halfLog2Pi)
}
