package wide

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/dense"
)

// leastGrown is the least factor by which a death may change the determinant of the responses'
// covariance in an update. With a smaller factor updates would lose digits, and everything is
// computed anew. Not tuned.
const leastGrown = 1e-4

var halfLog2Pi = math.Log(2*math.Pi) / 2

// factorise finds the Cholesky factor of X'X + σ²/s² over the members, whose prior variances are
// s². It returns false if the matrix is not positive definite.
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

// evidenceAt returns log p(y | m, σ), −Inf if rounding hides it. It leaves L⁻¹X'y in projected.
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
	return -s.total*(logSigma+halfLog2Pi) - 0.5*logDet - 0.5*max(rest, 0)*math.Exp(-2*logSigma)
}

// refresh computes everything but the model and σ anew. It returns false if it fails.
func (s *birthState) refresh() bool {
	s.logEvidence = s.evidenceAt(s.logSigma)
	if math.IsInf(s.logEvidence, -1) || math.IsNaN(s.logEvidence) {
		return false
	}
	copy(s.quadratic, s.norms)
	copy(s.linear, s.births.along)
	k, count := len(s.members), len(s.norms)
	s.inner = slices.Grow(s.inner[:0], k*count)[:k*count] // L⁻¹X'X of all columns
	for a, row := range s.rowsOf {
		inner := s.inner[a*count : (a+1)*count]
		copy(inner, row)
		for e := range a {
			vectors.MulScalar(s.work, s.inner[e*count:(e+1)*count], s.factor.At(a, e))
			vectors.Sub(inner, inner, s.work)
		}
		vectors.MulScalar(inner, inner, 1/s.factor.At(a, a))
		vectors.Mul(s.work, inner, inner)
		vectors.Sub(s.quadratic, s.quadratic, s.work)
		vectors.MulScalar(s.work, inner, s.projected[a])
		vectors.Sub(s.linear, s.linear, s.work)
	}
	precision := math.Exp(-2 * s.logSigma)
	vectors.MulScalar(s.quadratic, s.quadratic, precision)
	vectors.MulScalar(s.linear, s.linear, precision)
	return true
}

func (s *birthState) flip(c int) {
	s.factorise(s.logSigma)
	k := len(s.members)
	weights := slices.Grow(s.projected[:0], k)[:k]
	for a, row := range s.rowsOf {
		weights[a] = row[c]
	}
	s.projected = weights
	s.factor.Solve(weights)
	sign := 1.0
	if s.memberIndex[c] < 0 {
		copy(s.other, s.products(c))
	} else {
		sign = -1
		copy(s.other, s.rowsOf[s.memberIndex[c]])
	}
	for a, row := range s.rowsOf { // x'V⁻¹ of this column with all columns
		vectors.MulScalar(s.work, row, weights[a])
		vectors.Sub(s.other, s.other, s.work)
	}
	vectors.MulScalar(s.other, s.other, math.Exp(-2*s.logSigma))
	along, grown := s.linear[c], 1+s.slab*s.other[c]
	if sign < 0 {
		along, grown = s.ofMember(s.memberIndex[c])
	}
	if grown < leastGrown {
		s.leave(c)
		s.refresh()
		return
	}
	gain := sign * s.slab / grown
	s.logEvidence += 0.5*gain*along*along - 0.5*math.Log(grown)
	vectors.MulScalar(s.work, s.other, gain*along)
	vectors.Sub(s.linear, s.linear, s.work)
	vectors.Mul(s.other, s.other, s.other)
	vectors.MulScalar(s.other, s.other, gain)
	vectors.Sub(s.quadratic, s.quadratic, s.other)
	if sign > 0 {
		s.join(c)
	} else {
		s.leave(c)
	}
}

// ofMember returns x'V⁻¹y of a member x, and 1 − s² x'V⁻¹x, without loss of the digits that the
// difference would lose. With M the inverse of X'X + σ²/s² over the members, they are the member's
// entry of M X'y divided by s², and its diagonal entry of M times σ²/s². factor must be the factor
// for the present members.
func (s *birthState) ofMember(at int) (along, grown float64) {
	k := len(s.members)
	unit, all := make([]float64, k), make([]float64, k)
	unit[at] = 1
	for a, c := range s.members {
		all[a] = s.births.along[c]
	}
	s.factor.SolveLower(unit)
	s.factor.Solve(all)
	return all[at] / s.slab, floats.Dot(unit, unit) * math.Exp(2*s.logSigma) / s.slab
}
