package varsel

import (
	"errors"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// conjugate is the posterior of one Gaussian model in closed form given σ. With φ_j = (θ_j − μ_j) /
// s_j standard normal a priori, A = X diag(s) and r = y − Xμ,
//
//	r = Aφ + σε,   A = U diag(d) V',   c = U'r,   ρ² = |r − Uc|²,
//
//	log p(y | σ) = −½ Σ_i [log(σ² + d_i²) + c_i²/(σ² + d_i²)]
//	               − (n − q) log σ − ρ²/2σ² − ½n log 2π,
//	E φ = V diag(d/(d² + σ²)) c,   Cov φ = I − V diag(d²/(d² + σ²)) V',
//
// with q singular values d. Nothing cancels, whatever σ, the scales of the columns and their
// correlations. `vti exact` goes through millions of models by a factor that grows row by row
// (exact_walk.go), from sums of squares, which is faster and loses twice the digits.
type conjugate struct {
	mean, sd []float64   // μ and s [k]
	d, c     []float64   // [q]
	v        [][]float64 // [q][k]: columns of V
	residual float64     // ρ²
	size     float64     // |r|²
	rows     int         // n
}

// newConjugate decomposes a model: columns [k] of X, of len(y) numbers each, with the means and
// standard deviations of their coefficients. The other observations, more of them, have the sum of
// squares residual whatever the coefficients; see responses.
func newConjugate(y []float64, columns [][]float64, mean, sd []float64, more int, residual float64) (*conjugate, error) {
	n, k := len(y), len(columns)
	both := mat.NewDense(n, k+1, nil) // [A r]
	for i := range n {
		row := both.RawRowView(i)
		row[k] = y[i]
		for j, column := range columns {
			row[j] = column[i] * sd[j]
			row[k] -= column[i] * mean[j]
		}
	}
	m := &conjugate{mean: mean, sd: sd, residual: residual, rows: n + more}
	if n > k+1 { // fewer rows, the same inner products
		var qr mat.QR
		qr.Factorize(both)
		var r mat.Dense
		qr.RTo(&r)
		both = mat.DenseCopyOf(r.Slice(0, k+1, 0, k+1))
	}
	w := make([][]float64, k)
	for j := range w {
		w[j] = mat.Col(nil, j, both)
	}
	r := mat.Col(nil, k, both)
	m.size = floats.Dot(r, r) + residual
	norms := make([]float64, k)
	for j, column := range w {
		norms[j] = floats.Norm(column, 2)
	}
	v, err := orthogonalise(w)
	if err != nil || math.IsInf(m.size, 0) || math.IsNaN(m.size) {
		return nil, errors.New("the sums of squares of a model are not finite: rescale the columns")
	}
	for j, column := range w {
		d, rounding := floats.Norm(column, 2), 0.0
		for i, norm := range norms {
			rounding += math.Abs(v[j][i]) * norm * 0x1p-54
		}
		if d <= rounding {
			continue // a combination of the other columns
		}
		c := floats.Dot(column, r) / d
		floats.AddScaled(r, -c/d, column)
		m.d, m.c, m.v = append(m.d, d), append(m.c, c), append(m.v, v[j])
	}
	m.residual += floats.Dot(r, r)
	// A residual below the rounding of the response is rounding, and zero is below all numbers.
	const tiny = 1e-300
	m.residual = max(m.residual, m.size*0x1p-104, tiny)
	return m, nil
}

// orthogonalise rotates columns in place until they are orthogonal, by one-sided Jacobi rotations,
// which find small singular values as well as large ones where columns differ in scale (Demmel and
// Veselić 1992). It returns the columns of the product of the rotations, so that w = A V.
func orthogonalise(w [][]float64) (v [][]float64, err error) {
	const sweeps = 40 // 6 to 10 are enough
	v = make([][]float64, len(w))
	for j := range v {
		v[j] = make([]float64, len(w))
		v[j][j] = 1
	}
	if len(w) == 0 {
		return v, nil
	}
	tolerance := 0x1p-52 * math.Sqrt(float64(len(w[0])))
	for range sweeps {
		rotated := false
		for i := range w {
			for j := range i {
				a, b, inner := floats.Dot(w[i], w[i]), floats.Dot(w[j], w[j]), floats.Dot(w[i], w[j])
				if math.IsNaN(inner) || math.IsInf(a+b, 0) {
					return nil, errors.New("not finite")
				}
				if math.Abs(inner) <= tolerance*math.Sqrt(a)*math.Sqrt(b) {
					continue
				}
				rotated = true
				cotangent := (b - a) / (2 * inner) // of twice the angle
				tangent := math.Copysign(1, cotangent) / (math.Abs(cotangent) + math.Hypot(1, cotangent))
				cos := 1 / math.Hypot(1, tangent)
				rotate(w[i], w[j], cos, cos*tangent)
				rotate(v[i], v[j], cos, cos*tangent)
			}
		}
		if !rotated {
			break
		}
	}
	return v, nil
}

// rotate turns (x, y) by an angle: (cos x − sin y, sin x + cos y).
func rotate(x, y []float64, cos, sin float64) {
	for i, a := range x {
		b := y[i]
		x[i], y[i] = cos*a-sin*b, sin*a+cos*b
	}
}

// logEvidence is log p(y | m, σ), every constant kept.
func (m *conjugate) logEvidence(logSigma float64) float64 {
	variance := math.Exp(2 * logSigma)
	sum := -float64(m.rows)*halfLog2Pi - float64(m.rows-len(m.d))*logSigma - m.residual/variance/2
	product := 1.0 // of some of the σ² + d²: one logarithm for many
	for i, d := range m.d {
		total := variance + d*d
		sum -= m.c[i] * (m.c[i] / total) / 2
		if product *= total; product < 1e-200 || product > 1e200 {
			sum -= math.Log(product) / 2
			product = 1
		}
	}
	return sum - math.Log(product)/2
}

// draw writes coefficients θ [k] drawn from p(θ | y, m, σ) and returns their log density.
func (m *conjugate) draw(logSigma float64, random *rand.Rand, theta []float64) (logDensity float64) {
	variance := math.Exp(2 * logSigma)
	for j := range theta {
		theta[j] = random.NormFloat64()
		logDensity -= theta[j]*theta[j]/2 + halfLog2Pi + math.Log(m.sd[j])
	}
	// φ = z + V [mean − (1 − σ/√(d² + σ²)) V'z]
	shifts := make([]float64, len(m.d))
	for i, d := range m.d {
		total := variance + d*d
		shrink := math.Sqrt(variance / total)
		shifts[i] = m.c[i]*(d/total) - d*d/total/(1+shrink)*floats.Dot(m.v[i], theta)
		logDensity -= math.Log(shrink)
	}
	for i, shift := range shifts {
		floats.AddScaled(theta, shift, m.v[i])
	}
	for j := range theta {
		theta[j] = m.mean[j] + m.sd[j]*theta[j]
	}
	return logDensity
}
