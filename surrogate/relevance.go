package surrogate

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"

	"github.com/transdim/vti/internal/apply"
)

// fitIterations bounds the iterations of the search for a kernel, which starts from the previous
// kernel. Half or twice this number gives the same answers (docs/benchmarks/constants.md).
const fitIterations = 15

// Weak normal priors of log kernel.scale and of the logarithm of each kernel.relevance, for batches
// with little information about the kernel. Half or twice each constant gives the same answers
// (docs/benchmarks/constants.md).
const (
	// relevanceCentre and relevanceSpread are the mean and the standard deviation of the logarithm
	// of a relevance. At the mean, the expected rewards of two codes that differ in one site have
	// the correlation exp(−exp(−2)) = 0.87.
	relevanceCentre, relevanceSpread = -2.0, 1.5
	// scaleSpread is the standard deviation of log kernel.scale. Its mean is the logarithm of ten
	// times the variance of the observations.
	scaleSpread = 2.0
)

// fitKernel returns the kernel of largest posterior probability given observations of distinct
// codes with known variances. It also returns the constant mean of the process, estimated by
// generalised least squares.
func fitKernel(start kernel, codes [][]int32, values, variances []float64) (best kernel, mean float64) {
	_, spread := meanAndVariance(values)
	f := &marginal{codes: codes, values: values, variances: variances, scaleCentre: math.Log(10 * spread)}
	x := append([]float64{math.Log(start.scale)}, apply.To(start.relevance, math.Log)...)
	problem := optimize.Problem{
		Func: func(x []float64) float64 { f.evaluate(x); return f.value },
		Grad: func(gradient, x []float64) { f.evaluate(x); copy(gradient, f.gradient) },
	}
	result, _ := optimize.Minimize(problem, x, &optimize.Settings{MajorIterations: fitIterations}, &optimize.LBFGS{})
	if result != nil && !math.IsNaN(result.F) && !math.IsInf(result.F, 0) {
		x = result.X // even after an early end the value is not above its start
	}
	f.evaluate(x)
	return kernelAt(x), f.mean
}

func kernelAt(x []float64) kernel {
	return kernel{scale: math.Exp(x[0]), relevance: apply.To(x[1:], math.Exp)}
}

// marginal computes −log N(values; mean, K + diag(variances)) − log prior, where K is the
// covariance matrix of the codes, as a function of x = (log s², log r_1, …).
type marginal struct {
	codes             [][]int32
	values, variances []float64
	scaleCentre       float64

	x           []float64 // the argument for which all other fields were computed
	value, mean float64
	gradient    []float64
}

func (f *marginal) evaluate(x []float64) {
	if f.x != nil && mat.Equal(mat.NewVecDense(len(x), f.x), mat.NewVecDense(len(x), x)) {
		return
	}
	f.x = append(f.x[:0], x...)
	f.gradient = make([]float64, len(x))
	k, count := kernelAt(x), len(f.codes)
	pure := k.matrix(f.codes, f.codes)
	noisy := mat.NewSymDense(count, append([]float64(nil), pure.RawMatrix().Data...))
	for i, variance := range f.variances {
		noisy.SetSym(i, i, k.scale*(1+jitter)+variance)
	}
	var cholesky mat.Cholesky
	if !cholesky.Factorize(noisy) {
		f.value = math.Inf(1) // the kernel cannot be factorised at this point
		return
	}
	inverse := mat.NewSymDense(count, nil)
	if cholesky.InverseTo(inverse) != nil {
		f.value = math.Inf(1)
		return
	}
	ones := mat.NewVecDense(count, slices.Repeat([]float64{1}, count))
	weights, residual, alpha := mat.NewVecDense(count, nil), mat.NewVecDense(count, nil), mat.NewVecDense(count, nil)
	weights.MulVec(inverse, ones)
	y := mat.NewVecDense(count, f.values)
	f.mean = mat.Dot(weights, y) / mat.Dot(weights, ones)
	residual.AddScaledVec(y, -f.mean, ones)
	alpha.MulVec(inverse, residual)
	f.value = (mat.Dot(residual, alpha) + cholesky.LogDet()) / 2

	// With θ an entry of x and α = K⁻¹(values − mean), ∂(−log N)/∂θ = −½ Σ_ij (α_i α_j − K⁻¹_ij)
	// ∂K_ij/∂θ. The dependence of the mean on θ adds nothing, because the mean is optimal.
	for i := range count {
		row := pure.RawRowView(i)
		for j := range i + 1 {
			sensitivity := (alpha.AtVec(i)*alpha.AtVec(j) - inverse.At(i, j)) * row[j]
			if j == i {
				sensitivity /= 2
			}
			f.gradient[0] -= sensitivity
			for s, outcome := range f.codes[i] {
				if outcome != f.codes[j][s] {
					f.gradient[s+1] += k.relevance[s] * sensitivity
				}
			}
		}
	}
	penalty := func(i int, centre, spread float64) {
		distance := (x[i] - centre) / spread
		f.value += distance * distance / 2
		f.gradient[i] += distance / spread
	}
	penalty(0, f.scaleCentre, scaleSpread)
	for s := range k.relevance {
		penalty(s+1, relevanceCentre, relevanceSpread)
	}
}
