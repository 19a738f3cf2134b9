package varsel

import (
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/likelihood"
)

// given is the distribution of categories at the parameters in θ.
func (f *laplaceFit) given(theta []float64) likelihood.CategoriesAt {
	return f.target.Responses.Categories.At(theta[len(f.Columns):])
}

// expandCategories is expandRows for a response of categories. Where the log density is not concave
// in the parameters, as far from the mode, the curvature is one without what makes it so. weighted
// has room for a number for each row and predictor.
func (f *laplaceFit) expandCategories(weighted []float64) {
	k, coefficients, e := len(f.mode), len(f.Columns), f.expansion
	planes, n := len(e.Slope), len(f.target.Responses.Y)
	f.given(f.mode).Expand(f.target.Responses.Y, f.eta, e)
	for a, column := range f.Columns {
		prior, m := 1/(f.SD[a]*f.SD[a]), f.Coordinates[a]%planes
		f.step[a] = floats.Dot(column, e.Slope[m]) - prior*(f.mode[a]-f.Mean[a])
		for other := range planes {
			floats.MulTo(weighted[other*n:(other+1)*n], column, e.Curvature[m*planes+other])
		}
		for b := range a + 1 {
			f.factor[a*k+b] = floats.Dot(f.plane(b, weighted), f.Columns[b])
		}
		f.factor[a*k+a] += prior
	}
	parameters := k - coefficients
	if parameters == 0 {
		return
	}
	for p := range parameters {
		at := coefficients + p
		prior := 1 / (f.SD[at] * f.SD[at])
		f.step[at] = e.Gradient[p] - prior*(f.mode[at]-f.Mean[at])
		for a, column := range f.Columns {
			f.factor[at*k+a] = floats.Dot(column, e.Cross[f.Coordinates[a]%planes*parameters+p])
		}
	}
	f.fillParameters(e.Information)
	if whole := slices.Clone(f.factor); !cholesky(whole, k) {
		f.fillParameters(e.Concave)
	}
}

// fillParameters sets the block of the parameters in factor.
func (f *laplaceFit) fillParameters(information []float64) {
	k, first := len(f.mode), len(f.Columns)
	parameters := k - first
	for p := range parameters {
		at := first + p
		for q := range p + 1 {
			f.factor[at*k+first+q] = information[p*parameters+q]
		}
		f.factor[at*k+at] += 1 / (f.SD[at] * f.SD[at])
	}
}

// storeCategories writes the approximation of a model at its mode, or the prior where there is
// none, as modeFit.store does.
func (t *Target) storeCategories(code []int32, precision, linear []float64) {
	dim := len(linear)
	a := t.WithParameters(t.active(code))
	for j := range dim {
		precision[j*dim+j] = 1
	}
	f, err := newLaplaceFit(t, a, 1, a.Mean)
	if err != nil {
		for i, j := range a.Coordinates {
			precision[j*dim+j] = 1 / (a.SD[i] * a.SD[i])
			linear[j] = a.Mean[i] * precision[j*dim+j]
		}
		return
	}
	k := len(f.mode)
	for i, j := range a.Coordinates {
		for l, other := range a.Coordinates {
			sum := floats.Dot(f.factor[i*k:i*k+min(i, l)+1], f.factor[l*k:l*k+min(i, l)+1]) // L Lᵀ
			precision[j*dim+other] = sum
			linear[j] += sum * f.mode[l]
		}
	}
}
