package rjmcmc

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/dense"
)

// A change of model keeps the coordinates R active, switches the coordinates K off and the
// coordinates J on. Under the quadratic approximation, the conditional distribution of the kept
// coordinates, given all other active coordinates X, is
//
//	θ_R | θ_X ~ N(Λ_RR⁻¹ (b_R − Λ_RX θ_X), Λ_RR⁻¹),  X = K before, J after,
//
// so that the move θ_R' = θ_R + W_K θ_K − W_J θ_J', W_X = Λ_RR⁻¹ Λ_RX, maps the old conditional
// distribution to the new one. Its Jacobian is 1, and its inverse is the same map with K and J
// exchanged. With θ_J' drawn from its approximate marginal in the new model, the acceptance ratio
// is the ratio of the two models' evidences, up to the error of the approximation. If predictors
// are collinear, simpler proposals do not move between models.

// marginal is the normal distribution of coordinates X that are born or die, with the shift of the
// kept coordinates R that X causes. Both depend on R and X only.
type marginal struct {
	shift  []float64    // W_X, [R*X] row-major; nil for no shift
	mean   []float64    // [X]
	factor dense.Factor // Cholesky factor of the covariance [X*X]
	logDet float64      // log determinant of the factor: half the log determinant of the covariance
}

// workspace holds the scratch memory of one goroutine: lists of coordinates, and vectors and
// matrices that are valid until the next chain is moved.
type workspace struct {
	kept, died, born []int // kept and born are coordinates of the new model, died of the old model
	from             []int // the coordinates that kept had in the old model
	before, after    []int
	different        []int // like sites with another outcome
	place            []float64
	memory           []float64
	used             int
	info             Info // counts by this goroutine
}

// divide lists the coordinates that stay, die and are born between the masks before and after. It
// has no branches, because the masks are unpredictable.
func (w *workspace) divide(before, after []bool) {
	n := len(before)
	kept, died, born := slices.Grow(w.kept[:0], n)[:n], slices.Grow(w.died[:0], n)[:n], slices.Grow(w.born[:0], n)[:n]
	keeps, dies, births := 0, 0, 0
	for j, on := range after[:n] {
		was, is := bit(before[j]), bit(on)
		kept[keeps], died[dies], born[births] = j, j, j
		keeps, dies, births = keeps+was&is, dies+was&^is, births+is&^was
	}
	w.kept, w.died, w.born = kept[:keeps], died[:dies], born[:births]
	w.from = append(w.from[:0], w.kept...)
}

// bit returns 1 for true and 0 for false.
func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (w *workspace) reset() { w.used = 0 }

// active lists the coordinates for which mask is true.
func (w *workspace) active(mask []bool) []int {
	w.kept = w.kept[:0]
	for j, on := range mask {
		if on {
			w.kept = append(w.kept, j)
		}
	}
	return w.kept
}

// take returns n zeros from the scratch memory.
func (w *workspace) take(n int) []float64 {
	if w.used+n > len(w.memory) {
		// slices taken before keep the old memory
		w.memory, w.used = make([]float64, 2*len(w.memory)+n), 0
	}
	taken := w.memory[w.used : w.used+n : w.used+n]
	w.used += n
	clear(taken)
	return taken
}

// A pivot of a Cholesky factorisation counts as zero if it is below smallestPivot times the
// diagonal entry.
const smallestPivot = 1e-10

// marginal returns the marginal of coordinates x and the shift of the kept coordinates. The
// argument factor is the factor of Λ_RR from factorise. If it has fewer rows than there are kept
// coordinates, Λ_RR has no factor. The marginal then comes from BirthMean and BirthSD only.
func (t *Tuning) marginal(w *workspace, kept, x []int, factor dense.Factor) marginal {
	if t.Quadratic != nil && factor.Order() == len(kept) {
		if m, ok := t.Quadratic.marginal(w, kept, x, factor); ok {
			return m
		}
	}
	m, covariance := marginal{mean: w.take(len(x))}, w.take(len(x)*len(x))
	for a, j := range x {
		m.mean[a], covariance[a*len(x)+a] = t.BirthMean[j], t.BirthSD[j]*t.BirthSD[j]
	}
	m.factor, _ = dense.Factorize(covariance, len(x), 0)
	m.logDet = m.factor.LogDet() / 2
	return m
}

