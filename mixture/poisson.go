package mixture

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/kernel"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/stream"
)

// counts is the family of Poisson components, whose rates are Gamma(RateShape, RateExposure). It
// has no β.
type counts struct {
	y, logFactorial []float64
	o               Options
	vectors         *kernel.Vectors[float64]
}

func newCounts(y []float64, o Options) counts {
	logFactorial := apply.To(y, func(v float64) float64 { return logsum.Gamma(v + 1) })
	return counts{y: y, o: o, logFactorial: logFactorial, vectors: kernel.VectorsOf[float64](kernel.Detect())}
}

func (f counts) logHyper([]float64) float64 { return 0 }

func (f counts) logPrior(c component, _ []float64) float64 {
	a, b := f.o.RateShape, f.o.RateExposure
	return a*math.Log(b) - logsum.Gamma(a) + (a-1)*math.Log(c.mean) - b*c.mean
}

func (f counts) draw(_ []float64, random *rand.Rand) component {
	return component{mean: positiveGamma(f.o.RateShape, f.o.RateExposure, random)}
}

// positiveGamma draws from a Gamma distribution, bounded from below so that the inverse is finite.
func positiveGamma(shape, rate float64, random *rand.Rand) float64 {
	return math.Max(stream.Gamma(shape, random)/rate, 1e-300)
}

func (f counts) update(_ component, rows []int, _ []float64, random *rand.Rand) component {
	shape := f.o.RateShape
	for _, i := range rows {
		shape += f.y[i]
	}
	return component{mean: positiveGamma(shape, f.o.RateExposure+float64(len(rows)), random)}
}

func (f counts) updateHyper([]component, *rand.Rand) []float64 { return nil }

func (f counts) start(rows []int) component {
	mean := 0.0
	for _, i := range rows {
		mean += f.y[i]
	}
	return component{mean: (mean + f.o.RateShape) / (float64(len(rows)) + f.o.RateExposure)}
}

func (f counts) startHyper() []float64 { return nil }

func (f counts) fill(density []float64, c component) {
	logRate, constant := math.Log(c.mean), math.Log(c.weight)-c.mean
	for i, y := range f.y {
		density[i] = constant + y*logRate - f.logFactorial[i]
	}
	f.vectors.Exp(density, density)
}

func (f counts) logDensity(row int, c component) float64 {
	return f.y[row]*math.Log(c.mean) - c.mean - f.logFactorial[row]
}

// marginal returns the probability of the count ⌊y⌋ and of all counts up to it.
func (f counts) marginal(_ int, y float64, c component) (density, cumulative float64) {
	poisson := distuv.Poisson{Lambda: c.mean}
	return poisson.Prob(math.Floor(y)), poisson.CDF(y)
}

func (f counts) simulate(c component, row []float64, random *rand.Rand) {
	row[0] = distuv.Poisson{Lambda: c.mean, Src: random}.Rand()
}

func (f counts) summary(_ int, c component) (location, scale float64) { return c.mean, math.NaN() }

func (counts) proposal() proposal { return unitNumbers{} }

// split divides a component into two of the same total weight and the same mean rate. The rate of
// the left component is u[1] times the rate of the component (Viallefont, Richardson and Green
// 2002).
func (counts) split(one component, u []float64) (left, right component) {
	left = component{weight: one.weight * u[0], mean: one.mean * u[1]}
	right = component{weight: one.weight * (1 - u[0]), mean: one.mean * (1 - u[0]*u[1]) / (1 - u[0])}
	return left, right
}

func (counts) merge(left, right component) (one component, u []float64) {
	w := left.weight + right.weight
	u1 := left.weight / w
	one = component{weight: w, mean: u1*left.mean + (1-u1)*right.mean}
	return one, []float64{u1, left.mean / one.mean, 0.5}
}

func (counts) logJacobian(one, _, _ component, u []float64) float64 {
	return math.Log(one.weight) + math.Log(one.mean) - math.Log1p(-u[0])
}
