package likelihood

import (
	"math"
	"math/rand/v2"

	"github.com/transdim/vti/internal/pick"
)

// Cuts is the distribution of ordered categories given cut points. As a [Row] it has no scale.
type Cuts struct {
	cutLink
	// Points [K−1] are the cut points, increasing.
	Points []float64

	logTail      []float64 // log of S_k, the probability of categories above k at η = 0; nil if z is not known
	broken, bent []float64 // first and second derivatives of log S_k in z_j, the same for all k ≥ j
	// constant holds, for each category k between two cut points, log(1 − exp(c_{k−1} − c_k)) if
	// the distribution function F of the latent response is logistic. Otherwise it holds log(c_k −
	// c_{k−1}) for narrow categories.
	constant []float64
}

var _ Row = (*Cuts)(nil)

// narrow reports whether the density of the latent response changes little between two cut points.
// The difference of the distribution function at the two points may then lose digits.
func narrow(a, b float64) bool { return (b-a)*(1+math.Min(math.Abs(a), math.Abs(b))) < 1 }

// sides returns the category k of y, and the differences w and u of its lower and upper cut point
// less η. w is −∞ for the first category, and u is +∞ for the last.
func (c *Cuts) sides(y, eta float64) (k int, w, u float64) {
	k, w, u = int(y), math.Inf(-1), math.Inf(1)
	if k > 0 {
		w = c.Points[k-1] - eta
	}
	if k < len(c.Points) {
		u = c.Points[k] - eta
	}
	return k, w, u
}

// LogKernelAt returns log p(y | η). For a narrow category it uses the mean of the latent density
// between the cut points, unless the latent response is logistic.
func (c *Cuts) LogKernelAt(y, eta, _ float64) float64 {
	k, w, u := c.sides(y, eta)
	switch {
	case k == 0:
		return c.logCDF(u)
	case k == len(c.Points):
		return c.logCDF(-w)
	case c.trials:
		return c.constant[k] + c.logCDF(u) + c.logCDF(-w)
	case narrow(c.Points[k-1], c.Points[k]) && narrow(w, u):
		return c.constant[k] + c.logMeanDensity(w, u)
	case u+w > 0:
		u, w = -w, -u
	}
	log := c.logCDF(u)
	return log + log1mExp(math.Min(c.logCDF(w)-log, leastGap))
}

// LogConstant implements [Row].
func (*Cuts) LogConstant(float64) float64 { return 0 }

// LogProbs implements [CategoriesAt].
func (c *Cuts) LogProbs(y, eta []float64) float64 { return LogKernels(c, y, nil, eta, 1) }

// Probabilities implements [CategoriesAt].
func (c *Cuts) Probabilities(eta, dst []float64) {
	for k := range dst {
		dst[k] = math.Exp(c.LogKernelAt(float64(k), eta[0], 1))
	}
}

// edges returns the category k of y, the differences w and u of its cut points less η, and the
// densities at the two cut points of y, divided by the probability of y.
func (c *Cuts) edges(y, eta float64) (k int, w, u, below, above float64) {
	k, w, u = c.sides(y, eta)
	log := c.LogKernelAt(y, eta, 1)
	if k > 0 {
		below = math.Exp(c.logPDF(w) - log)
	}
	if k < len(c.Points) {
		above = math.Exp(c.logPDF(u) - log)
	}
	return k, w, u, below, above
}

// leastCutCurvature keeps curvatures positive that rounding would make zero or negative.
const leastCutCurvature = 1e-12

// NewtonAt implements [Row].
func (c *Cuts) NewtonAt(y, eta, _ float64) (slope, curvature float64) {
	if c.trials {
		k, w, u := c.sides(y, eta)
		if k > 0 {
			slope, curvature = logistic{}.NewtonAt(1, -w, 1)
		}
		if k < len(c.Points) {
			rightSlope, curved := logistic{}.NewtonAt(0, -u, 1)
			slope, curvature = slope+rightSlope, curvature+curved
		}
		return slope, curvature
	}
	k, w, u, below, above := c.edges(y, eta)
	if k > 0 && k < len(c.Points) && narrow(w, u) {
		slope, curvature = c.meanNewton(w, u)
		return slope, math.Max(curvature, leastCutCurvature)
	}
	slope = below - above
	curvature = slope * slope
	if below > 0 {
		curvature += c.score(w) * below
	}
	if above > 0 {
		curvature -= c.score(u) * above
	}
	return slope, math.Max(curvature, leastCutCurvature)
}

