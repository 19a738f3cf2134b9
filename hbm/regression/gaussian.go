package regression

import (
	"math"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/dense"
	"github.com/transdim/vti/internal/rank"
)

// grouped is a sufficient statistic of rows with normal noise. It takes the QR decomposition of
// [Z_j V_j y_j] for the rows of each group j, where Z_j holds the q varying columns of the
// grouping, V_j the columns of [Regression.wide] with the coefficients w, and y_j the response. The
// first q rows of the factor R depend on the effects b_j of the group,
//
//	e_j = R^y_j − R^v_j w = R^z_j b_j + noise,   so that e_j ~ N(0, σ² I + R^z_j Σ R^z_jᵀ),
//
// where σ is the noise and Σ the covariance of b_j. The remaining rows of all groups depend on no
// effect of the grouping, and a second decomposition compresses them. The cost of a density does
// not depend on the number of rows.
type grouped struct {
	levels, q, width int
	z                [][]float64 // R^z: entry [a*q+c] has a number for each level
	v                []*mat.Dense
	y                [][]float64
	// The remaining rows have the residuals rest − restV w. residual is the part of their sum of
	// squares that does not depend on w, and rows their number.
	restV    *mat.Dense
	rest     []float64
	residual float64
	rows     int
}

// newGrouped compresses y, the columns v of [Regression.wide], and the varying columns of the
// grouping g. v is nil without columns, and g nil without a grouping.
func newGrouped(y []float64, v *mat.Dense, g *varyingGroup) *grouped {
	n, width := len(y), 0
	if v != nil {
		_, width = v.Dims()
	}
	d := &grouped{width: width, rows: n}
	var members [][]int
	if g == nil {
		members = [][]int{rank.UpTo(n)}
	} else {
		d.levels, d.q, members = len(g.Levels), len(g.Columns), g.Rows()
		d.rows -= d.levels * d.q
		zeros := func(int) []float64 { return make([]float64, d.levels) }
		d.y, d.z = apply.UpTo(d.q, zeros), apply.UpTo(d.q*d.q, zeros)
		d.v = apply.UpTo(d.q, func(int) *mat.Dense { return mat.NewDense(d.levels, max(width, 1), nil) })
	}
	q := d.q
	var rest []float64 // rows of [V y]
	for level, rows := range members {
		triangle := d.triangle(rows, y, v, g)
		for i := range min(len(rows), q+width+1) {
			row := triangle.RawRowView(i)
			if i >= q {
				rest = append(rest, row[q:]...)
				continue
			}
			for c := range q {
				d.z[i*q+c][level] = row[c]
			}
			for k := range width {
				d.v[i].Set(level, k, row[q+k])
			}
			d.y[i][level] = row[q+width]
		}
	}
	d.compressRest(rest)
	return d
}

// triangle returns the factor R of the QR decomposition of some rows of [Z V y].
func (d *grouped) triangle(rows []int, y []float64, v *mat.Dense, g *varyingGroup) *mat.Dense {
	columns := d.q + d.width + 1
	block := mat.NewDense(max(len(rows), columns), columns, nil) // zeros do not change the factor
	for k, i := range rows {
		row := block.RawRowView(k)
		for c := range d.q {
			row[c] = g.z.At(i, c)
		}
		for c := range d.width {
			row[d.q+c] = v.At(i, c)
		}
		row[columns-1] = y[i]
	}
	return dense.R(block)
}

// compressRest reduces rows of [V y] to at most the number of columns.
func (d *grouped) compressRest(rest []float64) {
	columns := d.width + 1
	count := len(rest) / columns
	block := mat.NewDense(max(count, columns), columns, nil)
	copy(block.RawMatrix().Data, rest)
	r := dense.R(block)
	d.restV, d.rest = mat.NewDense(max(d.width, 1), max(d.width, 1), nil), make([]float64, max(d.width, 1))
	d.restV.Copy(r) // its first rows and columns
	copy(d.rest, mat.Col(nil, d.width, r)[:d.width])
	d.residual = r.At(d.width, d.width) * r.At(d.width, d.width)
}

