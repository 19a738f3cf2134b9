package mixture

import (
	"math"
	"math/rand/v2"

	"github.com/transdim/vti/internal/kernel"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/stream"
)

// normals is the family of normal components: means ~ N(0, MeanSD²), precisions ~
// Gamma(PrecisionShape, β), β ~ Gamma(ScaleShape, ScaleRate), with the settings of Options.
type normals struct {
	y       []float64
	o       Options
	vectors *kernel.Vectors[float64]
}

func newNormals(y []float64, o Options) normals {
	return normals{y, o, kernel.VectorsOf[float64](kernel.Detect())}
}

func (f normals) logHyper(beta []float64) float64 {
	g, h := f.o.ScaleShape, f.o.ScaleRate
	return g*math.Log(h) - logsum.Gamma(g) + (g-1)*math.Log(beta[0]) - h*beta[0]
}

func (f normals) logPrior(c component, beta []float64) float64 {
	sd, a := f.o.MeanSD, f.o.PrecisionShape
	return -0.5*math.Log(2*math.Pi*sd*sd) - 0.5*c.mean*c.mean/(sd*sd) +
		a*math.Log(beta[0]) - logsum.Gamma(a) - (a+1)*math.Log(c.variance) - beta[0]/c.variance
}

func (f normals) draw(beta []float64, random *rand.Rand) component {
	return component{mean: f.o.MeanSD * random.NormFloat64(), variance: beta[0] / stream.Gamma(f.o.PrecisionShape, random)}
}

func (f normals) update(c component, rows []int, beta []float64, random *rand.Rand) component {
	sum, square := 0.0, 0.0
	for _, i := range rows {
		sum += f.y[i]
		square += f.y[i] * f.y[i]
	}
	return f.updateSums(c, float64(len(rows)), float64(len(rows)), sum, square, beta, random)
}

// updateSums draws the mean and variance of a component. Its arguments are the number of its rows,
// the sum n of their weights, and the weighted sums of their values and of the squared values.
func (f normals) updateSums(c component, rows, n, sum, square float64, beta []float64, random *rand.Rand) component {
	v := 1 / (n/c.variance + 1/(f.o.MeanSD*f.o.MeanSD))
	c.mean = sum/c.variance*v + math.Sqrt(v)*random.NormFloat64()
	about := math.Max(0, square-2*c.mean*sum+n*c.mean*c.mean)
	c.variance = (beta[0] + about/2) / stream.Gamma(f.o.PrecisionShape+rows/2, random)
	return c
}

func (f normals) updateHyper(components []component, random *rand.Rand) []float64 {
	shape, rate := f.o.ScaleShape, f.o.ScaleRate
	for _, c := range components {
		shape, rate = shape+f.o.PrecisionShape, rate+1/c.variance
	}
	return []float64{stream.Gamma(shape, random) / rate}
}

func (f normals) start(rows []int) component {
	low, high, mean := math.Inf(1), math.Inf(-1), 0.0
	for _, i := range rows {
		low, high = math.Min(low, f.y[i]), math.Max(high, f.y[i])
		mean += f.y[i] / float64(len(rows))
	}
	width := high - low + 0.05
	return component{mean: mean, variance: width * width}
}

func (f normals) startHyper() []float64 { return []float64{f.o.ScaleShape / f.o.ScaleRate} }

func (f normals) fill(density []float64, c component) {
	constant, half := math.Log(c.weight)-0.5*math.Log(2*math.Pi*c.variance), -0.5/c.variance
	for i, y := range f.y {
		d := y - c.mean
		density[i] = constant + half*d*d
	}
	f.vectors.Exp(density, density)
}

func (f normals) logDensity(row int, c component) float64 { return logNormal(f.y[row], c) }

func logNormal(y float64, c component) float64 {
	return -0.5*math.Log(2*math.Pi*c.variance) - 0.5*(y-c.mean)*(y-c.mean)/c.variance
}

func (f normals) marginal(_ int, y float64, c component) (density, cumulative float64) {
	return math.Exp(logNormal(y, c)), 0.5 * math.Erfc((c.mean-y)/math.Sqrt(2*c.variance))
}

func (f normals) simulate(c component, row []float64, random *rand.Rand) {
	row[0] = c.mean + math.Sqrt(c.variance)*random.NormFloat64()
}

func (f normals) summary(_ int, c component) (location, scale float64) {
	return c.mean, math.Sqrt(c.variance)
}

func (normals) proposal() proposal { return unitNumbers{} }

// split keeps the total weight, mean and variance (Richardson and Green 1997, section 3.2).
func (normals) split(one component, u []float64) (left, right component) {
	sd, u1, u2, u3 := math.Sqrt(one.variance), u[0], u[1], u[2]
	left.weight, right.weight = one.weight*u1, one.weight*(1-u1)
	left.mean = one.mean - u2*sd*math.Sqrt((1-u1)/u1)
	right.mean = one.mean + u2*sd*math.Sqrt(u1/(1-u1))
	left.variance = u3 * (1 - u2*u2) * one.variance / u1
	right.variance = (1 - u3) * (1 - u2*u2) * one.variance / (1 - u1)
	return left, right
}

func (normals) merge(left, right component) (one component, u []float64) {
	w := left.weight + right.weight
	u1, apart := left.weight/w, right.mean-left.mean
	one = component{weight: w, mean: u1*left.mean + (1-u1)*right.mean}
	one.variance = u1*left.variance + (1-u1)*right.variance + u1*(1-u1)*apart*apart
	u2 := apart * math.Sqrt(u1*(1-u1)/one.variance)
	return one, []float64{u1, u2, u1 * left.variance / (u1*left.variance + (1-u1)*right.variance)}
}

// logJacobian returns the log Jacobian in equation 11 of Richardson and Green (1997).
func (normals) logJacobian(one, left, right component, u []float64) float64 {
	return math.Log(one.weight) + math.Log(right.mean-left.mean) + math.Log(left.variance) + math.Log(right.variance) -
		math.Log(u[1]*(1-u[1]*u[1])*u[2]*(1-u[2])) - math.Log(one.variance)
}
