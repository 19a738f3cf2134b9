package varsel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
)

// fiveRows returns a problem of five rows, for which the posterior of σ has a heavy tail.
func fiveRows(t *testing.T, model ModelOptions) *Problem {
	design, err := NewDesign(parseTable(t, "x,y\n0.3,1.1\n-1.2,-0.4\n0.8,-1.9\n1.5,0.6\n-0.9,0.7\n"), DesignOptions{Target: "y", Likelihood: model.Likelihood})
	require.NoError(t, err)
	problem, err := NewProblem(design, model)
	require.NoError(t, err)
	return problem
}

// gridMoments returns the mean and the sd of σ, and the mean and the sd of the coefficient given
// that it is in the model. They are sums over a grid of log σ and coefficients, whose nodes are
// sinh-spaced from −37 to 37 standard deviations of y.
func gridMoments(p *Problem) (sigma, slope [2]float64) {
	const nodes, step = 81, 0.125
	t, eta := p.Target, make([]float64, len(p.Target.Responses.Y))
	var mass, in float64
	theta := make([]float64, 3)
	var ofSigma, ofSlope [2]float64
	for code := range int32(2) {
		a := t.active([]int32{code})
		for k := -48; k <= 72; k++ {
			theta[t.Scale] = float64(k) / 8
			for i := range nodes {
				x := (float64(i) - nodes/2) * step
				theta[0] = 0.5 * math.Sinh(x)
				for j := range nodes {
					z := (float64(j) - nodes/2) * step
					width := math.Cosh(x)
					if theta[1] = 0; code == 1 {
						theta[1] = 0.5 * math.Sinh(z)
						width *= 0.5 * step * math.Cosh(z)
					} else if j > 0 {
						break
					}
					w := width * math.Exp(t.LogJointAt(a, theta, eta))
					s := math.Exp(theta[t.Scale])
					mass += w
					ofSigma[0] += w * s
					ofSigma[1] += w * s * s
					if code == 1 {
						in += w
						ofSlope[0] += w * theta[1]
						ofSlope[1] += w * theta[1] * theta[1]
					}
				}
			}
		}
	}
	finish := func(sums [2]float64, mass, unit float64) [2]float64 {
		mean := sums[0] / mass
		return [2]float64{mean * unit, math.Sqrt(sums[1]/mass-mean*mean) * unit}
	}
	scaling := p.Design.Scaling
	return finish(ofSigma, mass, scaling.YSD), finish(ofSlope, in, scaling.Slope(1))
}

// Moments of σ and of coefficients, with expectations along orbits (curves through the draws),
// agree with sums over a grid and have correct errors. The moments from each of 40 samples of 3,000
// draws are within four standard errors of the sums. The means of the moments over the samples are
// within three standard errors, and the worst sd of σ is off by less than 3 percent. Without
// orbits, more than a quarter of the sds of σ are left out as unreliable, or are off by more than 3
// percent.
func TestMomentsAlongOrbits(t *testing.T) {
	testkit.Slow(t)
	p := fiveRows(t, ModelOptions{Likelihood: likelihood.StudentKind})
	sigma, slope := gridMoments(p)
	random := stream.Rand(4, "orbits")
	poor := 0
	var off []float64
	const samples = 40
	for range samples {
		s := orbitSample(p, random, 3000)
		orbits, err := p.Target.ScaleOrbits(t.Context(), s.Codes, p.Target.active, s.Theta)
		require.NoError(t, err)
		draws := p.toOriginal(s.Codes, s.Theta)
		found := p.summarizeDraws(draws, s.Weight, nil, nil, orbits)
		for k, want := range map[int][2]float64{1: slope, 2: sigma} {
			c := found[k]
			require.InDelta(t, want[0], float64(c.MeanGivenIn), 4*float64(c.MeanGivenInSE))
			require.InDelta(t, want[1], float64(c.SDGivenIn), 4*float64(c.SDGivenInSE))
		}
		require.InEpsilon(t, sigma[1], float64(found[2].SDGivenIn), 0.03)
		off = append(off, float64(found[2].SDGivenIn)-sigma[1])
		if plain := float64(p.summarizeDraws(draws, s.Weight, nil, nil, nil)[2].SDGivenIn); !(math.Abs(plain/sigma[1]-1) < 0.03) {
			poor++
		}
	}
	mean, sd := stat.MeanStdDev(off, nil)
	require.InDelta(t, 0, mean, 3*sd/math.Sqrt(samples))
	require.Greater(t, poor, samples/4)
}

// orbitSample draws models, and parameters from products of t distributions with three degrees of
// freedom. The draws are weighted by the posterior.
func orbitSample(p *Problem, random *rand.Rand, draws int) vti.WeightedSample {
	t := p.Target
	s := vti.WeightedSample{Theta: mat.NewDense(draws, t.Dim, nil)}
	eta, logs := make([]float64, len(t.Responses.Y)), make([]float64, draws)
	for i := range draws {
		code, theta := []int32{int32(random.IntN(2))}, s.Theta.RawRowView(i)
		a := t.active(code)
		width := 0.5
		for _, j := range append([]int{t.Scale}, a.Coordinates...) {
			x := random.NormFloat64() * math.Sqrt(3/(2*random.ExpFloat64()+square(random.NormFloat64())))
			theta[j] = width * x
			logs[i] += 2*math.Log1p(x*x/3) - math.Log(2/(math.Pi*math.Sqrt(3))/width)
			width = math.Max(0.5, math.Exp(theta[t.Scale])) // width of the coefficients' distribution
		}
		logs[i] += t.LogJointAt(a, theta, eta)
		s.Codes = append(s.Codes, code)
		s.Weight = append(s.Weight, math.Exp(logs[i]))
	}
	return s
}

func square(x float64) float64 { return x * x }
