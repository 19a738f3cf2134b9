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
func (p *birthProcess) factorise(logSigma float64) (ok bool) {
	k := len(p.members)
	triangle := slices.Grow(p.triangle[:0], k*k)[:k*k]
	noise := math.Exp(2 * logSigma)
	for a, c := range p.members {
		for e := range a + 1 {
			triangle[a*k+e] = p.rowsOf[a][p.members[e]]
		}
		triangle[a*k+a] += noise / p.variance(c)
	}
	p.triangle = triangle
	p.factor, ok = dense.Factorize(triangle, k, 0)
	return ok
}

// evidenceAt returns log p(y | m, σ), or −Inf if rounding makes the normal equations indefinite. It
// sets projected to L⁻¹X'y, where L is the Cholesky factor of the normal equations.
func (p *birthProcess) evidenceAt(logSigma float64) float64 {
	if !p.factorise(logSigma) {
		return math.Inf(-1)
	}
	k := len(p.members)
	p.projected = slices.Grow(p.projected[:0], k)[:k]
	for a, c := range p.members {
		p.projected[a] = p.along[c]
	}
	p.factor.SolveLower(p.projected)
	rest, logDet := p.size, p.factor.LogDet()
	for a, v := range p.projected {
		rest -= v * v
		logDet += math.Log(p.variance(p.members[a])) - 2*logSigma
	}
	if p.target.Scale >= 0 { // a negative sum of squares is a rounding error
		rest = max(rest, 0)
	}
	return -p.total*(logSigma+halfLog2Pi) - 0.5*logDet - 0.5*rest*math.Exp(-2*logSigma)
}

// refresh computes all fields anew from the model and σ. It returns false if the evidence is not
// finite.
func (p *birthProcess) refresh() bool {
	p.logEvidence = p.evidenceAt(p.logSigma)
	if math.IsInf(p.logEvidence, -1) || math.IsNaN(p.logEvidence) {
		return false
	}
	precision, count := math.Exp(-2*p.logSigma), len(p.columns)
	grown, linear := p.grown, p.linear
	p.inner = resized(p.inner, count*len(p.members))
	vectors.MulScalar(grown, p.norms, p.slab*precision)
	vectors.AddScalar(grown, grown, 1)
	vectors.MulScalar(linear, p.along, precision)
	for a, from := range p.rowsOf { // row a of L⁻¹X'X
		to := p.inner[a*count : (a+1)*count]
		for e := range a {
			vectors.AddScaled(to, from, p.inner[e*count:(e+1)*count], -p.factor.At(a, e))
			from = to
		}
		vectors.MulScalar(to, from, 1/p.factor.At(a, a))
		vectors.Mul(p.work, to, to)
		vectors.AddScaled(grown, grown, p.work, -p.slab*precision)
		vectors.AddScaled(linear, linear, to, -p.projected[a]*precision)
	}
	return true
}

// flip removes column c from the model if it is a member, and adds it otherwise.
func (p *birthProcess) flip(c int) {
	precise := true
	if c != p.flipped {
		p.before.rated, precise = false, p.update(c, p.before)
		p.flipped = c
	}
	p.modelOdds, p.before = p.before, p.modelOdds
	if p.memberIndex[c] < 0 {
		p.join(c)
	} else {
		p.leave(c)
	}
	if !precise {
		p.refresh()
	}
}

// update sets the argument to to the odds of the model that differs in column c. It returns false,
// and computes nothing, if rounding errors would be too large.
func (p *birthProcess) update(c int, to *modelOdds) (precise bool) {
	p.factorise(p.logSigma)
	k := len(p.members)
	weights := slices.Grow(p.projected[:0], k)[:k]
	for a, row := range p.rowsOf {
		weights[a] = row[c]
	}
	p.projected = weights
	p.factor.Solve(weights)
	precision, at := math.Exp(-2*p.logSigma), p.memberIndex[c]
	var row []float64
	var along, grown float64
	sign := 1.0
	if at < 0 {
		row, along, grown = p.rowOf(c), p.linear[c], p.norms[c]
		for a, other := range p.rowsOf {
			grown -= weights[a] * other[c]
		}
		grown = 1 + p.slab*precision*max(grown, 0) // negative only by rounding
	} else {
		sign, row = -1, p.rowsOf[at]
		along, grown = p.ofMember(at)
	}
	if grown < leastGrown {
		return false
	}
	gain := sign * p.slab / grown
	to.logEvidence = p.logEvidence + 0.5*gain*along*along - 0.5*math.Log(grown)
	// the inner products of σ² V⁻¹x, where x is column c, with all columns
	for a, member := range p.rowsOf {
		vectors.AddScaled(p.other, row, member, -weights[a])
		row = p.other
	}
	vectors.AddScaled(to.linear, p.linear, row, -gain*along*precision)
	vectors.Mul(p.other, row, row)
	vectors.AddScaled(to.grown, p.grown, p.other, -gain*p.slab*precision*precision)
	return true
}

// ofMember returns x'V⁻¹y and 1 − s² x'V⁻¹x for the column x of a member of the model, without the
// cancellation of the difference. With M the inverse of the normal equations (factorise), they are
// the member's entry of M X'y divided by s², and its diagonal entry of M times σ²/s². factor must
// be the Cholesky factor for the present members.
func (p *birthProcess) ofMember(at int) (along, grown float64) {
	k := len(p.members)
	unit, all := make([]float64, k), make([]float64, k)
	unit[at] = 1
	for a, c := range p.members {
		all[a] = p.along[c]
	}
	p.factor.SolveLower(unit)
	p.factor.Solve(all)
	return all[at] / p.slab, floats.Dot(unit, unit) * math.Exp(2*p.logSigma) / p.slab
}
