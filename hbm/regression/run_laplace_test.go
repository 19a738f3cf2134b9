package regression

import (
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/transdim/vti/hbm/frame"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
)

// crossedCounts returns a table of counts of persons by items: every person has every item.
func crossedCounts(seed uint64, persons, items int, rate float64) string {
	random := rand.New(rand.NewPCG(seed, 31))
	height := make([]float64, items)
	for i := range height {
		height[i] = 0.7 * random.NormFloat64()
	}
	poisson := likelihood.New(likelihood.PoissonKind, likelihood.Shape{})
	text := "y,b,person,item\n"
	for p := range persons {
		effect := 0.6 * random.NormFloat64()
		for i := range items {
			y := poisson.Draw(math.Log(rate)+effect+height[i], 1, random)
			text += fmt.Sprintf("%g,%d,p%d,i%d\n", y, min(int(y), 1), p, i)
		}
	}
	return text
}

// logJointAt returns log p(y, θ | m) on the host, without the log Jacobian.
func logJointAt(rule *innerRule, constants float64, mask []bool, theta []float64) float64 {
	r := rule.r
	sum := constants + rule.logDensity(mask, theta) + r.logPriorOfHyperparameters(mask, theta)
	for j, c := range r.coordinates {
		if mask[j] && (c.kind == populationCoordinate || c.kind == effectCoordinate) {
			x := (theta[j] - c.mean) / c.sd
			sum -= x*x/2 + math.Log(c.sd) + halfLog2Pi
		}
	}
	return sum
}

// The log densities stored with draws of outer effects are the log densities of the target, for
// every model. The draws have the covariance of the outer effects in P⁻¹ (see laplaceEffects).
func TestOuterDrawsHaveTheirDensities(t *testing.T) {
	for name, opt := range map[string]frame.Options{
		"poisson":  {Formula: "y ~ x + (1 | g) + (1 | h)", Response: likelihood.PoissonKind},
		"slopes":   {Formula: "y ~ x + (1 + x | g) + (1 + x | h)", Response: likelihood.PoissonKind},
		"logistic": {Formula: "b ~ x + offset(x) + (1 | g) + (0 + x | h)", Response: likelihood.LogisticKind},
		"counts":   {Formula: "y ~ x + (1 | g) + (1 | h)", Response: likelihood.NegativeBinomialKind},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRegression(t, frameOf(t, counts18, opt), Options{Select: true})
			l := newLaplaceEffects(r)
			random := stream.Rand(7, name)
			for index, code := range r.codes() {
				m := &modelIntegral{code: code, mask: r.space.masks[index]}
				m.free = r.hyperparameters(m.mask)
				h := make([]float64, len(m.free))
				for k := range h {
					h[k] = 0.5 * random.NormFloat64()
				}
				l.drawnPairs = 1
				logEstimate, kept := l.estimate(m.mask, m.writeHyperparameters(h, make([]float64, r.Dim())), func() *rand.Rand { return random })
				require.False(t, math.IsNaN(logEstimate))
				draws := kept.outer
				theta := draws.theta[1]
				target := logJoints(t, r.Target(), [][]int32{code}, mat.NewDense(1, r.Dim(), theta))[0]
				require.InDelta(t, target, draws.logP[1]+r.logPriorOfHyperparameters(m.mask, theta), 2e-3, r.FormulaOf(code))

				p, ok := l.approximate(m.mask, theta)
				require.True(t, ok)
				z := l.noise(random)
				one := p.pair(z)[0]
				outer := l.outer
				marginalCovariance, away := mat.NewSymDense(len(outer), nil), mat.NewVecDense(len(outer), nil)
				for a, i := range outer {
					away.SetVec(a, one.v[i]-p.centre[i])
					unit := make([]float64, l.effects)
					unit[i] = 1
					covariance := p.factor.Solve(unit)
					for b, k := range outer[:a+1] {
						marginalCovariance.SetSym(a, b, covariance[k])
					}
				}
				var marginal mat.Cholesky
				require.True(t, marginal.Factorize(marginalCovariance))
				var solved mat.VecDense
				require.NoError(t, marginal.SolveVecTo(&solved, away))
				squares := 0.0
				for _, k := range outer {
					squares += z[k] * z[k]
				}
				require.InDelta(t, squares, mat.Dot(&solved, away), 1e-8*(1+squares))
				require.InDelta(t, -marginal.LogDet()/2-float64(len(outer))*halfLog2Pi, p.logScale, 1e-8)
				require.InDelta(t, p.logScale+l.logNoise(z), one.logQ, 1e-12)
			}
		})
	}
}

