package exact

import (
	"errors"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/rank"
)

// Model is the posterior of one Gaussian model in closed form given σ. A priori the coefficients
// θ_j have means μ_j and standard deviations s_j, so that φ_j = (θ_j − μ_j) / s_j is standard
// normal. With A = X diag(s) and r = y − Xμ,
//
//	r = Aφ + σε,   A = U diag(d) V',   c = U'r,   ρ² = |r − Uc|²,
//
//	log p(y | σ) = −½ Σ_i [log(σ² + d_i²) + c_i²/(σ² + d_i²)]
//	               − (n − q) log σ − ρ²/2σ² − ½n log 2π,
//	E φ = V diag(d/(d² + σ²)) c,   Cov φ = I − V diag(d²/(d² + σ²)) V',
//
// for n rows and q singular values d_i. No digits cancel, whatever σ and the scales and
// correlations of the columns are.
type Model struct {
	mean, sd []float64   // μ and s [k]
	d, c     []float64   // singular values d, and c [q]
	v        [][]float64 // [q][k]: columns of V
	residual float64     // ρ²
	size     float64     // |r|²
	rows     int         // n
}

// NewModel returns the posterior of a model with the given columns of X, k slices of length len(y),
// and the prior means and standard deviations of their coefficients. The argument more is the
// number of further observations, and residual their sum of squares, whatever the coefficients
// ([Compress]).
func NewModel(y []float64, columns [][]float64, mean, sd []float64, more int, residual float64) (*Model, error) {
	n, k := len(y), len(columns)
	q := min(n, k)
	room := make([]float64, n*(k+1)+k*q+2*k+q) // one allocation, since there are many models
	take := func(length int) (part []float64) {
		part, room = room[:length:length], room[length:]
		return part
	}
	w, r := make([][]float64, k), take(n) // A and r
	copy(r, y)
	for j, column := range columns {
		w[j] = take(n)
		for i, x := range column {
			w[j][i] = x * sd[j]
			r[i] -= x * mean[j]
		}
	}
	m := &Model{mean: mean, sd: sd, size: floats.Dot(r, r) + residual, rows: n + more}
	norms, total := take(k), m.size
	for j, column := range w {
		norms[j] = length(column)
		total += norms[j] * norms[j]
	}
	if math.IsInf(total, 0) || math.IsNaN(total) {
		return nil, errors.New("the sums of squares of a model are not finite: rescale the columns")
	}
	l := triangularise(w, r, take(k*q), take(k))
	c := r[:len(l)] // Q'r
	orthogonalise(l, c)
	m.d, m.c, m.v = take(q)[:0], make([]float64, 0, q), l[:0]
	for i, line := range l {
		d, rounding := length(line), 0.0
		if d == 0 {
			continue
		}
		floats.Scale(1/d, line)
		for j, norm := range norms {
			rounding += math.Abs(line[j]) * norm * 0x1p-54
		}
		if d <= rounding {
			continue // the column is a combination of other columns
		}
		m.d, m.c, m.v = append(m.d, d), append(m.c, c[i]), append(m.v, line)
		c[i] = 0 // these components of r are part of the residual
	}
	m.residual = residual + floats.Dot(r, r)
	// The residual is raised to the rounding error of the response, and must not be zero.
	const tiny = 1e-300
	m.residual = max(m.residual, m.size*0x1p-104, tiny)
	return m, nil
}

// triangularise applies reflections to the columns w [k][n] of A and to r [n] in place, so that w
// becomes triangular: Q'A = R, with columns pivoted by size. It returns the rows of R, at most the
// rank of A, each with k numbers in the given order of the columns. The memory of the rows is
// numbers [k·min(k, n)]; squares [k] is scratch.
func triangularise(w [][]float64, r, numbers, squares []float64) (rows [][]float64) {
	k := len(w)
	if k == 0 {
		return nil
	}
	order := rank.UpTo(k)
	rows = make([][]float64, 0, min(k, len(r)))
	for j, column := range w { // approximate squares of the remaining columns; they only decide the order, and any order is right
		squares[j] = floats.Dot(column, column)
	}
	for i := 0; i < min(k, len(r)); i++ {
		at := i
		for j := i + 1; j < k; j++ {
			if squares[j] > squares[at] {
				at = j
			}
		}
		w[i], w[at] = w[at], w[i]
		order[i], order[at] = order[at], order[i]
		squares[at] = squares[i]
		reflector := w[i][i:]
		norm := length(reflector)
		if norm == 0 {
			break
		}
		// a reflection I − u u'/(1 + |x_1|/|x|), u = x/|x| + sign(x_1) e_1, in which nothing
		// underflows
		floats.Scale(1/norm, reflector)
		sign := math.Copysign(1, reflector[0])
		reflector[0] += sign
		factor := 1 / math.Abs(reflector[0])
		reflect := func(x []float64) { floats.AddScaled(x, -factor*floats.Dot(reflector, x), reflector) }
		row := numbers[k*i : k*(i+1)]
		row[order[i]] = -sign * norm
		for j := i + 1; j < k; j++ {
			reflect(w[j][i:])
			row[order[j]] = w[j][i]
			squares[j] -= w[j][i] * w[j][i]
		}
		reflect(r[i:])
		rows = append(rows, row)
	}
	return rows
}

