package mixture

import (
	gocontext "context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/stream"
)

// Numerical integrals of small mixtures, with which samplers are compared. Weights are integrated
// out exactly, and so is β; what is left are means and log variances of k components, or rates,
// whose integral is the mean over independent draws from a proposal that is fitted before
// (importance sampling). Nothing of it is shared with the samplers: neither order nor coordinates
// nor moves.

// overWeights is log ∫ Π_i Σ_j w_j f_j(y_i) Dirichlet(w; δ) dw: the sum over the numbers of rows
// that components have, by a recursion over the rows. f is [k][n], k up to 3.
func overWeights(f [][]float64, concentration float64) float64 {
	k, n, logScale := len(f), len(f[0]), 0.0
	// ways[a][b] is the sum over assignments with a rows in component 1 and b in component 2
	ways := make([][]float64, n+1)
	for a := range ways {
		ways[a] = make([]float64, n+1)
	}
	ways[0][0] = 1
	for i := range n {
		largest := 0.0
		for j := range k {
			largest = math.Max(largest, f[j][i])
		}
		if largest == 0 {
			return math.Inf(-1)
		}
		logScale += math.Log(largest)
		last := f[k-1][i] / largest
		for a := i + 1; a >= 0; a-- {
			for b := i + 1 - a; b >= 0; b-- {
				if k < 3 && b > 0 {
					continue
				}
				v := ways[a][b] * last
				if k > 1 && a > 0 {
					v += ways[a-1][b] * f[0][i] / largest
				}
				if k > 2 && b > 0 {
					v += ways[a][b-1] * f[1][i] / largest
				}
				ways[a][b] = v
			}
		}
	}
	rising := func(count int) float64 { return logGamma(concentration+float64(count)) - logGamma(concentration) }
	total := 0.0
	for a := range ways {
		for b, v := range ways[a] {
			if v > 0 {
				logs := rising(n - a - b)
				if k > 1 {
					logs += rising(a)
				}
				if k > 2 {
					logs += rising(b)
				}
				total += v * math.Exp(logs+logGamma(float64(k)*concentration)-logGamma(float64(k)*concentration+float64(n)))
			}
		}
	}
	return logScale + math.Log(total)
}

// logAt is log p(y, components | k), labels without order, weights and β integrated out. The
// parameters of a component are mean and log variance, of counts the log rate.
func (p *Problem) logAt(theta [][]float64) float64 {
	o, k := p.Options, float64(len(theta))
	logs, rate := 0.0, o.ScaleRate
	densities := make([][]float64, len(theta))
	for j, x := range theta {
		c := component{weight: 1, mean: x[0]}
		if o.Family == Poisson {
			c.mean = math.Exp(x[0])
			logs += p.family.logPrior(c, nil) + x[0]
		} else {
			c.variance = math.Exp(x[1])
			rate += 1 / c.variance
			logs += -0.5*math.Log(2*math.Pi*o.MeanSD*o.MeanSD) - 0.5*x[0]*x[0]/(o.MeanSD*o.MeanSD) - logGamma(o.PrecisionShape) - o.PrecisionShape*x[1]
		}
		densities[j] = make([]float64, p.Rows())
		for i := range densities[j] {
			densities[j][i] = math.Exp(p.family.logDensity(i, c))
		}
	}
	if o.Family != Poisson {
		shape := o.ScaleShape + k*o.PrecisionShape
		logs += o.ScaleShape*math.Log(o.ScaleRate) - logGamma(o.ScaleShape) + logGamma(shape) - shape*math.Log(rate)
	}
	return logs + overWeights(densities, o.Concentration)
}

// cloud is a proposal for one component: a wide t distribution of 3 degrees of freedom for a
// third, and for the rest normal kernels at points.
type cloud struct {
	centre, width []float64
	points        [][]float64
	kernel        []float64
}

const wideShare = 1.0 / 3

func (c *cloud) draw(random *rand.Rand) []float64 {
	x := make([]float64, len(c.centre))
	if len(c.points) == 0 || random.Float64() < wideShare {
		s := math.Sqrt(3 / (2 * stream.Gamma(1.5, random)))
		for d := range x {
			x[d] = c.centre[d] + s*c.width[d]*random.NormFloat64()
		}
		return x
	}
	at := c.points[random.IntN(len(c.points))]
	for d := range x {
		x[d] = at[d] + c.kernel[d]*random.NormFloat64()
	}
	return x
}

func (c *cloud) log(x []float64) float64 {
	dim, square, norm := float64(len(x)), 0.0, 1.0
	for d := range x {
		z := (x[d] - c.centre[d]) / c.width[d]
		square += z * z
		norm *= c.width[d]
	}
	wide := math.Exp(logGamma((3+dim)/2)-logGamma(1.5)-dim/2*math.Log(3*math.Pi)) / norm * math.Pow(1+square/3, -(3+dim)/2)
	if len(c.points) == 0 {
		return math.Log(wide)
	}
	near := 0.0
	for _, at := range c.points {
		square, norm := 0.0, 1.0
		for d := range x {
			z := (x[d] - at[d]) / c.kernel[d]
			square += z * z
			norm *= c.kernel[d] * math.Sqrt(2*math.Pi)
		}
		near += math.Exp(-0.5*square) / norm
	}
	return math.Log(wideShare*wide + (1-wideShare)*near/float64(len(c.points)))
}

