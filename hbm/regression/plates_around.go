package regression

import (
	"math"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/hbm"
)

// globalLaplace are the normal approximations N(m, L Lᵀ) of what has no plate, of each model: the
// coordinates of addGlobals in their order, and then those of the population.
type globalLaplace struct {
	order  []int          // coordinates
	mode   [][]float64    // m of each model
	factor []mat.TriDense // L of each model
}

// globalOrder lists the coordinates of what has no plate.
func (r *Regression) globalOrder() (order []int) {
	for j, c := range r.coordinates {
		if c.kind == sdCoordinate || c.kind == partialCoordinate || c.kind == noiseCoordinate {
			order = append(order, j)
		}
	}
	for j := range r.Frame.Columns {
		order = append(order, j)
	}
	return order
}

// globalLaplace is what prepareFamily has found, or that of the anchors; nil without these, or
// where one is not positive definite.
func (r *Regression) globalLaplace() *globalLaplace {
	if r.normal != nil || r.anchors == nil {
		return r.normal
	}
	l := &globalLaplace{order: r.globalOrder()}
	for index := range r.space.masks {
		mode, covariance, ok := r.anchors.normal(index)
		if !ok {
			return nil
		}
		own := make([]float64, len(l.order))
		of := mat.NewSymDense(len(l.order), nil)
		for a, j := range l.order {
			own[a] = mode.AtVec(j)
			for b, k := range l.order[:a+1] {
				of.SetSym(a, b, covariance.At(j, k))
			}
		}
		var cholesky mat.Cholesky
		if !cholesky.Factorize(of) {
			return nil
		}
		var factor mat.TriDense
		cholesky.LTo(&factor)
		l.mode, l.factor = append(l.mode, own), append(l.factor, factor)
	}
	return l
}

// coordinates are the means of a model at their places [dim].
func (l *globalLaplace) coordinates(model, dim int) []float64 {
	theta := make([]float64, dim)
	for a, j := range l.order {
		theta[j] = l.mode[model][a]
	}
	return theta
}

// sd is the standard deviation of the a-th of the coordinates in a model.
func (l *globalLaplace) sd(model, a int) float64 {
	sum := 0.0
	for b := range a + 1 {
		sum += l.factor[model].At(a, b) * l.factor[model].At(a, b)
	}
	return math.Sqrt(sum)
}

// given are the numbers of n coordinates from the k-th on given those before, of a model,
//
//	u | before ~ N(a + C u_before, S Sᵀ):
//
// a [n], C [n, k] and lower triangular S [n, n], by rows.
func (l *globalLaplace) given(model, k, n int) (a, c, s []float64) {
	factor, mode := &l.factor[model], l.mode[model]
	for i := k; i < k+n; i++ {
		// C_i L_before = L_i
		row := make([]float64, k)
		for j := k - 1; j >= 0; j-- {
			row[j] = factor.At(i, j)
			for h := j + 1; h < k; h++ {
				row[j] -= row[h] * factor.At(h, j)
			}
			row[j] /= factor.At(j, j)
		}
		mean := mode[i]
		for j, of := range row {
			mean -= of * mode[j]
		}
		a, c = append(a, mean), append(c, row...)
		for j := k; j < k+n; j++ {
			value := 0.0
			if j <= i {
				value = factor.At(i, j)
			}
			s = append(s, value)
		}
	}
	return a, c, s
}

// ofModels is a vector of numbers of each model.
func (p *PlateModel) ofModels(values func(model int) []float64) hbm.Term {
	if p.choice == nil {
		return hbm.Numbers(values(0)...)
	}
	all := make([][]float64, len(p.regression.space.masks))
	for m := range all {
		all[m] = values(m)
	}
	return hbm.ByModel(all)
}

// aroundGlobals says what inference of the next n numbers without a plate is around, given the
// variables before them.
func (p *PlateModel) aroundGlobals(before []*hbm.Variable, n int) []hbm.Option {
	l := p.laplace
	if l == nil {
		return nil
	}
	k := len(before)
	inputs := []hbm.Term{p.ofModels(func(m int) []float64 {
		a, c, _ := l.given(m, k, n)
		return append(a, c...)
	})}
	for _, v := range before {
		inputs = append(inputs, hbm.Unconstrained(v))
	}
	mean := hbm.Of(func(values []*Node) *Node {
		sum := SliceAxis(values[0], -1, AxisRange(0, n))
		for j, u := range values[1:] {
			var column []*Node // of C
			for i := range n {
				column = append(column, SliceAxis(values[0], -1, AxisElem(n+i*k+j)))
			}
			sum = Add(sum, Mul(Concatenate(column, -1), u))
		}
		return sum
	}, inputs...)
	return []hbm.Option{hbm.Around(mean, p.ofModels(func(m int) []float64 {
		_, _, s := l.given(m, k, n)
		return s
	}))}
}