// BoundAt returns the slope, and the sum of the curvature bounds of the two terms of log p, one for
// each cut point of y.
func (c *Cuts) BoundAt(y, eta, scale float64) (slope, curvature float64) {
	slope, _ = c.NewtonAt(y, eta, scale)
	_, w, u := c.sides(y, eta)
	for _, x := range []float64{w, u} {
		if !math.IsInf(x, 0) {
			curvature += c.bound(x)
		}
	}
	return slope, curvature
}

// Mean returns the mean of the response, the number of a category.
func (c *Cuts) Mean(eta, _ float64) float64 {
	mean, _ := c.moments(eta)
	return mean
}

// Variance returns the variance of the response, the number of a category.
func (c *Cuts) Variance(eta, _ float64) float64 {
	_, variance := c.moments(eta)
	return variance
}

func (c *Cuts) moments(eta float64) (mean, variance float64) {
	p := make([]float64, len(c.Points)+1)
	c.Probabilities([]float64{eta}, p)
	for k, share := range p {
		mean += float64(k) * share
	}
	for k, share := range p {
		variance += (float64(k) - mean) * (float64(k) - mean) * share
	}
	return mean, variance
}

// Draw implements [Row].
func (c *Cuts) Draw(eta, _ float64, random *rand.Rand) float64 {
	p := make([]float64, len(c.Points)+1)
	c.Probabilities([]float64{eta}, p)
	return float64(pick.Func(len(p), random.Float64(), func(k int) float64 { return p[k] }))
}

// Expand implements [CategoriesAt], by the chain rule and the derivatives in the cut points of
//
//	log p = log(F(u) − F(w)),   u = c_k − η,   w = c_{k−1} − η.
//
// If a category has probability p at η = 0, errors of second derivatives in z grow like 1/p².
func (c *Cuts) Expand(y, eta []float64, to *Expansion) {
	cuts := len(c.Points)
	slope, curvature := make([]float64, cuts), make([]float64, cuts*cuts) // derivatives of log p in the cut points
	jacobian := c.jacobian()
	for i, v := range y {
		k, w, u, below, above := c.edges(v, eta[i])
		var ww, uu float64
		if k > 0 {
			ww = -c.score(w)*below - below*below
			slope[k-1] -= below
			curvature[(k-1)*cuts+k-1] -= ww
		}
		if k < cuts {
			uu = c.score(u)*above - above*above
			slope[k] += above
			curvature[k*cuts+k] -= uu
		}
		uw := below * above
		if k > 0 && k < cuts {
			curvature[k*cuts+k-1] -= uw
			curvature[(k-1)*cuts+k] -= uw
		}
		to.Slope[0][i], to.Curvature[0][i] = c.NewtonAt(v, eta[i], 1)
		for j := range cuts {
			sum := 0.0
			if k > 0 {
				sum += (ww + uw) * jacobian[(k-1)*cuts+j]
			}
			if k < cuts {
				sum += (uu + uw) * jacobian[k*cuts+j]
			}
			to.Cross[j][i] = sum
		}
	}
	c.toSticks(slope, curvature, jacobian, to)
}

// jacobian returns ∂c_k/∂z_j [K−1 · K−1].
func (c *Cuts) jacobian() []float64 {
	cuts := len(c.Points)
	out := make([]float64, cuts*cuts)
	for k := range cuts {
		first, _ := c.byTail(k)
		for j := range k + 1 {
			out[k*cuts+j] = first * c.broken[j]
		}
	}
	return out
}

// byTail returns the first and the second derivative of the cut point c_k in log S_k.
func (c *Cuts) byTail(k int) (first, second float64) {
	first = -math.Exp(c.logTail[k] - c.logPDF(c.Points[k]))
	return first, first * (1 - c.score(c.Points[k])*first)
}

// toSticks turns derivatives in the cut points into derivatives in z.
func (c *Cuts) toSticks(slope, curvature, jacobian []float64, to *Expansion) {
	cuts := len(c.Points)
	for i := range cuts {
		to.Gradient[i] = 0
		for k := i; k < cuts; k++ {
			to.Gradient[i] += slope[k] * jacobian[k*cuts+i]
		}
		for j := range cuts {
			concave, bent := 0.0, 0.0
			for k := i; k < cuts; k++ {
				for l := max(j, k-1); l <= min(k+1, cuts-1); l++ {
					concave += jacobian[k*cuts+i] * curvature[k*cuts+l] * jacobian[l*cuts+j]
				}
			}
			for k := max(i, j); k < cuts; k++ {
				first, second := c.byTail(k)
				bent += slope[k] * second * c.broken[i] * c.broken[j]
				if i == j {
					bent += slope[k] * first * c.bent[i]
				}
			}
			to.Concave[i*cuts+j] = concave
			to.Information[i*cuts+j] = concave - bent
		}
	}
}
