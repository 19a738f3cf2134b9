package exact

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/lab/testkit"
)

// naiveUnknown returns the log evidence of a model with unknown σ, by a very fine and wide
// trapezoidal rule over log σ and dense algebra.
func naiveUnknown(p *Problem, code []int32) (logEvidence float64) {
	const points = 3000
	low, high := -7.0, 7.0
	step := (high - low) / points
	logs := make([]float64, points)
	for i := range points {
		v := low + float64(i)*step
		logZ, _, _ := naiveModel(p, p.active(code), math.Exp(v))
		standard := (v - p.Noise.Mean) / p.Noise.SD
		logs[i] = logZ - 0.5*standard*standard - math.Log(p.Noise.SD) - halfLog2Pi + math.Log(step)
	}
	return logsum.Of(logs) + p.LogConstant
}

// TestEnumerateUnknownSigma compares each model with a fine quadrature of dense evidences, for
// tables down to two rows and for tight and wide priors.
func TestEnumerateUnknownSigma(t *testing.T) {
	testkit.Slow(t)
	for _, test := range []struct {
		rows int
		sd   float64
		tol  float64
	}{{2, 1, 1e-7}, {6, 2, 1e-9}, {12, 0.3, 1e-9}, {40, 5, 1e-9}} {
		p := randomProblem(uint64(test.rows), test.rows, [][]int{{1}, {2, 3}}, 4)
		p.Noise = Noise{Mean: -0.3, SD: test.sd}
		r, err := Enumerate(context.Background(), p)
		require.NoError(t, err)
		require.Len(t, r.Models, 4)
		covered := 0.0
		for _, m := range r.Models {
			want := naiveUnknown(&p, m.Code)
			assert.InDelta(t, want, m.LogEvidence, test.tol, "%d rows, model %v", test.rows, m.Code)
			e := newEnumeration(&p)
			model, err := e.model(p.active(m.Code))
			require.NoError(t, err)
			alone, err := model.Evidence(p.Noise)
			require.NoError(t, err)
			assert.InDelta(t, want, alone+p.LogConstant, test.tol)
			covered += m.Probability
		}
		assert.InDelta(t, 1, covered, 1e-12)
	}
}

// TestEvidenceOfFewerNodes compares Model.Evidence with the evidence of Model.Posterior, a sum over
// more values of log σ. It also checks that the density of log σ has no peak outside the search
// bounds. Models have one row to thousands, tiny to large noise, and narrow and wide priors.
func TestEvidenceOfFewerNodes(t *testing.T) {
	check := func(m *Model, prior Noise) (several bool) {
		p, err := m.Posterior(prior)
		require.NoError(t, err)
		found, err := m.Evidence(prior)
		require.NoError(t, err)
		require.InDelta(t, p.LogEvidence(), found, 1e-9+1e-12*math.Abs(found))
		low, high := p.bounds()
		require.LessOrEqual(t, low, high)
		for k := range 1000 {
			below, above := low-float64(k)*0.01, high+float64(k)*0.01
			require.LessOrEqual(t, p.logJoint(below-0.01), p.logJoint(below))
			require.LessOrEqual(t, p.logJoint(above+0.01), p.logJoint(above))
		}
		o := p.lattice()
		return o.From < o.To
	}
	// a coefficient far from its prior mean, and four rows with little noise: σ may be small or
	// large
	two, err := NewModel([]float64{100, 1e-6, 1e-6, 1e-6, 1e-6}, [][]float64{{1, 0, 0, 0, 0}}, []float64{0}, []float64{10}, 0, 0)
	require.NoError(t, err)
	require.True(t, check(two, Noise{SD: 20}))
	random := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		rows, k := 1+random.IntN(30), random.IntN(6)
		y, columns, sd := make([]float64, rows), make([][]float64, k), make([]float64, k)
		noise := math.Exp(4*random.NormFloat64() - 2)
		for i := range y {
			y[i] = noise * random.NormFloat64()
		}
		for j := range columns {
			columns[j], sd[j] = make([]float64, rows), math.Exp(2*random.NormFloat64())
			for i := range y {
				columns[j][i] = random.NormFloat64()
				y[i] += sd[j] * columns[j][i] * float64(j%2)
			}
		}
		more := random.IntN(2) * random.IntN(5000)
		m, err := NewModel(y, columns, make([]float64, k), sd, more, noise*noise*float64(more))
		require.NoError(t, err)
		prior := Noise{Mean: 3 * random.NormFloat64(), SD: math.Exp(random.NormFloat64())}
		check(m, prior)
	}
}

// For noise of 1e-9 to 1e-4 and a response of size one, the most probable model must be the true
// one, and the posterior mean of σ within 60 % of the noise.
func TestEnumerateResolvesLittleNoise(t *testing.T) {
	noisy := func(noise float64) Problem {
		p := randomProblem(4, 20, [][]int{{1}, {2}}, 3)
		p.Noise = Noise{SD: 6}
		random := rand.New(rand.NewPCG(5, 6))
		for i := range p.Y {
			p.Y[i] = 2 + 3*p.X.At(i, 1) + noise*random.NormFloat64()
		}
		return p
	}
	for _, noise := range []float64{1e-9, 1e-6, 1e-4} {
		r, err := Enumerate(t.Context(), noisy(noise))
		require.NoError(t, err)
		require.Equal(t, "[1 0]", fmt.Sprint(r.Models[0].Code))
		sigma := r.Coefficients[3].Averaged
		require.InEpsilon(t, noise, sigma.Mean, 0.6, "noise %g", noise)
		require.Less(t, sigma.Q025, sigma.Mean)
		require.Greater(t, sigma.Q975, sigma.Mean)
	}
}

// The quadrature over log σ agrees with a fine Riemann sum for random models. They have 2 to 1,000
// rows, with and without residuals, and singular values and squares over many magnitudes. If a
// coefficient that explains all of the response is improbable a priori, the posterior has two
// modes.
func TestIntegralOfRandomModels(t *testing.T) {
	random := rand.New(rand.NewPCG(99, 99))
	models := []Model{}
	for _, d := range []float64{0.05, 0.018, 0.01} {
		models = append(models, Model{rows: 20, residual: 1e-4, size: 20 + 1e-4, d: []float64{math.Sqrt(d)}, c: []float64{math.Sqrt(20)}})
	}
	for range 60 {
		m := Model{rows: 2 + int(math.Exp(random.Float64()*7)), residual: math.Pow(10, -28*random.Float64()*float64(random.IntN(2))-3*random.Float64())}
		m.size = m.residual
		for range random.IntN(4) {
			m.d = append(m.d, math.Pow(10, -5+8*random.Float64()))
			m.c = append(m.c, math.Pow(10, -4*random.Float64()+1))
			m.size += m.c[len(m.c)-1] * m.c[len(m.c)-1]
		}
		models = append(models, m)
	}
	for _, m := range models {
		const step = 0.01
		noise := Noise{Mean: 4 * (random.Float64() - 0.5), SD: 2}
		var logs []float64
		for x := -50.0; x < 14; x += step {
			logs = append(logs, m.LogEvidence(x)+noise.logDensity(x)+math.Log(step))
		}
		p, err := m.Posterior(noise)
		require.NoError(t, err)
		require.InDelta(t, logsum.Of(logs), p.LogEvidence(), 1e-6, "%+v", m)
	}
}
