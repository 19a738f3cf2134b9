package exact

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/varsel/design"
)

// naiveSigma returns the mean, the standard deviation and the quantiles of σ. It integrates dense
// evidences over a fine grid and sums over models.
func naiveSigma(p *Problem, models []Subset) Summary {
	const points = 4000
	low, high := -6.0, 6.0
	mass, sigma := make([]float64, points), make([]float64, points)
	reference := math.Inf(-1)
	for _, m := range models {
		reference = math.Max(reference, m.LogEvidence)
	}
	logPrior := p.Prior.LogProbs(len(p.Groups))
	for _, m := range models {
		active := p.active(m.Code)
		for i := range points {
			v := low + (float64(i)+0.5)*(high-low)/points
			sigma[i] = math.Exp(v)
			standard := (v - p.Noise.Mean) / p.Noise.SD
			logZ, _, _ := naiveModel(p, active, sigma[i])
			mass[i] += math.Exp(logZ + p.LogConstant + logPrior[m.Size] - reference - standard*standard/2)
		}
	}
	var total, mean, second float64
	for i, w := range mass {
		total += w
		mean += w * sigma[i]
		second += w * sigma[i] * sigma[i]
	}
	mean, second = mean/total, second/total
	quantile := func(level float64) float64 {
		var cumulative float64
		for i, w := range mass {
			if cumulative += w; cumulative >= level*total {
				return sigma[i]
			}
		}
		return math.NaN()
	}
	return Summary{mean, math.Sqrt(second - mean*mean), quantile(0.025), quantile(0.975)}
}

func TestEnumerateSigma(t *testing.T) {
	testkit.Slow(t)
	for _, test := range []struct {
		rows int
		sd   float64
	}{{4, 1}, {6, 2}, {12, 0.3}, {30, 2}} {
		p := randomProblem(uint64(test.rows), test.rows, [][]int{{1}, {2, 3}}, 4)
		p.Noise = Noise{Mean: -0.3, SD: test.sd}
		scaling := design.NewScaling(4)
		scaling.YSD = 10
		p.Scaling = &scaling
		r, err := Enumerate(t.Context(), p)
		require.NoError(t, err)
		want, sigma := naiveSigma(&p, r.Models), r.Coefficients[4].Averaged
		assert.InEpsilon(t, 10*want.Mean, sigma.Mean, 1e-6, "%d rows", test.rows)
		assert.InEpsilon(t, 10*want.SD, sigma.SD, 1e-6, "%d rows", test.rows)
		// The quantiles to compare with are points of a grid in steps of 0.003.
		assert.InEpsilon(t, 10*want.Q025, sigma.Q025, 0.004, "%d rows", test.rows)
		assert.InEpsilon(t, 10*want.Q975, sigma.Q975, 0.004, "%d rows", test.rows)
	}
}
