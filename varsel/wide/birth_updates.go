package wide

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/dense"
)

// leastGrown is the smallest factor by which the removal of a predictor may change the determinant
// of the responses' covariance in an update, which then loses at most four of sixteen digits. If
// the factor is smaller, everything is computed anew. Half and twice this number give the same
// answers (docs/benchmarks/constants.md).
const leastGrown = 1e-4

var halfLog2Pi = math.Log(2*math.Pi) / 2

// factorise finds the Cholesky factor of X'X + D over the members, where the diagonal of D holds σ²
// divided by prior variances. It returns false if the matrix is not positive definite.
func (s *birthState) factorise(logSigma float64) (ok bool) {
	k := len(s.members)
	triangle := slices.Grow(s.triangle[:0], k*k)[:k*k]
	noise := math.Exp(2 * logSigma)
	for a, c := range s.members {
		for e := range a + 1 {
			triangle[a*k+e] = s.rowsOf[a][s.members[e]]
		}
		triangle[a*k+a] += noise / s.variance(c)
	}
	s.triangle = triangle
	s.factor, ok = dense.Factorize(triangle, k, 0)
	return ok
}

// evidenceAt returns log p(y | m, σ), or −Inf if rounding makes the normal equations indefinite. It
// sets projected to L⁻¹X'y, where L is the Cholesky factor of the normal equations.
func (s *birthState) evidenceAt(logSigma float64) float64 {
	if !s.factorise(logSigma) {
		return math.Inf(-1)
	}
	k := len(s.members)
	s.projected = slices.Grow(s.projected[:0], k)[:k]
	for a, c := range s.members {
		s.projected[a] = s.along[c]
	}
	s.factor.SolveLower(s.projected)
	rest, logDet := s.size, s.factor.LogDet()
	for a, v := range s.projected {
		rest -= v * v
		logDet += math.Log(s.variance(s.members[a])) - 2*logSigma
	}
	if s.target.Scale >= 0 { // a negative sum of squares is a rounding error
		rest = max(rest, 0)
	}
	return -s.total*(logSigma+halfLog2Pi) - 0.5*logDet - 0.5*rest*math.Exp(-2*logSigma)
}

// refresh computes everything anew from the model and σ. It returns false if it fails.
func (s *birthState) refresh() bool {
	s.logEvidence = s.evidenceAt(s.logSigma)
	if math.IsInf(s.logEvidence, -1) || math.IsNaN(s.logEvidence) {
		return false
	}
	precision := math.Exp(-2 * s.logSigma)
	s.inner = slices.Grow(s.inner[:0], len(s.members)*oddsBlock)
	for b := range s.sums {
		first, last := s.block(b)
		grown, linear, work, inner := s.grown[first:last], s.linear[first:last], s.work[:last-first], s.inner
		vectors.MulScalar(grown, s.norms[first:last], s.slab*precision)
		vectors.AddScalar(grown, grown, 1)
		vectors.MulScalar(linear, s.along[first:last], precision)
		for a, row := range s.rowsOf { // row a of L⁻¹X'X
			from := row[first:last]
			to := inner[len(inner) : len(inner)+len(from)]
			for e := range a {
				vectors.AddScaled(to, from, inner[e*len(from):(e+1)*len(from)], -s.factor.At(a, e))
				from = to
			}
			vectors.MulScalar(to, from, 1/s.factor.At(a, a))
			vectors.Mul(work, to, to)
			vectors.AddScaled(grown, grown, work, -s.slab*precision)
			vectors.AddScaled(linear, linear, to, -s.projected[a]*precision)
			inner = inner[:len(inner)+len(from)]
		}
	}
	return true
}

// flip removes column c from the model if it is a member, and adds it otherwise.
func (s *birthState) flip(c int) {
	to, known := s.after(c)
	precise := known || s.update(c, to)
	s.modelOdds = to
	if s.memberIndex[c] < 0 {
		s.join(c)
	} else {
		s.leave(c)
	}
	if !precise {
		s.refresh()
	}
}

// update computes the odds of the model that differs in column c. It returns false, and computes
// nothing, if rounding errors would be too large.
func (s *birthState) update(c int, to *modelOdds) (precise bool) {
	s.factorise(s.logSigma)
	k := len(s.members)
	weights := slices.Grow(s.projected[:0], k)[:k]
	for a, row := range s.rowsOf {
		weights[a] = row[c]
	}
	s.projected = weights
	s.factor.Solve(weights)
	precision, at := math.Exp(-2*s.logSigma), s.memberIndex[c]
	var row []float64
	var along, grown float64
	sign := 1.0
	if at < 0 {
		row, along, grown = s.row(c), s.linear[c], s.norms[c]
		for a, other := range s.rowsOf {
			grown -= weights[a] * other[c]
		}
		grown = 1 + s.slab*precision*max(grown, 0) // negative only by rounding
	} else {
		sign, row = -1, s.rowsOf[at]
		along, grown = s.ofMember(at)
	}
	if grown < leastGrown {
		return false
	}
	gain := sign * s.slab / grown
	to.logEvidence = s.logEvidence + 0.5*gain*along*along - 0.5*math.Log(grown)
	for b := range s.sums {
		first, last := s.block(b)
		// the inner products of σ² V⁻¹x, where x is column c, with the columns of the block
		from, other := row[first:last], s.other[:last-first]
		for a, row := range s.rowsOf {
			vectors.AddScaled(other, from, row[first:last], -weights[a])
			from = other
		}
		vectors.AddScaled(to.linear[first:last], s.linear[first:last], from, -gain*along*precision)
		vectors.Mul(other, from, from)
		vectors.AddScaled(to.grown[first:last], s.grown[first:last], other, -gain*s.slab*precision*precision)
	}
	return true
}

// ofMember returns x'V⁻¹y and 1 − s² x'V⁻¹x for the column x of a member of the model, without the
// cancellation of the difference. With M the inverse of the normal equations (factorise), they are
// the member's entry of M X'y divided by s², and its diagonal entry of M times σ²/s². factor must
// be the Cholesky factor for the present members.
func (s *birthState) ofMember(at int) (along, grown float64) {
	k := len(s.members)
	unit, all := make([]float64, k), make([]float64, k)
	unit[at] = 1
	for a, c := range s.members {
		all[a] = s.along[c]
	}
	s.factor.SolveLower(unit)
	s.factor.Solve(all)
	return all[at] / s.slab, floats.Dot(unit, unit) * math.Exp(2*s.logSigma) / s.slab
}
