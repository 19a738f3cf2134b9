package changepoint

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/stream"
)

// family is the distribution of the rows of one segment, with the parameters of the segment
// integrated out. Rows are on the working scale, on which a series has mean 0 and standard
// deviation 1.
type family interface {
	// logEvidence returns log p(rows from+1 … to) in closed form; from and to count rows.
	logEvidence(from, to int) float64
	// draw draws the level of a segment from its posterior.
	draw(from, to int, random *rand.Rand) level
}

// level describes the rows of one segment, on the working scale.
type level struct {
	mean  float64 // mean of a row; in a segment with a slope, the mean at the middle of the segment
	sd    float64 // standard deviation of a row about its mean
	slope float64 // change of the mean over the length of the whole series
}

// cumulated holds cumulated sums in the field high, and their rounding errors in the field low.
// Entry i is the sum of the first i terms. Without the errors, sums over the rows after a row that
// is larger by many powers of ten would have no correct digits.
type cumulated struct{ high, low []float64 }

func cumulate(count int, term func(i int) float64) cumulated {
	c := cumulated{make([]float64, count+1), make([]float64, count+1)}
	for i := range count {
		x, before := term(i), c.high[i]
		sum := before + x
		rest := sum - before
		c.high[i+1], c.low[i+1] = sum, c.low[i]+(before-(sum-rest))+(x-rest)
	}
	return c
}

// between returns the sum over rows from+1 … to.
func (c cumulated) between(from, to int) float64 {
	return c.high[to] - c.high[from] + (c.low[to] - c.low[from])
}

// sums holds cumulated sums of y, y², u, u² and uy, where y is a row less the median of all rows,
// and u its time.
type sums struct {
	middle           float64
	y, yy, u, uu, uy cumulated
}

// newSums cumulates the rows y at the times u, in units of the length of the series.
func newSums(y, u []float64) *sums {
	s := &sums{middle: stat.Quantile(0.5, stat.Empirical, slices.Sorted(slices.Values(y)), nil)}
	rest := func(i int) float64 { return y[i] - s.middle }
	s.y = cumulate(len(y), rest)
	s.yy = cumulate(len(y), func(i int) float64 { return rest(i) * rest(i) })
	s.u = cumulate(len(y), func(i int) float64 { return u[i] })
	s.uu = cumulate(len(y), func(i int) float64 { return u[i] * u[i] })
	s.uy = cumulate(len(y), func(i int) float64 { return u[i] * rest(i) })
	return s
}

// segment returns the sum of the rows from+1 … to, and the sum of squares about their mean.
func (s *sums) segment(from, to int) (sum, squares float64) {
	n, rest := float64(to-from), s.y.between(from, to)
	return rest + n*s.middle, max(0, s.yy.between(from, to)-rest*rest/n)
}

// means is the family of rows that scatter about a level μ ~ N(0, levelSD²) with a known standard
// deviation σ, common to all segments.
type means struct {
	*sums
	sigma, levelSD float64
	logNorms       []float64 // the part of the log evidence that depends only on the number of rows
}

func newMeans(s *sums, sigma, levelSD float64) means {
	s2, t2 := sigma*sigma, levelSD*levelSD
	return means{s, sigma, levelSD, apply.UpTo(len(s.y.high), func(rows int) float64 {
		n := float64(rows)
		return -0.5*n*math.Log(2*math.Pi*s2) - 0.5*math.Log1p(n*t2/s2)
	})}
}

func (f means) logEvidence(from, to int) float64 {
	sum, squares := f.segment(from, to)
	return f.logEvidenceOf(to-from, sum, squares)
}

// logEvidenceOf returns the log evidence of the given number of rows from their sum and the sum of
// squares about their mean or line.
func (f means) logEvidenceOf(rows int, sum, squares float64) float64 {
	n, s2, t2 := float64(rows), f.sigma*f.sigma, f.levelSD*f.levelSD
	return f.logNorms[rows] - 0.5*squares/s2 - 0.5*sum*sum/n/(s2+n*t2)
}

func (f means) draw(from, to int, random *rand.Rand) level {
	n, s2, t2 := float64(to-from), f.sigma*f.sigma, f.levelSD*f.levelSD
	variance := 1 / (n/s2 + 1/t2)
	sum, _ := f.segment(from, to)
	return level{mean: sum/s2*variance + math.Sqrt(variance)*random.NormFloat64(), sd: f.sigma}
}