// The density of the noise of outer effects, a mixture, integrates to one over a grid. Its mean
// square agrees with draws to four standard errors.
func TestNoiseOfOuterEffects(t *testing.T) {
	l := &laplaceEffects{jointEffects: &jointEffects{effects: 2}, outer: []int{0, 1}}
	sum, squares := 0.0, 0.0
	const step = 0.1
	for x := -25.0; x < 25; x += step {
		for y := -25.0; y < 25; y += step {
			density := math.Exp(l.logNoise([]float64{x, y})-2*halfLog2Pi) * step * step
			sum += density
			squares += x * x * density
		}
	}
	require.InDelta(t, 1, sum, 1e-6)
	random := stream.Rand(3, "noise")
	const draws = 40_000
	var mean, square float64
	for range draws {
		x := l.noise(random)[0]
		mean += x * x / draws
		square += x * x * x * x / draws
	}
	require.InDelta(t, squares, mean, 4*math.Sqrt((square-mean*mean)/draws))
}

// The data are counts of few persons by two items. The evidence of each choice of groupings agrees
// with a sum over a grid of standard deviations. At each point of the grid, Gauss-Hermite rules
// integrate over the intercept and the effects of items. The tolerance is four standard errors and
// 0.01 for the quadratures.
func TestCrossedCountsAgreeWithQuadrature(t *testing.T) {
	testkit.Slow(t)
	opt := frame.Options{Formula: "y ~ 1 + (1 | person) + (1 | item)", Response: likelihood.PoissonKind}
	r := newRegression(t, frameOf(t, crossedCounts(4, 7, 2, 2), opt), Options{Select: true})
	require.True(t, r.weighable())
	result, err := r.Run(t.Context(), open(t, gpu.CPU), Run{})
	require.NoError(t, err)
	require.Equal(t, vti.Trusted, result.Certificate.Verdict, result.Certificate.Reasons)
	require.Len(t, result.Models, 4)
	rule := newInnerRule(r, quadratureNodes)
	constants := r.logConstants()
	for index, code := range r.codes() {
		want := gridOfOuter(t, r, rule, constants, r.space.masks[index])
		at := slices.IndexFunc(result.Models, func(m ModelSummary) bool { return m.Code == codeText(code) })
		m := result.Models[at]
		assert.InDelta(t, want, float64(*m.LogEvidence), 4*float64(*m.LogEvidenceSE)+0.01, m.Formula)
	}
}

// gridOfOuter returns the log evidence of a model by a grid over its standard deviations.
func gridOfOuter(t *testing.T, r *Regression, rule *innerRule, constants float64, mask []bool) float64 {
	t.Helper()
	const step = 0.8
	var free []int
	for j := range r.coordinates {
		if mask[j] && r.coordinates[j].kind != sdCoordinate {
			free = append(free, j)
		}
	}
	theta := make([]float64, r.Dim())
	hyper := r.hyperparameters(mask)
	var values []float64
	var visit func(k int)
	visit = func(k int) {
		if k < len(hyper) {
			for tau := -6.0; tau < 6; tau += step {
				theta[hyper[k]] = tau
				visit(k + 1)
			}
			return
		}
		value, err := adaptiveHermite(func(x []float64) float64 {
			for i, j := range free {
				theta[j] = x[i]
			}
			return logJointAt(rule, constants, mask, theta)
		}, len(free), 5)
		require.NoError(t, err)
		values = append(values, value+float64(len(hyper))*math.Log(step))
	}
	visit(0)
	return logsum.Of(values)
}

// A run stops within a second when it is cancelled.
func TestCrossedCountsCancelled(t *testing.T) {
	r := newRegression(t, frameOf(t, crossedCounts(5, 60, 12, 2), frame.Options{Formula: "y ~ 1 + (1 | person) + (1 | item)", Response: likelihood.PoissonKind}), Options{})
	ctx, cancel := gocontext.WithCancel(t.Context())
	defer cancel()
	var cancelled time.Time
	time.AfterFunc(200*time.Millisecond, func() {
		cancelled = time.Now()
		cancel()
	})
	_, err := r.Run(ctx, open(t, gpu.CPU), Run{})
	require.ErrorIs(t, err, gocontext.Canceled)
	require.Less(t, time.Since(cancelled), time.Second)
}

