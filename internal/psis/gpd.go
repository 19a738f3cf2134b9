package psis

import "math"

// fitGPD returns the shape k and scale sigma of the generalised Pareto distribution with location 0
// that fits x. It is the empirical-Bayes estimate of Zhang and Stephens (2009, Technometrics 51),
// but k has the sign for which heavy tails have a positive k. The argument x holds at least two
// positive values, sorted ascending. If x is multiplied by a number, k stays the same and sigma is
// multiplied by the number.
func fitGPD(x []float64) (k, sigma float64) {
	const priorScale = 3 // the prior of k/sigma has the scale 1/(3 · first quartile)
	n := len(x)
	largest, quartile := x[n-1], x[(n+2)/4-1] // the ⌊n/4 + 1/2⌋-th smallest
	grid := 30 + int(math.Sqrt(float64(n)))

	// The profile likelihood is computed over a grid of θ = −k/σ, for which k(θ) = mean log(1 − θ
	// x).
	theta := make([]float64, grid)
	loglik := make([]float64, grid)
	best := math.Inf(-1)
	for i := range theta {
		t := 1/largest + (1-math.Sqrt(float64(grid)/(float64(i)+0.5)))/(priorScale*quartile)
		shape := meanLog1p(t, x)
		theta[i] = t
		loglik[i] = float64(n) * (math.Log(-t/shape) - shape - 1)
		best = max(best, loglik[i])
	}
	var weight, mean float64
	for i, l := range loglik {
		w := math.Exp(l - best)
		weight += w
		mean += w * theta[i]
	}
	t := mean / weight
	k = meanLog1p(t, x)
	return k, -k / t
}

// meanLog1p returns the mean of log(1 − t x), for x sorted ascending and t below 1/max x.
func meanLog1p(t float64, x []float64) float64 {
	// If all |t x| are smaller than this, each logarithm is computed by math.Log1p, because the
	// rounding of 1 − t x loses digits of t x.
	const small = 1e-3
	var sum float64
	if math.Abs(t)*x[len(x)-1] < small {
		for _, v := range x {
			sum += math.Log1p(-t * v)
		}
		return sum / float64(len(x))
	}
	product := 1.0 // product of several factors 1 − t x, for one logarithm of all
	for _, v := range x {
		factor := 1 - t*v
		if factor > 1e100 {
			sum += math.Log(factor)
			continue
		}
		if product *= factor; product < 1e-200 || product > 1e200 {
			sum += math.Log(product)
			product = 1
		}
	}
	return (sum + math.Log(product)) / float64(len(x))
}

// quantileGPD returns the quantile at probability p, 0 ≤ p < 1.
func quantileGPD(p, k, sigma float64) float64 {
	if k == 0 {
		return -sigma * math.Log1p(-p)
	}
	return sigma * math.Expm1(-k*math.Log1p(-p)) / k
}
