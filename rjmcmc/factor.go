package rjmcmc

import "math"

// factor is a lower Cholesky factor L [n*n], row-major, with reciprocals on its diagonal: systems
// multiply by them one after the other, where each would wait for a division. What lies above the
// diagonal is not read.
type factor []float64

// cholesky turns the lower triangle of the n × n row-major a into its factor; false when a is not
// positive definite. Pivots below 1e-10 of their diagonal entry count as zero.
func cholesky(a []float64, n int) bool {
	for i := range n {
		row := a[i*n : i*n+i+1]
		for j := range i {
			row[j] = (row[j] - dot(row[:j], a[j*n:])) * a[j*n+j]
		}
		v := row[i] - dot(row[:i], row)
		if !(v > 1e-10*row[i]) {
			return false
		}
		row[i] = 1 / math.Sqrt(v)
	}
	return true
}

// dot is Σ a_i b_i over the elements of a, in four sums that do not wait for each other: vectors
// are too short for more.
func dot(a, b []float64) float64 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float64
	for ; len(a) >= 4 && len(b) >= 4; a, b = a[4:], b[4:] {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
	}
	for i, v := range a {
		s0 += v * b[i]
	}
	return (s0 + s1) + (s2 + s3)
}

// solveLower replaces x by L⁻¹ x.
func (l factor) solveLower(x []float64) {
	n := len(x)
	for i := range x {
		x[i] = (x[i] - dot(x[:i], l[i*n:])) * l[i*n+i]
	}
}

// solveUpper replaces x by L⁻ᵀ x, by rows of L: they are what lies together.
func (l factor) solveUpper(x []float64) {
	n := len(x)
	for i := n - 1; i >= 0; i-- {
		row := l[i*n : i*n+i+1]
		v := x[i] * row[i]
		x[i] = v
		left := x[:i]
		for k := range left {
			left[k] -= row[k] * v
		}
	}
}

// multiplyUpper replaces x by Lᵀ x.
func (l factor) multiplyUpper(x []float64) {
	n := len(x)
	for i := range x {
		row, v := l[i*n:i*n+i+1], x[i]
		for k := range i {
			x[k] += row[k] * v
		}
		x[i] = v / row[i]
	}
}

// multiplyLower replaces x by L x.
func (l factor) multiplyLower(x []float64) {
	n := len(x)
	for i := n - 1; i >= 0; i-- {
		x[i] = x[i]/l[i*n+i] + dot(x[:i], l[i*n:])
	}
}

// logDet is log |L|, of which L has n rows. Entries of the diagonal are roots, so that products of
// two are finite.
func (l factor) logDet(n int) (sum float64) {
	for i := 0; i+1 < n; i += 2 {
		sum -= math.Log(l[i*n+i] * l[(i+1)*n+i+1])
	}
	if n%2 == 1 {
		sum -= math.Log(l[n*n-1])
	}
	return sum
}
