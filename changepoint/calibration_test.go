package changepoint

import (
	gocontext "context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/stream"
)

// The test draws fifty series, with changes, levels and noise from the prior of the model Mean, in
// which the level changes. The posterior distribution function at the true number of changes,
// randomised between its two limits, should be uniform: the Kolmogorov–Smirnov statistic of 50
// uniform numbers exceeds 0.27 in 1 of 1,000 sets. Central 90 percent intervals should contain the
// true standard deviation of the noise: fewer than 39 of 50 do so in 1 of 300 sets.
func TestCalibrationOnSeriesFromThePrior(t *testing.T) {
	const series, n = 50, 60
	random := stream.Rand(11, "calibration")
	quantiles := make([]float64, series)
	held := 0
	for s := range series {
		// The problem is on the working scale, like the priors.
		p := &Problem{Options: Options{Kind: Mean, MeanChanges: 3, MaxChanges: 8, Shortest: 1, LevelSD: 1, Places: Uniform, Value: "y", Time: "t"}, scale: 1}
		k := 0
		u := random.Float64()
		for u -= math.Exp(p.logPriorCount()[0]); u > 0; u -= math.Exp(p.logPriorCount()[k]) {
			k++
		}
		places := random.Perm(n - 1)[:k]
		logSigma := math.Log(noiseMedian) + noiseSD*random.NormFloat64()
		jumps := map[int]bool{}
		for _, place := range places {
			jumps[place+1] = true
		}
		level := random.NormFloat64()
		for i := range n {
			if jumps[i] {
				level = random.NormFloat64()
			}
			p.y = append(p.y, level+math.Exp(logSigma)*random.NormFloat64())
			p.times = append(p.times, float64(i))
		}
		p.resolution = 1e-9
		post, err := p.Posterior(gocontext.Background())
		require.NoError(t, err)
		for j := range k {
			quantiles[s] += post.Probabilities[j]
		}
		quantiles[s] += random.Float64() * post.Probabilities[k]
		below := 0.0
		for q, node := range post.nodes {
			for _, share := range post.shares[q] {
				if node.shared < logSigma {
					below += share
				}
			}
		}
		if below > 0.05 && below < 0.95 {
			held++
		}
	}
	worst := 0.0
	for _, x := range quantiles {
		under := 0.0
		for _, other := range quantiles {
			if other <= x {
				under += 1.0 / series
			}
		}
		worst = math.Max(worst, math.Max(under-x, x-under+1.0/series))
	}
	t.Logf("Kolmogorov–Smirnov %.3f, %d of %d intervals hold", worst, held, series)
	require.Less(t, worst, 0.27)
	require.GreaterOrEqual(t, held, 39)
}
