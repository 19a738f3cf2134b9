package likelihood

import (
	"math"
	"math/rand/v2"

	"github.com/transdim/vti/internal/stream"
)

// Augmented is a Row whose density, raised to any power t > 0, is a mixture of normal densities in
// η: a Gaussian density given a latent precision (data augmentation). Samplers then move
// coefficients as in a Gaussian regression.
type Augmented interface {
	Row
	// AugmentAt draws the latent precision w from its distribution given η. Given w, p(y | η, σ)^t,
	// where t is the argument power, is in proportion to exp((linear·η − w·η²/2) / σ²).
	AugmentAt(y, eta, scale, power float64, random *rand.Rand) (precision, linear float64)
}

// AugmentAt draws a Pólya-gamma variable (Polson, Scott and Windle 2013). The scale must be 1.
func (logistic) AugmentAt(y, eta, _, power float64, random *rand.Rand) (precision, linear float64) {
	return polyaGamma(power, eta, random), power * (y - 0.5)
}

// polyaTerms is the least number of terms in a draw of a Pólya-gamma variable. Half and twice this
// number give the same answers (docs/benchmarks/constants.md).
const polyaTerms = 8

// polyaGamma draws from the Pólya-gamma distribution PG(b, c). A PG variable is a sum of infinitely
// many independent gamma variables with falling scales (Polson, Scott and Windle 2013, equation 1).
// One gamma variable replaces all terms beyond the largest ones, with their mean and variance. The
// third cumulant of the sum then has a relative error of at most 10⁻⁵ (TestPolyaGamma).
func polyaGamma(b, c float64, random *rand.Rand) (sum float64) {
	squares := c * c / (4 * math.Pi * math.Pi)
	mean, variance := b*logisticBound(c), b*polyaVariance(c) // of the terms to come
	for k := range polyaTerms + int(math.Abs(c)) {
		half := float64(k) + 0.5
		scale := 1 / (2 * math.Pi * math.Pi * (half*half + squares))
		sum += scale * stream.Gamma(b, random)
		mean -= b * scale
		variance -= b * scale * scale
	}
	if mean > 0 && variance > 0 { // false only by rounding
		sum += stream.Gamma(mean*mean/variance, random) * variance / mean
	}
	return sum
}

// polyaVariance returns the variance of the distribution PG(1, c).
func polyaVariance(c float64) float64 {
	c = math.Abs(c)
	if c < 0.1 {
		return (1 - c*c/5 + 17*c*c*c*c/560) / 24
	}
	decay := math.Exp(-c) // sinh and cosh are divided by exp c
	return ((1-decay*decay)/2 - c*decay) / (c * c * c * (1 + decay) * (1 + decay))
}

// AugmentAt draws a gamma variable, because the density is a gamma mixture of normal densities.
func (l student) AugmentAt(y, eta, scale, power float64, random *rand.Rand) (precision, linear float64) {
	r := (y - eta) / scale
	precision = 2 / l.degrees * stream.Gamma(power*(l.degrees+1)/2, random) / (1 + r*r/l.degrees)
	return precision, precision * y
}