// integral is log p(y | k) with its standard error, relative.
func (p *Problem) integral(k, draws int, random *rand.Rand) (log, se float64) {
	c := &cloud{centre: []float64{0, -4}, width: []float64{0.6, 2}}
	if p.Options.Family == Poisson {
		c = &cloud{centre: []float64{math.Log(p.Options.RateShape / p.Options.RateExposure)}, width: []float64{1.2}}
	}
	estimate := func(n int) (thetas [][][]float64, logs []float64) {
		for range n {
			theta, log := make([][]float64, k), 0.0
			for j := range theta {
				theta[j] = c.draw(random)
				log -= c.log(theta[j])
			}
			thetas, logs = append(thetas, theta), append(logs, log+p.logAt(theta))
		}
		return thetas, logs
	}
	const supports = 150
	for range 4 { // the components of weighted draws are the points of the next proposal
		thetas, logs := estimate(5000)
		c.points = nil
		for range supports {
			c.points = append(c.points, thetas[drawLog(logs, random)][random.IntN(k)])
		}
		c.kernel = make([]float64, len(c.centre))
		for d := range c.kernel {
			mean, square := 0.0, 0.0
			for _, x := range c.points {
				mean += x[d] / supports
			}
			for _, x := range c.points {
				square += (x[d] - mean) * (x[d] - mean) / supports
			}
			c.kernel[d] = 0.35*math.Sqrt(square) + 1e-3
		}
	}
	_, logs := estimate(draws)
	largest := math.Inf(-1)
	for _, l := range logs {
		largest = math.Max(largest, l)
	}
	mean, square, n := 0.0, 0.0, float64(draws)
	for _, l := range logs {
		w := math.Exp(l - largest)
		mean += w / n
		square += w * w / n
	}
	return largest + math.Log(mean), math.Sqrt((square/(mean*mean) - 1) / n)
}

// integrals are p(k), k from 1 to 3, with standard errors.
func (p *Problem) integrals(draws int, random *rand.Rand) (probability, se [3]float64) {
	var logs, errs [3]float64
	for k := range logs {
		logs[k], errs[k] = p.integral(k+1, draws, random)
	}
	total := 0.0
	for k := range logs {
		probability[k] = math.Exp(logs[k] - math.Max(logs[0], math.Max(logs[1], logs[2])))
		total += probability[k]
	}
	for k := range logs {
		probability[k] /= total
	}
	for k := range logs { // of a share, the errors of the three being independent
		for l := range logs {
			d := -probability[k] * probability[l]
			if l == k {
				d += probability[k]
			}
			se[k] += d * d * errs[l] * errs[l]
		}
		se[k] = math.Sqrt(se[k])
	}
	return probability, se
}

// The sum over numbers of rows is that over assignments.
func TestOverWeights(t *testing.T) {
	f := [][]float64{{0.2, 1.4, 0.3, 0.01}, {1.1, 0.2, 0.5, 0.7}, {0.3, 0.3, 2.1, 0.4}}
	for k := 1; k <= 3; k++ {
		want := 0.0
		for code := range int(math.Pow(float64(k), 4)) {
			counts, product := make([]float64, k), 1.0
			for i, rest := 0, code; i < 4; i, rest = i+1, rest/k {
				counts[rest%k]++
				product *= f[rest%k][i]
			}
			logs := logGamma(1.3*float64(k)) - logGamma(1.3*float64(k)+4)
			for _, n := range counts {
				logs += logGamma(1.3+n) - logGamma(1.3)
			}
			want += product * math.Exp(logs)
		}
		require.InDelta(t, math.Log(want), overWeights(f[:k], 1.3), 1e-12)
	}
}

// small is a table of 20 values from a mixture of up to three components.
func small(seed uint64) []float64 {
	random := stream.Rand(seed, "small")
	k := 1 + random.IntN(3)
	means, sds := make([]float64, k), make([]float64, k)
	for j := range means {
		means[j], sds[j] = 4*random.NormFloat64(), 0.3+random.Float64()
	}
	y := make([]float64, 20)
	for i := range y {
		j := random.IntN(k)
		y[i] = means[j] + sds[j]*random.NormFloat64()
	}
	return y
}

// checkIntegrals compares p(k) of small tables by both samplers with integrals, to 0.01 or four
// standard errors.
func checkIntegrals(t *testing.T, family Family, tables, draws int, config SampleConfig) {
	worst, worstSE := 0.0, 0.0
	for seed := range tables {
		y := small(uint64(seed))
		if family == Poisson {
			for i := range y {
				y[i] = math.Round(3 * math.Exp(y[i]/4))
			}
		}
		p := problemOf(t, Options{MaxComponents: 3, Family: family}, y)
		s, err := p.Sample(gocontext.Background(), config)
		require.NoError(t, err)
		want, se := p.integrals(draws, stream.Rand(uint64(seed), "integral"))
		for k := range want {
			for _, e := range []*estimate{&s.jumping, &s.cluster} {
				worst, worstSE = math.Max(worst, math.Abs(want[k]-e.probability[k])), math.Max(worstSE, math.Hypot(se[k], e.se[k]))
				off := math.Hypot(se[k], e.se[k])
				require.Less(t, off, 0.01, "both are precise")
				require.InDelta(t, want[k], e.probability[k], math.Max(0.01, 4*off), "table %d, k = %d", seed, k+1)
			}
		}
		t.Logf("table %d: integrals %.4f ± %.4f; jumps %.4f; partitions %.4f", seed, want, se, s.jumping.probability, s.cluster.probability)
	}
	t.Logf("%s: largest difference %.4f, largest standard error of one %.4f", family, worst, worstSE)
}

// p(k) of a small mixture is that of numerical integrals. The quality test has ten tables of each
// family, with ten times the draws.
func TestSmallMixturesAgreeWithIntegrals(t *testing.T) {
	if testing.Short() {
		t.Skip("integrals take seconds")
	}
	for _, family := range []Family{Normal, Poisson} {
		checkIntegrals(t, family, 1, 20_000, SampleConfig{Sweeps: 8000})
	}
}
