package networks

import (
	"math"

	"github.com/transdim/vti/dag/score"
)

// unresolved is the smallest residual sum of squares of a node, as a share of its sum of squares. A
// smaller residual sum is replaced by this share, because such small differences of products in
// float32 are rounding errors. Without this limit the likelihood would be arbitrarily large for
// small noise σ if hidden units interpolate few rows.
const unresolved = 1e-7

// networkLikelihood computes log N(x_j; 0, σ² I + σ0² ΦΦᵀ) from ΦᵀΦ, Φᵀx_j and σ, with the symbols
// of [networkFamily]: Φ [n,H'] holds the outputs of the hidden units. The result is −Inf if
// rounding errors dominate. networkLikelihood keeps the parts that do not change if one unit is
// replaced.
type networkLikelihood struct {
	rows    float64
	squares float64 // |x_j|²
	priorSD float64

	units     int       // H'
	lower     []float64 // Cholesky factor of A = I + σ0²/σ² ΦᵀΦ, by rows [H'·H']
	solution  []float64 // product of the inverse of lower and Φᵀx_j [H']
	inverse   []float64 // inverses of the diagonal entries of lower [H']
	order     []int     // hidden unit of each row of lower
	ratio     float64   // σ0²/σ²
	precision float64   // 1/σ²
	logDet    float64   // log determinant of lower
	quadratic float64   // |solution|²
	logScale  float64   // −n (log σ + log 2π/2)
}

func newNetworkLikelihood(units, rows int, squares, priorSD float64) *networkLikelihood {
	return &networkLikelihood{
		rows: float64(rows), squares: squares, priorSD: priorSD, units: units, lower: make([]float64, units*units), solution: make([]float64, units), inverse: make([]float64, units),
		order: make([]int, 0, units),
	}
}

// logLikelihood returns the log likelihood, and stores the Cholesky factor in lower.
func (l *networkLikelihood) logLikelihood(gram, pull []float64, logSigma float64) float64 {
	if !l.without(-1, gram, pull, logSigma) {
		return math.Inf(-1)
	}
	return l.total(l.quadratic, l.logDet)
}

// without computes the Cholesky factor of A for all units but the given one, for likelihoods that
// differ only in this unit; −1 leaves out none. It reports whether A is positive definite, so that
// the likelihood is finite.
func (l *networkLikelihood) without(unit int, gram, pull []float64, logSigma float64) bool {
	l.order = l.order[:0]
	for i := range l.units {
		if i != unit {
			l.order = append(l.order, i)
		}
	}
	l.precision = math.Exp(-2 * logSigma)
	l.ratio = l.priorSD * l.priorSD * l.precision
	l.logScale = -l.rows * (logSigma + score.HalfLog2Pi)
	l.quadratic = 0
	det, logSum := 1.0, 0.0
	for a, i := range l.order {
		value, diagonal, ok := l.extend(a, gram[i*l.units:], gram[i*l.units+i], pull[i])
		if !ok {
			return false
		}
		l.inverse[a], l.solution[a] = 1/diagonal, value
		l.lower[a*l.units+a] = diagonal
		l.quadratic += value * value
		if det *= diagonal; det > 1e200 {
			logSum += math.Log(det)
			det = 1
		}
	}
	l.logDet = logSum + math.Log(det)
	return true
}

// extend computes row a of the Cholesky factor except the diagonal entry. It returns the entry of
// the solution and the diagonal entry. products holds the inner products of the outputs of the
// row's unit with the units before it, square the product with itself, and pull with x_j.
func (l *networkLikelihood) extend(a int, products []float64, square, pull float64) (value, diagonal float64, ok bool) {
	row := l.lower[a*l.units : a*l.units+a]
	left := 1 + l.ratio*square
	value = pull
	for b := range row {
		other := l.lower[b*l.units : b*l.units+b]
		sum := l.ratio * products[l.order[b]]
		for k, x := range other {
			sum -= row[k] * x
		}
		sum *= l.inverse[b]
		row[b] = sum
		left -= sum * sum
		value -= sum * l.solution[b]
	}
	if !(left > 0) {
		return 0, 0, false
	}
	diagonal = math.Sqrt(left)
	return value / diagonal, diagonal, true
}

// with returns the log likelihood with a new unit in place of the unit excluded by the method
// without. It takes the inner products of the outputs of the new unit with the other units, with
// itself (square) and with x_j (pull).
func (l *networkLikelihood) with(products []float64, square, pull float64) float64 {
	value, diagonal, ok := l.extend(len(l.order), products, square, pull)
	if !ok {
		return math.Inf(-1)
	}
	return l.total(l.quadratic+value*value, l.logDet+math.Log(diagonal))
}

func (l *networkLikelihood) total(quadratic, logDet float64) float64 {
	left := math.Max(l.squares-l.ratio*quadratic, unresolved*l.squares)
	return l.logScale - left*l.precision/2 - logDet
}