// slopes is the family of rows that scatter about a line with a known standard deviation σ, common
// to all segments. The level at the middle of the segment is N(0, levelSD²) and the slope N(0,
// slopeSD²). If times are counted from the mean time of the segment, level and slope are
// orthogonal, so that each has a separate factor in the evidence.
type slopes struct {
	means
	slopeSD float64
}

// moments returns Σ(u−ū)² and Σ(u−ū)y of a segment whose rows have times u with mean ū and values
// y.
func (f slopes) moments(from, to int) (spread, product float64) {
	n := float64(to - from)
	u, y := f.u.between(from, to), f.y.between(from, to)
	return math.Max(0, f.uu.between(from, to)-u*u/n), f.uy.between(from, to) - u*y/n
}

func (f slopes) logEvidence(from, to int) float64 {
	spread, product := f.moments(from, to)
	if !(spread > 0) {
		return f.means.logEvidence(from, to)
	}
	s2, b2, along := f.sigma*f.sigma, f.slopeSD*f.slopeSD, product*product/spread
	sum, squares := f.segment(from, to)
	return f.logEvidenceOf(to-from, sum, math.Max(0, squares-along)) - 0.5*math.Log1p(spread*b2/s2) - 0.5*along/(s2+spread*b2)
}

func (f slopes) draw(from, to int, random *rand.Rand) level {
	drawn := f.means.draw(from, to, random)
	s2 := f.sigma * f.sigma
	spread, product := f.moments(from, to)
	variance := 1 / (spread/s2 + 1/(f.slopeSD*f.slopeSD))
	drawn.slope = product/s2*variance + math.Sqrt(variance)*random.NormFloat64()
	return drawn
}

// variances is the family of rows with variance σ² ~ InverseGamma(shape, scale) about a known mean,
// common to all segments.
type variances struct {
	*sums
	mean, shape, scale float64
}

func (f variances) logEvidence(from, to int) float64 {
	n := float64(to - from)
	a, b := f.posterior(from, to)
	return -0.5*n*math.Log(2*math.Pi) + f.shape*math.Log(f.scale) - logsum.Gamma(f.shape) + logsum.Gamma(a) - a*math.Log(b)
}

func (f variances) posterior(from, to int) (shape, scale float64) {
	n := float64(to - from)
	sum, squares := f.segment(from, to)
	return f.shape + n/2, f.scale + (squares+n*square(sum/n-f.mean))/2
}

func (f variances) draw(from, to int, random *rand.Rand) level {
	a, b := f.posterior(from, to)
	return level{mean: f.mean, sd: math.Sqrt(b / stream.Gamma(a, random))}
}

// normals is the family with a separate mean μ and variance in each segment: σ² ~
// InverseGamma(shape, scale), and μ given σ ~ N(0, σ²/κ).
type normals struct {
	*sums
	kappa, shape, scale float64
}

func (f normals) posterior(from, to int) (mean, kappa, shape, scale float64) {
	n := float64(to - from)
	sum, about := f.segment(from, to)
	average := sum / n
	kappa = f.kappa + n
	return n * average / kappa, kappa, f.shape + n/2, f.scale + about/2 + f.kappa*n*average*average/(2*kappa)
}

func (f normals) logEvidence(from, to int) float64 {
	_, kappa, a, b := f.posterior(from, to)
	return -0.5*float64(to-from)*math.Log(2*math.Pi) + 0.5*math.Log(f.kappa/kappa) +
		f.shape*math.Log(f.scale) - logsum.Gamma(f.shape) + logsum.Gamma(a) - a*math.Log(b)
}

func (f normals) draw(from, to int, random *rand.Rand) level {
	mean, kappa, a, b := f.posterior(from, to)
	sd := math.Sqrt(b / stream.Gamma(a, random))
	return level{mean: mean + sd/math.Sqrt(kappa)*random.NormFloat64(), sd: sd}
}

// rates is the family of Poisson counts with a rate Gamma(shape, exposure) per row.
type rates struct {
	*sums
	logFactorials   []float64 // cumulated sums of log y!
	shape, exposure float64
}

func (f rates) logEvidence(from, to int) float64 {
	sum, _ := f.segment(from, to)
	a, b := f.shape+sum, f.exposure+float64(to-from)
	return f.shape*math.Log(f.exposure) - logsum.Gamma(f.shape) + logsum.Gamma(a) - a*math.Log(b) - (f.logFactorials[to] - f.logFactorials[from])
}

func (f rates) draw(from, to int, random *rand.Rand) level {
	sum, _ := f.segment(from, to)
	rate := stream.Gamma(f.shape+sum, random) / (f.exposure + float64(to-from))
	return level{mean: rate, sd: math.Sqrt(rate)}
}
