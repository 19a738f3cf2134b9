package regression

import (
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti/internal/sparse"
	"github.com/transdim/vti/internal/stream"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// conditional is the distribution of all effects given the hyperparameters of a model. The symbols
// are explained at jointEffects.
type conditional struct {
	e    *jointEffects
	mean []float64 // prior means μ of the population effects
	sd   []float64 // prior standard deviations of population effects; 0 if absent
	// For a population effect a, column a of F has the entries sd[a] to sd[until[a]−1], in rows a
	// to until[a]−1. Only a monotonic effect has more entries than sd[a]: its first column has the
	// scales of all steps, and its other columns have no entry.
	until   []int
	shares  []float64     // shares of the steps of monotonic effects
	factors [][][]float64 // Λ of each grouping, row by row
	columns [][][]float64 // columns of Λ of each grouping, from the diagonal on
	sigma   float64
	factor  *sparse.Factor
	centre  []float64 // v̂, the mean of v
	// logDensity is log p(y | h, m) of the standardised response.
	logDensity float64
	// rounding is the approximate rounding error of logDensity.
	rounding float64
}

// cancelled is the largest tolerated rounding error of a residual sum of squares that is computed
// as a difference of sums over all rows. It is far below the error of a log density.
const cancelled = 1e-9

// solve finds the mean v̂ of the standardised effects v (see jointEffects for all symbols). It
// returns the sum of squares
//
//	|y − D (μ + F v̂)|² / σ² + |v̂|² = |y − D μ|² / σ² − v̂ᵀ P v̂.
//
// If μ is zero, the right side needs no sum over rows. If the right side would lose digits, because
// its terms or largest, the largest entry of P, are large, the left side is summed over rows.
func (c *conditional) solve(largest float64) (squares float64) {
	const epsilon = 0x1p-52 // the spacing of numbers near 1 in double precision
	e, precision := c.e, 1/(c.sigma*c.sigma)
	products, whole := e.products, e.square
	if slices.ContainsFunc(c.mean, func(mean float64) bool { return mean != 0 }) {
		left := c.residuals(make([]float64, e.effects))
		products, whole = e.productsWith(left), dot(left, left)
	}
	right := c.transposed(products)
	floats.Scale(precision, right)
	c.centre = c.factor.Solve(right)
	whole *= precision
	length := dot(c.centre, c.centre)
	if epsilon*(whole+largest*length) < cancelled {
		return whole - dot(right, c.centre)
	}
	left := c.residuals(c.effectsOf(c.centre))
	return dot(left, left)*precision + length
}

// residuals returns y − D (μ + b) for effects b less their prior mean.
func (c *conditional) residuals(b []float64) []float64 {
	left := slices.Clone(c.e.r.y)
	floats.Sub(left, c.predictor(b))
	return left
}

// leastSquares returns the matrix [A c] of the least squares problem in v (see jointEffects for the
// symbols) with |c − A v|² equal to |y − D (μ + F v)|² / σ² + |v|².
func (c *conditional) leastSquares() *mat.Dense {
	e := c.e
	rest := c.residuals(make([]float64, e.effects))
	n := len(e.rows)
	rows := mat.NewDense(n+e.effects, e.effects+1, nil)
	design := make([]float64, e.effects)
	for i, blocks := range e.rows {
		clear(design)
		for k, b := range blocks {
			copy(design[e.blocks[b].first:], e.designs[i][k])
		}
		row := rows.RawRowView(i)
		copy(row, c.transposed(design))
		row[e.effects] = rest[i]
		floats.Scale(1/c.sigma, row)
	}
	for k := range e.effects {
		rows.Set(n+k, k, 1)
	}
	return rows
}

// precision writes to dst the block of P in jointEffects that belongs to the block p of DᵀD, for
// the precision 1/σ² of the noise. It returns its working memory, for the next call.
func (c *conditional) precision(p gramBlock, precision float64, dst, work []float64) []float64 {
	i, j := c.e.blocks[p.i], c.e.blocks[p.j]
	work = slices.Grow(work[:0], i.size*j.size)[:i.size*j.size]
	for a := range i.size { // the product DᵀD F
		for b := range j.size {
			work[a*j.size+b] = dot(c.column(j, b), p.gram[a*j.size+b:])
		}
	}
	at := 0
	for a := range i.size { // the block of Fᵀ DᵀD F / σ² + I
		for b := range j.size {
			if p.i == p.j && b > a {
				break
			}
			sum := 0.0
			for k, scale := range c.column(i, a) {
				sum += scale * work[(a+k)*j.size+b]
			}
			dst[at] = sum * precision
			if p.i == p.j && a == b {
				dst[at]++
			}
			at++
		}
	}
	return work
}

// column returns the entries of column a of a block of F, from the diagonal on.
func (c *conditional) column(block effectBlock, a int) []float64 {
	if block.group < 0 {
		return c.sd[block.first+a : c.until[block.first+a]]
	}
	return c.columns[block.group][a]
}

func (c *conditional) transposed(x []float64) []float64 {
	y := make([]float64, len(x))
	for _, block := range c.e.blocks {
		for a := range block.size {
			y[block.first+a] = dot(c.column(block, a), x[block.first+a:])
		}
	}
	return y
}

// effectsOf returns the effects less their prior mean, F v in jointEffects.
func (c *conditional) effectsOf(v []float64) []float64 {
	b := make([]float64, len(v))
	for _, block := range c.e.blocks {
		for a := range block.size {
			at := block.first + a
			for k, scale := range c.column(block, a) {
				b[at+k] += scale * v[at]
			}
		}
	}
	return b
}

// standard returns F⁻¹ b for effects b, the inverse of effectsOf; 0 for effects that the model
// lacks.
func (c *conditional) standard(b []float64) []float64 {
	v, rest := make([]float64, len(b)), slices.Clone(b)
	for _, block := range c.e.blocks {
		for a := range block.size {
			at, column, pivot := block.first+a, c.column(block, a), 0
			if block.group < 0 && len(column) > 1 {
				pivot = floats.MaxIdx(column) // the largest entry gives most digits of v
			}
			if len(column) > 0 && column[pivot] > 0 {
				v[at] = rest[at+pivot] / column[pivot]
			}
			for k, scale := range column {
				rest[at+k] -= scale * v[at]
			}
		}
	}
	return v
}

// draw draws all effects, less the prior mean.
func (c *conditional) draw(random *rand.Rand) []float64 {
	v := c.factor.Spread(stream.Normals(random, c.e.effects))
	floats.Add(v, c.centre)
	return c.effectsOf(v)
}

// predictor returns the linear predictors [M·n] of the rows, given effects less their prior mean.
func (c *conditional) predictor(effects []float64) []float64 {
	r, n := c.e.r, len(c.e.rows)
	columns := len(r.Frame.Columns)
	eta := make([]float64, r.planes*n)
	copy(eta, r.offset)
	for m := range r.planes {
		for i, blocks := range c.e.rows {
			at := m*n + i
			for j, mean := range c.mean[m*columns:][:columns] {
				if mean != 0 {
					eta[at] += r.x.At(i, j) * mean
				}
			}
			for k, b := range blocks {
				eta[at] += dot(c.e.designs[i][k], effects[c.e.blocks[b+m].first:])
			}
		}
	}
	return eta
}
