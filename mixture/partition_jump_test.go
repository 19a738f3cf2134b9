package mixture

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/rank"
	"github.com/transdim/vti/internal/stream"
)

// The acceptance ratio of a split of clusters is the product of the ratios of densities, of prior
// probabilities and of proposals, with each row's cluster drawn in proportion to densities. Some
// rows are so far from all clusters that their densities are 0, and some clusters so narrow that
// densities are larger than most numbers.
func TestClusterSplitRatio(t *testing.T) {
	for name, variance := range map[string]float64{"near": 0.05, "far": 1e-5, "narrow": 1e-300} {
		p := problemOf(t, Options{MaxComponents: 5, Concentration: 1.7}, []float64{1, 2.5, 2.7, 4, 9, 9.3})
		s := p.newPartition(rank.UpTo(p.Rows()), 1, stream.Rand(1, "test"))
		one, u := component{1, 0.5, variance, nil}, []float64{0.4, 0.5, 0.6}
		left, right := p.family.split(one, u)
		want, f, d := 0.0, p.family, p.Options.Concentration
		toLeft := []bool{true, false, true, true, false, false}
		for i, isLeft := range toLeft {
			a, b := math.Log(u[0])+f.logDensity(i, left), math.Log(1-u[0])+f.logDensity(i, right)
			if isLeft {
				want += f.logDensity(i, left) - (a - logsum.Add(a, b)) - f.logDensity(i, one)
			} else {
				want += f.logDensity(i, right) - (b - logsum.Add(a, b)) - f.logDensity(i, one)
			}
		}
		want += math.Log(s.novelty[1]/d) + 2*logsum.Gamma(3+d) - logsum.Gamma(6+d) - logsum.Gamma(d)
		want += f.logPrior(left, s.beta) + f.logPrior(right, s.beta) - f.logPrior(one, s.beta)
		want += logsum.Gamma(8) - 2*logsum.Gamma(4) + 3*math.Log(u[0]) + 3*math.Log(1-u[0])
		want += math.Log(0.5) - f.proposal().log(u) + f.logJacobian(one, left, right, u)
		s.fillSplit(one, left, right)
		if name == "far" {
			require.Zero(t, s.splitDensity[2][0])
		}
		require.InDelta(t, want, s.logRatio(one, left, right, u, 1, 3, 3, func(int) bool { return true }), 1e-9*math.Abs(want), name)
		a, b := s.logShares(0, left, right)
		require.InDelta(t, 1/(1+math.Exp(b-a)), s.share(0, left, right), 1e-12)
	}
}

// BenchmarkPartition times a sweep over the clusters of 1,000 rows of two components.
func BenchmarkPartition(b *testing.B) {
	random, y := stream.Rand(1, "bench"), make([]float64, 1000)
	for i := range y {
		y[i] = float64(5*(i%2)) + random.NormFloat64()
	}
	s := problemOf(b, Options{}, y).newPartition(rank.UpTo(len(y)), 3, random)
	for b.Loop() {
		s.sweep()
	}
}