// logDensity is the gaussian likelihood; see groupedLikelihood.
func (l *grouped) logDensity(w *Node, factor [][]*Node, logNoise *Node) *Node {
	variance := Exp(MulScalar(logNoise, 2)) // [draws, 1]
	squares := Reshape(MulScalar(ZerosLike(logNoise), 0), -1)
	if w != nil {
		fitted := Einsum("bw,kw->bk", w, table2(w, l.restV.RawMatrix().Data, l.width, l.width))
		squares = ReduceSum(Square(Sub(fitted, vector(w, l.rest))), -1)
	}
	total := MulScalar(Div(AddScalar(squares, l.residual), Reshape(variance, -1)), -0.5)
	total = Sub(total, MulScalar(AddScalar(Reshape(logNoise, -1), halfLog2Pi), float64(l.rows)))
	if l.q == 0 {
		return total
	}
	like := logNoise
	errors := make([]*Node, l.q) // e [draws, levels]
	for a := range errors {
		errors[a] = vector(like, l.y[a])
		if w != nil {
			errors[a] = Sub(errors[a], Einsum("bw,jw->bj", w, table2(w, l.v[a].RawMatrix().Data, l.levels, l.width)))
		}
	}
	// R^z Λ, for the Cholesky factor Λ of Σ; R^z Λ (R^z Λ)ᵀ is the covariance without noise
	spread := make([][]*Node, l.q)
	for a := range spread {
		spread[a] = make([]*Node, l.q)
		for c := range l.q {
			for k := c; k < l.q; k++ { // Λ is lower triangular
				if factor[k][c] != nil {
					spread[a][c] = addTo(spread[a][c], Mul(vector(like, l.z[a*l.q+k]), factor[k][c]))
				}
			}
		}
	}
	covariance := make([][]*Node, l.q)
	for a := range covariance {
		covariance[a] = make([]*Node, l.q)
		for b := range a + 1 {
			var sum *Node
			for c := range l.q {
				sum = addTo(sum, Mul(spread[a][c], spread[b][c]))
			}
			if a == b {
				sum = Add(sum, variance)
			}
			covariance[a][b] = sum
		}
	}
	logDiagonal, white, _ := whiten(covariance, errors)
	each := AddScalar(logDiagonal, float64(l.q)*halfLog2Pi) // [draws, levels]
	for _, x := range white {
		each = Add(each, MulScalar(Square(x), 0.5))
	}
	return Sub(total, ReduceSum(BroadcastToDims(each, logNoise.Shape().Dim(0), l.levels), -1))
}

// whiten computes the Cholesky factor L of covariances C = L Lᵀ of short vectors x. The entries of
// C and x are nodes [B, J], so that one call serves all draws and levels. It returns Σ_a log L_aa,
// the entries of L⁻¹ x, and L.
func whiten(covariance [][]*Node, x []*Node) (logDiagonal *Node, white []*Node, l [][]*Node) {
	l = make([][]*Node, len(x))
	for a := range x {
		l[a] = make([]*Node, a+1)
		for b := range a + 1 {
			sum := covariance[a][b]
			for c := range b {
				sum = Sub(sum, Mul(l[a][c], l[b][c]))
			}
			if a == b {
				l[a][a] = Sqrt(MaxScalar(sum, math.SmallestNonzeroFloat32))
			} else {
				l[a][b] = Div(sum, l[b][b])
			}
		}
		rest := x[a]
		for b := range a {
			rest = Sub(rest, Mul(l[a][b], white[b]))
		}
		white = append(white, Div(rest, l[a][a]))
		logDiagonal = addTo(logDiagonal, Log(l[a][a]))
	}
	return logDiagonal, white, l
}

// wide returns the columns whose coefficients are w: the columns of the population, and a column
// for each level and varying column of the outer groupings; nil without columns.
func (r *Regression) wide() *mat.Dense {
	width := 0
	if r.x != nil {
		_, width = r.x.Dims()
	}
	for _, g := range r.groups {
		if g != r.inner {
			width += r.effects(g)
		}
	}
	if width == 0 {
		return nil
	}
	v := mat.NewDense(len(r.y), width, nil)
	at := 0
	if r.x != nil {
		_, at = r.x.Dims()
		v.Slice(0, len(r.y), 0, at).(*mat.Dense).Copy(r.x)
	}
	for _, g := range r.groups {
		if g == r.inner {
			continue
		}
		for c := range g.Columns {
			for i, level := range g.Index {
				v.Set(i, at+level, g.z.At(i, c))
			}
			at += len(g.Levels)
		}
	}
	return v
}
