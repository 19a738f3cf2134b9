package hard

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/line"
	"github.com/transdim/vti/internal/mode"
)

// mostDirections is the largest number of directions, and hermiteNodes the number of nodes in each,
// of integrals over the coefficients of a block.
const (
	mostDirections = 2
	hermiteNodes   = 16
)

// rowBlocks returns the exact posterior under a concave log likelihood if the predictors are in
// blocks whose columns are zero in the rows of other blocks. The common number is the intercept.
func (p *regressionProblem) rowBlocks(row rowDensity) (*exactPosterior, error) {
	n, _ := p.x.Dims()
	if len(p.always) != 1 || p.level != nil {
		return nil, fmt.Errorf("blocks: got %d coefficients in every model, want an intercept only", len(p.always))
	}
	intercept := p.always[0]
	rows := apply.UpTo(len(p.priorSD), func(j int) []int { // rows in which a column is not zero
		return apply.Where(n, func(i int) bool { return math.Abs(p.x.At(i, j)) > orthogonal })
	})
	blocks, err := p.blocksOf(func(a, b int) bool {
		return slices.ContainsFunc(rows[a], func(i int) bool { _, in := slices.BinarySearch(rows[b], i); return in })
	})
	if err != nil {
		return nil, err
	}
	inBlock := apply.To(blocks, func(block []int) []int {
		return apply.Where(n, func(i int) bool {
			return slices.ContainsFunc(p.columns(block), func(j int) bool { return slices.Contains(rows[j], i) })
		})
	})
	outside := apply.Where(n, func(i int) bool {
		return !slices.ContainsFunc(inBlock, func(rows []int) bool { return slices.Contains(rows, i) })
	})
	eta := func(i int, x float64) float64 {
		if p.offset != nil {
			x += p.offset[i]
		}
		return x
	}
	b, err := p.newBlockwise(blocks, func(x float64) float64 {
		sum := logNormal(x, p.priorMean[intercept], p.priorSD[intercept])
		for _, i := range outside {
			value, _, _ := row(p.y[i], eta(i, x))
			sum += value
		}
		return sum
	}, func(k int, predictors []int) (func(float64) (modelMoments, error), error) {
		c, err := p.projected(inBlock[k], p.columns(predictors))
		return func(x float64) (modelMoments, error) {
			return c.integrate(row, func(i int) float64 { return eta(i, x) })
		}, err
	})
	if err != nil {
		return nil, err
	}
	peak, axes, err := p.laplace(p.always, row)
	if err != nil {
		return nil, err
	}
	width := math.Abs(axes.At(0, 0)) // standard deviation of the Laplace approximation without predictors
	o := line.Options{From: peak[0] - 3*width, To: peak[0] + 3*width, Step: width, Depth: 16, Tolerance: 1e-3}
	return b.posterior(over(o, b.given, nil))
}

// projected is a model of a block of rows. The linear predictor depends on coefficients θ in a few
// directions only: with prior standard deviations T, the singular values X T = U D Vᵀ give
// η = U D z, and θ = T (V z + (I − V Vᵀ) w), where z and w are independent and standard normal.
type projected struct {
	p       *regressionProblem
	rows    []int
	columns []int
	along   *mat.Dense // U D [rows, directions]
	v       mat.Dense
	outside []float64 // diagonal of I − V Vᵀ
}

func (p *regressionProblem) projected(rows, columns []int) (*projected, error) {
	c := &projected{p: p, rows: rows, columns: columns}
	if len(columns) == 0 {
		return c, nil
	}
	scaled := mat.NewDense(len(rows), len(columns), nil)
	scaled.Apply(func(i, a int, _ float64) float64 { return p.x.At(rows[i], columns[a]) * p.priorSD[columns[a]] }, scaled)
	var svd mat.SVD
	if !svd.Factorize(scaled, mat.SVDThin) {
		return nil, errors.New("blocks: the singular values did not converge")
	}
	singular := svd.Values(nil)
	directions := 0
	for directions < len(singular) && singular[directions] > orthogonal*singular[0] {
		directions++
	}
	if directions > mostDirections {
		return nil, fmt.Errorf("blocks: %d columns have %d directions, want at most %d", len(columns), directions, mostDirections)
	}
	var u, v mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	c.along = mat.NewDense(len(rows), directions, nil)
	c.along.Apply(func(i, d int, _ float64) float64 { return u.At(i, d) * singular[d] }, c.along)
	c.v.CloneFrom(v.Slice(0, len(columns), 0, directions))
	for a := range columns {
		row := c.v.RawRowView(a)
		c.outside = append(c.outside, math.Max(0, 1-floats.Dot(row, row)))
	}
	return c, nil
}

