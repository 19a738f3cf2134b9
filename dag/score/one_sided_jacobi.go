package score

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// triangulate replaces columns [k][m], m ≥ k, by those of R in X = QR, by Householder reflections.
// Each column keeps its own relative precision, whatever the scales of the others.
func triangulate(columns [][]float64) {
	for k, column := range columns {
		part := column[k:]
		size := floats.Norm(part, 2)
		if size == 0 {
			continue
		}
		if part[0] > 0 {
			size = -size // no cancellation in the first entry of the reflector
		}
		part[0] -= size
		length := floats.Dot(part, part)
		for _, other := range columns[k+1:] {
			floats.AddScaled(other[k:], -2*floats.Dot(part, other[k:])/length, part)
		}
		clear(part)
		part[0] = size
	}
}

// singularDirection is a singular value of a matrix, 0 for a direction that its columns do not span
// but by rounding, with the right singular vector.
type singularDirection struct {
	size  float64
	right []float64
}

// Settings of orthogonalize. Few matrices need more than 10 sweeps (Demmel and Veselić 1992).
const (
	mostSweeps = 60
	orthogonal = 1e-15 // cosine of columns that are orthogonal
)

// orthogonalize turns the columns of a square matrix into UΣ by rotations of pairs of them, and
// returns Σ and V: one-sided Jacobi, whose singular values keep their relative precision where
// columns differ in scale by any factor (Demmel and Veselić 1992, section 3).
func orthogonalize(columns [][]float64) []singularDirection {
	out := make([]singularDirection, len(columns))
	sizes := make([]float64, len(columns)) // before
	for k := range out {
		out[k].right = make([]float64, len(columns))
		out[k].right[k] = 1
		sizes[k] = floats.Norm(columns[k], 2)
	}
	for sweep, turned := 0, true; turned && sweep < mostSweeps; sweep++ {
		turned = false
		for a := range columns {
			for b := range a {
				turned = rotate(columns[a], columns[b], out[a].right, out[b].right) || turned
			}
		}
	}
	for k := range out {
		out[k].size = floats.Norm(columns[k], 2)
		rounding := 0.0 // of the sum that made the column
		for i, x := range out[k].right {
			rounding += math.Abs(x) * sizes[i]
		}
		if out[k].size <= float64(len(columns))*rounding/(1<<52) {
			out[k].size = 0
		}
	}
	return out
}

// rotate makes two columns orthogonal, and reports whether they were not.
func rotate(a, b, rightA, rightB []float64) bool {
	sizeA, sizeB := floats.Norm(a, 2), floats.Norm(b, 2)
	if sizeA == 0 || sizeB == 0 {
		return false
	}
	cosine := floats.Dot(a, b) / sizeA / sizeB
	if !(math.Abs(cosine) > orthogonal) {
		return false
	}
	// tan of the angle is the smaller root of t² + 2ζt − 1 = 0 with ζ = (|b|² − |a|²)/2aᵀb.
	zeta := (sizeB/sizeA - sizeA/sizeB) / (2 * cosine)
	tangent := 1 / (math.Abs(zeta) + math.Sqrt(1+zeta*zeta))
	if zeta < 0 {
		tangent = -tangent
	}
	c := 1 / math.Sqrt(1+tangent*tangent)
	s := c * tangent
	for _, pair := range [...][2][]float64{{a, b}, {rightA, rightB}} {
		for i, x := range pair[0] {
			y := pair[1][i]
			pair[0][i], pair[1][i] = c*x-s*y, s*x+c*y
		}
	}
	return true
}
