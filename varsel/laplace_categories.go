package varsel

import (
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/likelihood"
)

// given is the distribution of categories at the parameters in θ.
func (f *laplaceFit) given(theta []float64) likelihood.CategoriesAt {
	return f.target.responses.categories.At(theta[len(f.columns):])
}

// expandCategories is expandRows for a response of categories. Where the log density is not concave
// in the parameters, as far from the mode, the curvature is one without what makes it so. weighted
// has room for a number for each row and predictor.
func (f *laplaceFit) expandCategories(weighted []float64) {
	k, coefficients, e := len(f.mode), len(f.columns), f.expansion
	planes, n := len(e.Slope), len(f.target.responses.y)
	f.given(f.mode).Expand(f.target.responses.y, f.eta, e)
	for a, column := range f.columns {
		prior, m := 1/(f.sd[a]*f.sd[a]), f.coordinates[a]%planes
		f.step[a] = floats.Dot(column, e.Slope[m]) - prior*(f.mode[a]-f.mean[a])
		for other := range planes {
			floats.MulTo(weighted[other*n:(other+1)*n], column, e.Curvature[m*planes+other])
		}
		for b := range a + 1 {
			f.factor[a*k+b] = floats.Dot(f.plane(b, weighted), f.columns[b])
		}
		f.factor[a*k+a] += prior
	}
	parameters := k - coefficients
	if parameters == 0 {
		return
	}
	for p := range parameters {
		at := coefficients + p
		prior := 1 / (f.sd[at] * f.sd[at])
		f.step[at] = e.Gradient[p] - prior*(f.mode[at]-f.mean[at])
		for a, column := range f.columns {
			f.factor[at*k+a] = floats.Dot(column, e.Cross[f.coordinates[a]%planes*parameters+p])
		}
	}
	f.fillParameters(e.Information)
	if whole := slices.Clone(f.factor); !cholesky(whole, k) {
		f.fillParameters(e.Concave)
	}
}

// fillParameters sets the block of the parameters in factor.
func (f *laplaceFit) fillParameters(information []float64) {
	k, first := len(f.mode), len(f.columns)
	parameters := k - first
	for p := range parameters {
		at := first + p
		for q := range p + 1 {
			f.factor[at*k+first+q] = information[p*parameters+q]
		}
		f.factor[at*k+at] += 1 / (f.sd[at] * f.sd[at])
	}
}

// storeCategories writes the approximation of a model at its mode, or the prior where there is
// none, as modeFit.store does.
func (t *Target) storeCategories(code []int32, precision, linear []float64) {
	dim := len(linear)
	a := t.withParameters(t.active(code))
	for j := range dim {
		precision[j*dim+j] = 1
	}
	f, err := newLaplaceFit(t, a, 1, a.mean)
	if err != nil {
		for i, j := range a.coordinates {
			precision[j*dim+j] = 1 / (a.sd[i] * a.sd[i])
			linear[j] = a.mean[i] * precision[j*dim+j]
		}
		return
	}
	k := len(f.mode)
	for i, j := range a.coordinates {
		for l, other := range a.coordinates {
			sum := floats.Dot(f.factor[i*k:i*k+min(i, l)+1], f.factor[l*k:l*k+min(i, l)+1]) // L Lᵀ
			precision[j*dim+other] = sum
			linear[j] += sum * f.mode[l]
		}
	}
}