// factorise returns the Cholesky factor of Λ over the given coordinates. ok is false if this part
// of Λ is not positive definite.
func (q *Quadratic) factorise(w *workspace, coordinates []int) (f dense.Factor, ok bool) {
	d, n := len(q.Linear), len(coordinates)
	a := w.take(n * n)
	for r, i := range coordinates {
		for c, j := range coordinates[:r+1] {
			a[r*n+c] = q.Precision[i*d+j]
		}
	}
	return dense.Factorize(a, n, smallestPivot)
}

// marginal uses the Schur complement S = Λ_XX − Λ_XR Λ_RR⁻¹ Λ_RX: the mean is S⁻¹(b_X − W'b_R), the
// covariance S⁻¹. S⁻¹ E S⁻¹ is added to the covariance, since the excess variance E of the gradient
// (Quadratic.Excess) makes the mean uncertain.
func (q *Quadratic) marginal(w *workspace, kept, x []int, lower dense.Factor) (m marginal, ok bool) {
	d, n, k := len(q.Linear), len(x), len(kept)
	m = marginal{mean: w.take(n), shift: w.take(k * n)}
	column := w.take(k)
	for a, j := range x {
		for r, i := range kept {
			column[r] = q.Precision[i*d+j]
		}
		lower.Solve(column)
		for r, v := range column {
			m.shift[r*n+a] = v
		}
	}
	complement := w.take(n * n)
	for a, j := range x {
		m.mean[a] = q.Linear[j]
		for r, i := range kept {
			m.mean[a] -= m.shift[r*n+a] * q.Linear[i]
		}
		for b, l := range x[:a+1] {
			v := q.Precision[j*d+l]
			for r, i := range kept {
				v -= q.Precision[i*d+j] * m.shift[r*n+b]
			}
			complement[a*n+b] = v
		}
	}
	schur, ok := dense.Factorize(complement, n, smallestPivot)
	if !ok {
		return marginal{}, false
	}
	schur.Solve(m.mean)
	inverse, covariance := w.take(n*n), w.take(n*n)
	schur.Inverse(inverse)
	for a := range n {
		for b := range a + 1 {
			v := inverse[a*n+b]
			for c, j := range x {
				v += inverse[a*n+c] * q.Excess[j] * inverse[c*n+b]
			}
			covariance[a*n+b] = birthInflation * birthInflation * v
		}
	}
	m.factor, ok = dense.Factorize(covariance, n, smallestPivot)
	m.logDet = m.factor.LogDet() / 2
	return m, ok
}

func (m marginal) draw(rng *rand.Rand, values []float64) {
	for a := range values {
		values[a] = rng.NormFloat64()
	}
	m.factor.MulLower(values)
	floats.Add(values, m.mean)
}

var log2Pi = math.Log(2 * math.Pi)

func (m marginal) logDensity(w *workspace, values []float64) float64 {
	n := len(m.mean)
	u := w.take(n)
	floats.SubTo(u, values, m.mean)
	m.factor.SolveLower(u)
	return -0.5*(float64(n)*log2Pi+floats.Dot(u, u)) - m.logDet
}

// apply adds sign · W_X values to theta over the kept coordinates.
func (m marginal) apply(kept []int, theta, values []float64, sign float64) {
	if m.shift == nil {
		return
	}
	n := len(values)
	for r, i := range kept {
		theta[i] += sign * floats.Dot(m.shift[r*n:r*n+n], values)
	}
}
