package changepoint

import (
	"math"
	"math/rand/v2"

	"github.com/transdim/vti/internal/stream"
)

// family is how rows of one segment are distributed, with the parameters of the segment integrated
// out. Rows are on the working scale.
type family interface {
	// logEvidence is log p(rows from+1 … to) in closed form; from and to count rows.
	logEvidence(from, to int) float64
	// draw draws the parameters of a segment from their posterior.
	draw(from, to int, random *rand.Rand) level
}

// level is the state of a series within one segment, on the working scale.
type level struct {
	mean  float64 // of a row, at the middle of the segment where there is a slope
	sd    float64 // of a row about its mean
	slope float64 // per length of the series
}

// sums are cumulated sums of the rows, entry i over the first i of them.
type sums struct{ y, yy, u, uu, uy []float64 }

// newSums cumulates rows y at u, their times in units of the length of the series.
func newSums(y, u []float64) *sums {
	s := &sums{}
	cumulate := func(f func(i int) float64) []float64 {
		c := make([]float64, len(y)+1)
		for i := range y {
			c[i+1] = c[i] + f(i)
		}
		return c
	}
	s.y = cumulate(func(i int) float64 { return y[i] })
	s.yy = cumulate(func(i int) float64 { return y[i] * y[i] })
	s.u = cumulate(func(i int) float64 { return u[i] })
	s.uu = cumulate(func(i int) float64 { return u[i] * u[i] })
	s.uy = cumulate(func(i int) float64 { return u[i] * y[i] })
	return s
}

// means are levels μ ~ N(0, levelSD²) with noise of a common known σ.
type means struct {
	*sums
	sigma, levelSD float64
}

func (f means) logEvidence(from, to int) float64 {
	n, s2, t2 := float64(to-from), f.sigma*f.sigma, f.levelSD*f.levelSD
	sum, squares := f.y[to]-f.y[from], f.yy[to]-f.yy[from]
	return -0.5*n*math.Log(2*math.Pi*s2) - 0.5*math.Log1p(n*t2/s2) - 0.5*(squares-sum*sum*t2/(s2+n*t2))/s2
}

func (f means) draw(from, to int, random *rand.Rand) level {
	n, s2, t2 := float64(to-from), f.sigma*f.sigma, f.levelSD*f.levelSD
	variance := 1 / (n/s2 + 1/t2)
	return level{mean: (f.y[to]-f.y[from])/s2*variance + math.Sqrt(variance)*random.NormFloat64(), sd: f.sigma}
}

// slopes are lines: the level at the middle of the segment ~ N(0, levelSD²) and the slope ~ N(0,
// slopeSD²), with noise of a common known σ. About the mean of the times of the segment the two are
// orthogonal, so that each has its own factor.
type slopes struct {
	means
	slopeSD float64
}

// moments are Σ(u−ū)² and Σ(u−ū)y of a segment.
func (f slopes) moments(from, to int) (spread, product float64) {
	n := float64(to - from)
	u, y := f.u[to]-f.u[from], f.y[to]-f.y[from]
	return math.Max(0, f.uu[to]-f.uu[from]-u*u/n), f.uy[to] - f.uy[from] - u*y/n
}

func (f slopes) logEvidence(from, to int) float64 {
	s2, b2 := f.sigma*f.sigma, f.slopeSD*f.slopeSD
	spread, product := f.moments(from, to)
	return f.means.logEvidence(from, to) - 0.5*math.Log1p(spread*b2/s2) + 0.5*product*product*b2/(s2+spread*b2)/s2
}

func (f slopes) draw(from, to int, random *rand.Rand) level {
	drawn := f.means.draw(from, to, random)
	s2 := f.sigma * f.sigma
	spread, product := f.moments(from, to)
	variance := 1 / (spread/s2 + 1/(f.slopeSD*f.slopeSD))
	drawn.slope = product/s2*variance + math.Sqrt(variance)*random.NormFloat64()
	return drawn
}

// variances are variances σ² ~ InverseGamma(shape, scale) about a common known mean.
type variances struct {
	*sums
	mean, shape, scale float64
}

func (f variances) logEvidence(from, to int) float64 {
	n := float64(to - from)
	a, b := f.posterior(from, to)
	return -0.5*n*math.Log(2*math.Pi) + f.shape*math.Log(f.scale) - logGamma(f.shape) + logGamma(a) - a*math.Log(b)
}

func (f variances) posterior(from, to int) (shape, scale float64) {
	n := float64(to - from)
	squares := f.yy[to] - f.yy[from] - 2*f.mean*(f.y[to]-f.y[from]) + n*f.mean*f.mean
	return f.shape + n/2, f.scale + math.Max(0, squares)/2
}

func (f variances) draw(from, to int, random *rand.Rand) level {
	a, b := f.posterior(from, to)
	return level{mean: f.mean, sd: math.Sqrt(b / stream.Gamma(a, random))}
}

// normals have a mean and a variance of their own in each segment: σ² ~ InverseGamma(shape, scale)
// and μ given σ ~ N(0, σ²/κ).
type normals struct {
	*sums
	kappa, shape, scale float64
}

func (f normals) posterior(from, to int) (mean, kappa, shape, scale float64) {
	n := float64(to - from)
	average := (f.y[to] - f.y[from]) / n
	about := math.Max(0, f.yy[to]-f.yy[from]-n*average*average)
	kappa = f.kappa + n
	return n * average / kappa, kappa, f.shape + n/2, f.scale + about/2 + f.kappa*n*average*average/(2*kappa)
}

func (f normals) logEvidence(from, to int) float64 {
	_, kappa, a, b := f.posterior(from, to)
	return -0.5*float64(to-from)*math.Log(2*math.Pi) + 0.5*math.Log(f.kappa/kappa) +
		f.shape*math.Log(f.scale) - logGamma(f.shape) + logGamma(a) - a*math.Log(b)
}

func (f normals) draw(from, to int, random *rand.Rand) level {
	mean, kappa, a, b := f.posterior(from, to)
	sd := math.Sqrt(b / stream.Gamma(a, random))
	return level{mean: mean + sd/math.Sqrt(kappa)*random.NormFloat64(), sd: sd}
}

// rates are Poisson counts whose rate per row is Gamma(shape, exposure), exposure in rows.
type rates struct {
	*sums
	logFactorials   []float64 // cumulated log y!
	shape, exposure float64
}

func (f rates) logEvidence(from, to int) float64 {
	a, b := f.shape+f.y[to]-f.y[from], f.exposure+float64(to-from)
	return f.shape*math.Log(f.exposure) - logGamma(f.shape) + logGamma(a) - a*math.Log(b) - (f.logFactorials[to] - f.logFactorials[from])
}

func (f rates) draw(from, to int, random *rand.Rand) level {
	rate := stream.Gamma(f.shape+f.y[to]-f.y[from], random) / (f.exposure + float64(to-from))
	return level{mean: rate, sd: math.Sqrt(rate)}
}