// length returns the Euclidean norm of x. It scales x only if squares overflow or underflow.
func length(x []float64) float64 {
	const low, high = 1e-280, 1e280
	if square := floats.Dot(x, x); square > low && square < high {
		return math.Sqrt(square)
	}
	return floats.Norm(x, 2)
}

// orthogonalise rotates the vectors in lines until they are orthogonal, by one-sided Jacobi
// rotations in place, and applies the rotations to the numbers c, one for each vector. After
// triangularise it computes even small singular values of badly scaled columns accurately, in few
// sweeps (Drmač and Veselić 2008).
func orthogonalise(lines [][]float64, c []float64) {
	const sweeps = 40 // 2 to 5 are enough
	// After a sweep with angles and cosines between lines of at most small, the cosines are at most
	// small², a rounding error.
	const small = 0x1p-27
	if len(lines) == 0 {
		return
	}
	tolerance := 0x1p-52 * math.Sqrt(float64(len(lines[0])))
	squares, lengths := make([]float64, len(lines)), make([]float64, len(lines))
	for i, line := range lines {
		squares[i] = floats.Dot(line, line)
		lengths[i] = math.Sqrt(squares[i])
	}
	for range sweeps {
		rotated := false
		for i := range lines {
			for j := range i {
				inner := floats.Dot(lines[i], lines[j])
				if math.Abs(inner) <= tolerance*lengths[i]*lengths[j] {
					continue
				}
				cotangent := (squares[j] - squares[i]) / (2 * inner) // cotangent of twice the angle of the rotation
				tangent := math.Copysign(1, cotangent) / (math.Abs(cotangent) + math.Sqrt(1+cotangent*cotangent))
				rotated = rotated || math.Abs(tangent) > small || math.Abs(inner) > small*lengths[i]*lengths[j]
				cos := 1 / math.Sqrt(1+tangent*tangent)
				sin := cos * tangent
				squares[i], squares[j] = rotate(lines[i], lines[j], cos, sin)
				lengths[i], lengths[j] = math.Sqrt(squares[i]), math.Sqrt(squares[j])
				c[i], c[j] = cos*c[i]-sin*c[j], sin*c[i]+cos*c[j]
			}
		}
		if !rotated {
			return
		}
	}
}

// rotate sets (x, y) to (cos x − sin y, sin x + cos y), and returns their sums of squares.
func rotate(x, y []float64, cos, sin float64) (xx, yy float64) {
	y = y[:len(x)]
	for i, a := range x {
		b := y[i]
		first, second := cos*a-sin*b, sin*a+cos*b
		x[i], y[i] = first, second
		xx += first * first
		yy += second * second
	}
	return xx, yy
}

// Residual returns ρ², the sum of squares that no coefficients explain.
func (m *Model) Residual() float64 { return m.residual }

// LogEvidence returns log p(y | m, σ), including all constants.
func (m *Model) LogEvidence(logSigma float64) float64 {
	variance := math.Exp(2 * logSigma)
	sum := -float64(m.rows)*halfLog2Pi - float64(m.rows-len(m.d))*logSigma - m.residual/variance/2
	product := 1.0 // the product of several σ² + d², to take one logarithm of it
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

// Draw writes coefficients θ [k] drawn from p(θ | y, m, σ) and returns their log density.
func (m *Model) Draw(logSigma float64, random *rand.Rand, theta []float64) (logDensity float64) {
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

// Mode writes the mode of the coefficients given σ to θ [k].
func (m *Model) Mode(logSigma float64, theta []float64) {
	variance := math.Exp(2 * logSigma)
	clear(theta)
	for i, d := range m.d {
		floats.AddScaled(theta, d/(d*d+variance)*m.c[i], m.v[i])
	}
	for j := range theta {
		theta[j] = m.mean[j] + m.sd[j]*theta[j]
	}
}

var halfLog2Pi = math.Log(2*math.Pi) / 2