// Three of four groups have one row each, and counts are up to ten million. Searches for modes
// converge, and the posterior of the standard deviation of groups has a long tail, which only the
// prior bounds. The expected figures are from a grid over slope, standard deviation and effects
// (calibrate.Hbm, number 18 of seed 601). The tolerances are 4 standard errors.
func TestHugeCountsOfFewGroups(t *testing.T) {
	f := frameOf(t, "y,x,g\n13944354,1.6609122133654237,g0\n4790054,-0.0855047356573122,g1\n747725,-3.126535492977914,g2\n"+
		"9152244,0.9785673396460612,g3\n4839652,-0.06490858772791919,g2\n", frame.Options{Formula: "y ~ x + (1 | g)", Response: likelihood.PoissonKind})
	result, _ := runRegression(t, f, Options{}, vti.Config{Seed: 1})
	require.Equal(t, vti.Trusted, result.Certificate.Verdict, result.Certificate.Reasons)
	require.InDelta(t, -76.0264, float64(*result.LogEvidence), 4*float64(*result.LogEvidenceSE))
	sd := result.SDs[0]
	require.InDelta(t, math.Exp(-4.7739), float64(sd.SD), 4*float64(sd.SDSE))
	require.Less(t, float64(sd.SDSE), 0.05*float64(sd.SD))
}

// Rows of one group contradict each other: counts of 18,557 and 10⁹, where the larger count
// decides. The effects of the groups are hundreds on the scale of logarithms, and a search from
// effects near zero does not reach them: without its second and third start all log densities would
// be −Inf. Intercepts b_g are known to a thousandth of their spread, so that the posterior of their
// standard deviation s is the posterior given fifteen numbers from N(0, s²) with a half-normal
// prior, whose mode is s⁴ ≈ Σ b_g² − 15 s².
func TestContradictingCountsOfOneGroup(t *testing.T) {
	testkit.Slow(t)
	f := frameOf(t, contradictingCounts, frame.Options{Formula: "y ~ x + (1 | g)", Response: likelihood.PoissonKind})
	result, _ := runRegression(t, f, Options{}, vti.Config{Seed: 1})
	require.NotNil(t, result.LogEvidence)
	require.InDelta(t, -1577241037.86, float64(*result.LogEvidence), 0.2)
	squares := 0.0
	for _, v := range result.Varying {
		squares += float64(v.Mean) * float64(v.Mean)
	}
	s := float64(result.SDs[0].Mean)
	require.InDelta(t, 1, (squares-15*s*s)/(s*s*s*s), 0.05)
	for _, v := range result.Varying {
		require.Greater(t, float64(v.SD), 1.0, "%s: known no better than the intercept", v.Level)
	}
}

const contradictingCounts = `y,x,g
9.732142e+06,-0.7854659181623476,g0
18557,0.21085232296098608,g1
376,0.7993364798796235,g2
38655,0.30865429195846267,g3
193,-0.4316851542920398,g4
702476,-0.1479369772851436,g5
307650,-1.1969548207660718,g6
8,0.26264044427136596,g7
75,0.7259356833551657,g8
642,-0.5833483792420775,g9
1.318829988e+09,0.2793196693177188,g10
6.6546116e+07,0.6200842604608962,g11
909,1.1711891753802115,g12
0,-1.514915465062785,g13
4.4024388e+07,1.3763866094664643,g14
63194,0.3101138676869651,g3
1.011897811e+09,0.2119713212682811,g1
1.31884986e+09,-1.1975485973987579,g6
40348,1.1723038942258313,g12
400,0.7263118032971756,g8
`

// For standard errors, draws of outer effects with the same hyperparameters are one group, because
// they all have the same value of a standard deviation. If all draws counted as independent,
// standard errors would be half as large as they should be, and answers for three of 143 difficult
// tables trusted and wrong.
func TestOuterDrawsAreGrouped(t *testing.T) {
	f := frameOf(t, "y,x,g\n3,1,a\n0,2,a\n5,1.5,b\n1,3,b\n2,0,c\n", frame.Options{Formula: "y ~ x + (1 | g)", Response: likelihood.PoissonKind})
	r, err := New(f, Options{})
	require.NoError(t, err)
	e := r.effort()
	e.se, e.ess = 1, 100
	found, err := r.integrate(t.Context(), e, 1, nil)
	require.NoError(t, err)
	sample := found.outerSample()
	require.Len(t, sample.Group, len(sample.Codes))
	at := found.list[0].free[0]
	byGroup := map[int]float64{}
	for i, g := range sample.Group {
		tau := sample.Theta.At(i, at)
		if before, known := byGroup[g]; known {
			require.Equal(t, before, tau)
		}
		byGroup[g] = tau
	}
	require.GreaterOrEqual(t, len(sample.Group), 2*len(byGroup), "pairs at least")
	require.Len(t, byGroup, len(found.draws.weight))
}

