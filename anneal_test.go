package vti_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/space"
)

// quadratic returns the precision H [D·D] and the linear term b [D] of the log joint density of the
// largest model.
func (c *conjugate) quadratic() (precision, linear []float64) {
	n, dim := c.x.Dims()
	precision, linear = make([]float64, dim*dim), make([]float64, dim)
	for j := range dim {
		for k := range dim {
			for i := range n {
				precision[j*dim+k] += c.x.At(i, j) * c.x.At(i, k) / (c.sigma * c.sigma)
			}
		}
		precision[j*dim+j]++
		for i := range n {
			linear[j] += c.x.At(i, j) * c.y[i] / (c.sigma * c.sigma)
		}
	}
	return precision, linear
}

// poorPosterior has a flow that is, for every model, normal with standard deviations smaller than
// those of the posterior by the factor narrow, and whose mean is off by at least shift posterior
// standard deviations (at least, because coordinates are dependent).
func poorPosterior(t *testing.T, target *conjugate, narrow, shift float64) *vti.Posterior {
	t.Helper()
	cfg := smallConfig()
	cfg.Steps, cfg.LearningRate = 1, 1e-12
	cfg.Flow.Precision, cfg.Flow.Linear = target.quadratic()
	cfg.Flow.Linear[0] += shift * math.Sqrt(cfg.Flow.Precision[0])
	for i := range cfg.Flow.Precision {
		cfg.Flow.Precision[i] *= narrow * narrow
	}
	for i := range cfg.Flow.Linear {
		cfg.Flow.Linear[i] *= narrow * narrow
	}
	posterior, err := vti.Fit(t.Context(), openDevice(t, gpu.CPU), target, cfg)
	require.NoError(t, err)
	return posterior
}

// worstError is the largest error of the log evidences, in their own standard errors.
func worstError(target *conjugate, certificate *vti.Certificate) (worst float64) {
	exact, _ := target.posterior()
	for _, model := range certificate.Models {
		index := space.Encode(target.space.Cards(), model.Code)
		worst = max(worst, math.Abs(model.LogEvidence-exact[index])/model.LogEvidenceSE)
	}
	return worst
}

// farthest is the largest error of the log evidences, in nats.
func farthest(target *conjugate, certificate *vti.Certificate) (nats float64) {
	exact, _ := target.posterior()
	for _, model := range certificate.Models {
		nats = max(nats, math.Abs(model.LogEvidence-exact[space.Encode(target.space.Cards(), model.Code)]))
	}
	return nats
}

// Annealing finds the evidences through a flow so poor that plain weights miss them.
func TestAnnealedEvidences(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	target := newConjugate(30, 3)
	for _, test := range []struct {
		name          string
		narrow, shift float64
		plain         float64 // plain weights are off by more nats; annealed ones by less than a fifth
	}{{"narrow", 3, 0, 0.5}, {"narrow and shifted", 3, 3, 3}} {
		t.Run(test.name, func(t *testing.T) {
			posterior := poorPosterior(t, target, test.narrow, test.shift)
			annealed, err := posterior.WeighEach(t.Context(), 512, true)
			require.NoError(t, err)
			// 5 standard errors on 8 models: a false alarm in 2e5 runs, were the estimates normal.
			require.Less(t, worstError(target, annealed), 5.0)
			require.Less(t, farthest(target, annealed), test.plain/5)
			plain, err := posterior.WeighEach(t.Context(), 512, false)
			require.NoError(t, err)
			require.Greater(t, farthest(target, plain), test.plain)
		})
	}
}

// Hamiltonian steps leave their density invariant, the far reference at β = 0 and at β = 1 the
// posterior pulled back through the flow, here a normal with standard deviation 3: exact draws stay
// exact draws. Draws of the one density are not invariant under the steps of the other.
func TestHamiltonianStepsAreInvariant(t *testing.T) {
	const narrow, dim, batches = 3, 4, 20
	posterior := poorPosterior(t, newConjugate(30, 3), narrow, 0)
	code, active := []int32{1, 0, 1}, []int{0, 1, 3}
	farSecond := vti.FarSecondMoment()
	// moved returns the mean of the squared active coordinates after a few steps, with its standard
	// error.
	moved := func(beta float64, start func(random *rand.Rand, z []float64)) (mean, se float64) {
		random := stream.Rand(1, "start")
		var squares []float64
		z := make([]float64, smallConfig().Batch*dim)
		for batch := range batches {
			start(random, z)
			before := slices.Clone(z)
			require.NoError(t, posterior.MoveReference(fmt.Sprint(batch), code, z, beta, 4))
			for i := range smallConfig().Batch {
				row, old := z[i*dim:(i+1)*dim], before[i*dim:(i+1)*dim]
				require.Equal(t, old[2], row[2], "the inactive coordinate")
				// coordinates of a row share a scale, so their mean is one observation
				var square float64
				for _, j := range active {
					square += row[j] * row[j] / float64(len(active))
				}
				squares = append(squares, square)
			}
		}
		mean, sd := stat.MeanStdDev(squares, nil)
		return mean, sd / math.Sqrt(float64(len(squares)))
	}
	fromFar := func(random *rand.Rand, z []float64) { vti.DrawFar(random, z, dim) }
	fromPosterior := func(random *rand.Rand, z []float64) {
		for i := range z {
			z[i] = narrow * random.NormFloat64()
		}
	}
	// Four standard errors: a false alarm in 16,000 runs.
	mean, se := moved(0, fromFar)
	require.InDelta(t, farSecond, mean, 4*se)
	mean, se = moved(1, fromPosterior)
	require.InDelta(t, narrow*narrow, mean, 4*se)
	// they drift, if they know where to: a step without its gradient hardly moves
	mean, se = moved(1, fromFar)
	require.Greater(t, math.Abs(mean-farSecond), 4*se)
}