// logPosterior returns log p(y, z) of the rows, where offset is the linear predictor of a row
// without the block. It adds to gradient and curvature unless they are nil.
func (c *projected) logPosterior(row rowDensity, offset func(i int) float64, z, gradient, curvature []float64) float64 {
	k, sum := len(z), 0.0
	for d, v := range z {
		sum += logNormal(v, 0, 1)
		if gradient != nil {
			gradient[d] -= v
			curvature[d*k+d]++
		}
	}
	for at, i := range c.rows {
		x := c.along.RawRowView(at)
		value, slope, bend := row(c.p.y[i], offset(i)+floats.Dot(x, z))
		sum += value
		if gradient == nil {
			continue
		}
		for d := range z {
			gradient[d] += slope * x[d]
			for e := range d + 1 {
				curvature[d*k+e] += bend * x[d] * x[e]
			}
		}
	}
	return sum
}

// integrate returns the log evidence of the rows given offset, the linear predictor of a row
// without the block, and the moments of the coefficients. It uses Gauss-Hermite quadrature along
// the axes of the Laplace approximation.
func (c *projected) integrate(row rowDensity, offset func(i int) float64) (modelMoments, error) {
	if len(c.columns) == 0 {
		sum := 0.0
		for _, i := range c.rows {
			value, _, _ := row(c.p.y[i], offset(i))
			sum += value
		}
		return modelMoments{logEvidence: sum}, nil
	}
	_, k := c.along.Dims()
	z := make([]float64, k)
	found, curvature := mode.Find(z, mode.Density{
		Value:  func(z []float64) float64 { return c.logPosterior(row, offset, z, nil, nil) },
		Expand: func(z, gradient, curvature []float64) { c.logPosterior(row, offset, z, gradient, curvature) },
	}, mode.Options{Steps: 500})
	if !(found.Decrement <= mode.Hidden) {
		return modelMoments{}, fmt.Errorf("blocks: no mode was found in %d steps", found.Steps)
	}
	axes := axesOf(curvature)
	logJacobian := 0.0
	for d := range k {
		logJacobian += math.Log(math.Abs(axes.At(d, d)))
	}
	nodes, weights := make([]float64, hermiteNodes), make([]float64, hermiteNodes)
	quad.Hermite{}.FixedLocations(nodes, weights, math.Inf(-1), math.Inf(1))
	count := 1
	for range k {
		count *= hermiteNodes
	}
	terms, points := make([]float64, count), make([][]float64, count)
	for t := range terms {
		point := append([]float64(nil), z...)
		terms[t] = logJacobian
		for d, rest := 0, t; d < k; d, rest = d+1, rest/hermiteNodes {
			at := rest % hermiteNodes
			terms[t] += math.Log(weights[at]) + nodes[at]*nodes[at] + math.Ln2/2
			for b := range point {
				point[b] += axes.At(b, d) * math.Sqrt2 * nodes[at]
			}
		}
		terms[t] += c.logPosterior(row, offset, point, nil, nil)
		points[t] = point
	}
	out := modelMoments{logEvidence: floats.LogSumExp(terms)}
	_, out.mean, out.variance = averages(terms, len(c.columns), func(t int, add func(at int, mean, variance float64)) {
		for a, j := range c.columns {
			sd := c.p.priorSD[j]
			add(a, c.p.priorMean[j]+sd*floats.Dot(c.v.RawRowView(a), points[t]), sd*sd*c.outside[a])
		}
	})
	return out, nil
}