// The predictor hardly varies within groups, but counts in a group vary much more than Poisson
// counts. The data move the effects of groups hundreds of prior standard deviations from their
// prior mean, and Newton's method from a start near the prior mean does not converge. The run must
// still give an answer, and may trust it only if the log evidence has a small error.
func TestOverdispersedCountsOfManyGroups(t *testing.T) {
	testkit.Long(t)
	random := rand.New(rand.NewPCG(8, 24))
	var text strings.Builder
	text.WriteString("y,x,g\n")
	for i := range 80 {
		g := i % 24
		effect := math.Sin(float64(g))
		fmt.Fprintf(&text, "%d,%v,g%d\n", int(math.Exp(15.7+1.5*random.NormFloat64())), effect+1e-4*random.NormFloat64(), g)
	}
	f := frameOf(t, text.String(), frame.Options{Formula: "y ~ x + (1 | g)", Response: likelihood.PoissonKind})
	result, _ := runRegression(t, f, Options{}, vti.Config{Seed: 1})
	if result.Certificate.Verdict == vti.Trusted {
		require.Less(t, float64(*result.LogEvidenceSE), 0.1)
	}
	require.Less(t, float64(*result.LogEvidence), -1e6)
}

// In a zero-inflated model a zero has two possible sources. If groups differ much, only the prior
// bounds from below the effect of a group whose only row is a zero. A flow trained for 150 steps
// would be trusted with a wrong posterior sd, 0.418, of the standard deviation of the groups. The
// right numbers are by quadrature (lab/hard). Three comparisons to 5 standard errors fail once in
// 600,000.
func TestZerosOfEitherSourceInGroups(t *testing.T) {
	const table = "y,x,g\n12,-1.3792244871814456,g0\n7,-0.9439241011629973,g1\n5,1.3974468192636427,g2\n0,-0.14223114370288492,g1\n0,1.3914842839325379,g2\n"
	r := newRegression(t, frameOf(t, table, frame.Options{Formula: "y ~ x + (1 | g)", Response: likelihood.ZeroInflatedKind}), Options{})
	require.True(t, r.weighable())
	result, err := r.Run(t.Context(), open(t, gpu.CPU), Run{Fit: vti.Config{Seed: 1}, Precision: 0.008})
	require.NoError(t, err)
	require.Equal(t, vti.Trusted, result.Certificate.Verdict, result.Certificate.Reasons)
	require.InDelta(t, -16.5714, float64(*result.LogEvidence), 5*float64(*result.LogEvidenceSE))
	spread := result.SDs[0]
	require.InDelta(t, 0.5529, float64(spread.Mean), 5*float64(spread.MeanSE))
	require.InDelta(t, 0.4678, float64(spread.SD), 5*float64(spread.SDSE))
	require.Less(t, float64(spread.SDSE), 0.01)
}

// Seven rows lie along a line of slope 3, six along a line of slope −3, with hardly any noise. A
// Student likelihood of one degree of freedom allows either slope. The mean and the sd of the slope
// are by parallel tempering in a separate program, which gives negative slopes a probability of
// 0.064 ± 0.001. The approximation without training would be trusted with an sd of 1.00. Two
// comparisons within 5 standard errors have a false alarm in 900,000. With two of the first five
// seeds, draws of the trusted answer do not determine a moment of the slope.
func TestSecondModeOfASlope(t *testing.T) {
	const table = "y,x,g\n-5.0056,-1.6574,g0\n-3.2110,-1.0528,g1\n3.5958,1.2051,g0\n1.0100,0.3286,g2\n-4.8824,-1.6235,g1\n-0.7546,-0.2675,g0\n" +
		"-0.2614,-0.0838,g0\n4.0843,-1.3610,g2\n-2.7376,0.9383,g1\n4.6632,-1.5453,g1\n1.2800,-0.4351,g0\n-0.2100,0.0670,g0\n0.8595,-0.2775,g1\n"
	r := newRegression(t, frameOf(t, table, frame.Options{Formula: "y ~ x + (1 | g)", Response: likelihood.StudentKind}), Options{Degrees: 1})
	require.False(t, r.weighable())
	testkit.Long(t)
	result, err := r.Run(t.Context(), open(t, gpu.CPU), Run{Fit: vti.Config{Seed: 5}})
	require.NoError(t, err)
	require.Equal(t, vti.Trusted, result.Certificate.Verdict, result.Certificate.Reasons)
	slope := result.Effects[1]
	require.InDelta(t, 2.382, float64(slope.Mean), 5*math.Hypot(float64(slope.MeanSE), 0.004))
	require.InDelta(t, 1.254, float64(slope.SD), 5*float64(slope.SDSE))
	require.Less(t, float64(slope.SDSE), 0.05)
	require.Less(t, float64(slope.Q025), -1.5)
}
