package rjmcmc

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/space"
)

// regressionTable draws n rows of an intercept, predictors with correlation rho and the given
// slopes, and noise of the given standard deviation. If unknown is true, the noise is a parameter:
// there is one more coordinate, whose column is zero.
func regressionTable(t *testing.T, random *rand.Rand, n int, slopes []float64, rho, noise float64, unknown bool) linearTarget {
	d := len(slopes) + 1
	fixed := []int{0}
	if unknown {
		fixed, d = append(fixed, d), d+1
	}
	var groups [][]int
	for j := range slopes {
		groups = append(groups, []int{j + 1})
	}
	sp, err := space.NewSubsets(d, fixed, groups)
	require.NoError(t, err)
	l := linearTarget{space: sp, sigma: noise, tau: 1, inclusion: 0.4}
	for range n {
		shared, row, y := random.NormFloat64(), make([]float64, d), 0.4+noise*random.NormFloat64()
		row[0] = 1
		for j, slope := range slopes {
			row[j+1] = math.Sqrt(rho)*shared + math.Sqrt(1-rho)*random.NormFloat64()
			y += slope * row[j+1]
		}
		l.x, l.y = append(l.x, row), append(l.y, y)
	}
	return l
}

// unknownNoise is a linearTarget whose last coordinate is log σ, with prior N(0, logNoiseSD²).
type unknownNoise struct{ linearTarget }

const logNoiseSD = 2

func (u unknownNoise) LogJoint(_, mask, theta *graph.Node) *graph.Node {
	g, d := theta.Graph(), u.space.Dim()
	logSigma := graph.Squeeze(graph.Slice(theta, graph.AxisRange(), graph.AxisElem(d-1)), 1)
	residual := graph.Sub(graph.Const(g, [][]float64{u.y}), graph.DotGeneral(theta, []int{1}, nil, graph.Const(g, u.x), []int{1}, nil))
	squares := graph.Mul(graph.ReduceSum(graph.Square(residual), 1), graph.Exp(graph.MulScalar(logSigma, -2)))
	logHalf := math.Log(2*math.Pi) / 2
	likelihood := graph.Sub(graph.MulScalar(squares, -0.5), graph.MulScalar(graph.AddScalar(logSigma, logHalf), float64(len(u.y))))
	sd, constants := make([]float64, d), make([]float64, d)
	for j := range sd {
		sd[j] = u.tau
		if j == d-1 {
			sd[j] = logNoiseSD
		}
		constants[j] = -logHalf - math.Log(sd[j])
	}
	standard := graph.Div(theta, graph.Const(g, [][]float64{sd}))
	each := graph.Add(graph.MulScalar(graph.Square(standard), -0.5), graph.Const(g, [][]float64{constants}))
	return graph.Add(likelihood, graph.ReduceSum(graph.Where(mask, each, graph.ZerosLike(each)), 1))
}

// logEvidence sums, over a grid of log σ, the closed form of the evidence given σ. The integrand is
// smooth and vanishes at both ends, so that the trapezoid rule converges faster than any power of
// the step.
func (u unknownNoise) logEvidence() float64 {
	const step, low, high = 0.02, -12, 5
	var logs []float64
	for s := float64(low); s < high; s += step {
		known := u.linearTarget
		known.sigma = math.Exp(s)
		_, value := known.enumerate()
		logs = append(logs, value-0.5*s*s/(logNoiseSD*logNoiseSD)-math.Log(logNoiseSD)-0.5*math.Log(2*math.Pi))
	}
	largest, sum := math.Inf(-1), 0.0
	for _, v := range logs {
		largest = max(largest, v)
	}
	for _, v := range logs {
		sum += math.Exp(v-largest) * step
	}
	return largest + math.Log(sum)
}

// The errors of evidences are calibrated on tables of 5 to 45 rows and 2 to 5 predictors, with
// correlations of up to 0.95 and noise of standard deviation 1 to 0.001, known or unknown. The
// z-scores should have mean 0 and standard deviation 1.07, because their errors come from 16
// groups. The bounds on both are 3.5 standard errors: one seed in 1,000 would fail by chance.
func TestEvidenceErrors(t *testing.T) {
	testkit.Long(t)
	const tables = 20
	random := rand.New(rand.NewPCG(31, 7))
	var z []float64
	unresolved := 0
	for k := range tables {
		slopes := make([]float64, 2+random.IntN(4))
		for j := range slopes {
			slopes[j] = 0.7 * random.NormFloat64() * float64(random.IntN(2))
		}
		noise := []float64{1, 0.3, 0.1, 0.03, 0.01, 0.001}[random.IntN(6)]
		l := regressionTable(t, random, 5+random.IntN(41), slopes, []float64{0, 0.6, 0.95}[random.IntN(3)], noise, k%2 == 1)
		var target Target = l
		_, exact := l.enumerate()
		if k%2 == 1 {
			u := unknownNoise{l}
			target, exact = u, u.logEvidence()
		}
		r, err := Run(context.Background(), testkit.Backend(t), target, Config{Chains: 32, Temperatures: 10, BurnIn: 300, Iterations: 400, Thin: 4, Seed: uint64(k)})
		require.NoError(t, err)
		raw, rawSE := r.bridge()
		value, se := r.LogEvidence()
		t.Logf("table %d: %d rows, %d predictors, noise %g: exact %.3f, got %.3f ± %.3f, z %.2f, R-hat %.3f", k, len(l.y), len(slopes), noise, exact, raw, rawSE, (raw-exact)/rawSE, r.LadderRHat())
		if math.IsNaN(value) {
			unresolved++
			continue
		}
		z = append(z, (value-exact)/se)
	}
	centre, sd := stat.MeanStdDev(z, nil)
	t.Logf("z-scores of %d evidences: mean %.2f, sd %.2f; %d not resolved", len(z), centre, sd, unresolved)
	spread := 1.07 / math.Sqrt(float64(len(z)))
	assert.InDelta(t, 0, centre, 3.5*spread)
	assert.InDelta(t, 1.07, sd, 3.5*spread)
	assert.Less(t, float64(unresolved), 0.25*float64(tables))
}

// Five predictors explain all but 1e-5 of the variance. At intermediate temperatures, chains stay
// on the side of the narrow mode where they started. The estimate of the evidence is then too small
// by many of its standard errors, and must not be reported.
func TestEvidenceThatIsNotResolved(t *testing.T) {
	testkit.Long(t)
	random := rand.New(rand.NewPCG(1, 78))
	u := unknownNoise{regressionTable(t, random, 45, []float64{0.13, 0.55, -0.18, -0.48, 0}, 0, 0.001, true)}
	r, err := Run(context.Background(), testkit.Backend(t), u, Config{Chains: 32, Temperatures: 10, BurnIn: 300, Iterations: 400, Thin: 4, Seed: 3})
	require.NoError(t, err)
	raw, rawSE := r.bridge()
	z := (raw - u.logEvidence()) / rawSE
	t.Logf("z %.2f, R-hat %.2f", z, r.LadderRHat())
	assert.Less(t, z, -4.0, "not the trap that it is meant to be")
	value, se := r.LogEvidence()
	assert.True(t, math.IsNaN(value) && math.IsNaN(se))
}
