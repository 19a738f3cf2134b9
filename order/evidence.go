package order

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/stream"
)

// fit is one order with its closed forms.
type fit struct {
	order int
	// logEvidence is relative to order 0.
	logEvidence float64
	estimate    *mat.VecDense // least squares, [order]
	factor      mat.Cholesky  // of XᵀX
	rest        float64       // of the scale of σ²: twice the rate of its inverse gamma posterior
	mean        float64       // of the response
}

// fits are all orders.
func (p *Problem) fits() ([]*fit, error) {
	n, most := p.x.Dims()
	mean := stat.Mean(p.y, nil)
	centred := mat.NewVecDense(n, nil)
	total := 0.0
	for i, y := range p.y {
		centred.SetVec(i, y-mean)
		total += (y - mean) * (y - mean)
	}
	fits := []*fit{{rest: total, mean: mean}}
	for order := 1; order <= most; order++ {
		x := p.x.Slice(0, n, 0, order)
		f := &fit{order: order, mean: mean, estimate: mat.NewVecDense(order, nil)}
		var gram mat.Dense
		gram.Mul(x.T(), x)
		sym := mat.NewSymDense(order, nil)
		for i := range order {
			for j := i; j < order; j++ {
				sym.SetSym(i, j, gram.At(i, j))
			}
		}
		if !f.factor.Factorize(sym) {
			return nil, errExact
		}
		var product mat.VecDense
		product.MulVec(x.T(), centred)
		if err := f.factor.SolveVecTo(f.estimate, &product); err != nil {
			return nil, errExact // columns are combinations of others: the series repeats itself
		}
		explained := mat.Dot(f.estimate, &product)
		if !(explained < total*(1-variance)) || (total-explained)/total < 1e-14 {
			return nil, errExact
		}
		f.logEvidence = logBeta(explained/total, order, n)
		f.rest = total - explained*float64(n)/float64(n+1)
		fits = append(fits, f)
	}
	return fits, nil
}

// draw draws coefficients, intercept (at the means of the columns) and σ from their posterior.
func (f *fit) draw(n int, random *rand.Rand) (coefficients []float64, intercept, sigma float64, err error) {
	sigma = math.Sqrt(f.rest / 2 / stream.Gamma(float64(n-1)/2, random))
	intercept = f.mean + sigma/math.Sqrt(float64(n))*random.NormFloat64()
	if f.order == 0 {
		return nil, intercept, sigma, nil
	}
	shrink := float64(n) / float64(n+1)
	z := mat.NewVecDense(f.order, nil)
	for j := range f.order {
		z.SetVec(j, random.NormFloat64())
	}
	// With XᵀX = UᵀU, U⁻¹z has covariance (XᵀX)⁻¹.
	var upper mat.TriDense
	f.factor.UTo(&upper)
	var noise mat.VecDense
	if err := noise.SolveVec(&upper, z); err != nil {
		return nil, 0, 0, err
	}
	for j := range f.order {
		coefficients = append(coefficients, shrink*f.estimate.AtVec(j)+math.Sqrt(shrink)*sigma*noise.AtVec(j))
	}
	return coefficients, intercept, sigma, nil
}
