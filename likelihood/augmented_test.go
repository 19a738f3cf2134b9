package likelihood

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/stream"
)

// Averages of exp(linear·η' − precision·η'²/2), with the precision drawn given η, are the integrals
// that define the mixture: p(η')^t/p(η)^t is the average of the ratio of the normal densities. With
// limits of four standard errors, one of 48 comparisons fails for one in 300 seeds.
func TestAugmented(t *testing.T) {
	const draws = 10000
	random := stream.Rand(1, "augmented")
	for _, c := range []struct {
		l       Augmented
		scale   float64
		y, etas []float64
	}{
		{logistic{}, 1, []float64{0, 1}, []float64{-0.1, 2, -9}},
		{New(StudentKind, Shape{}).(student), 0.7, []float64{-1, 0.4}, []float64{-1, 0.5, 3}},
	} {
		for _, power := range []float64{0.1, 1} {
			for _, y := range c.y {
				for _, eta := range c.etas {
					for _, to := range []float64{eta + 0.2, eta - 0.2} {
						ratios := make([]float64, draws)
						for i := range ratios {
							precision, linear := c.l.AugmentAt(y, eta, c.scale, power, random)
							ratios[i] = math.Exp((linear*(to-eta) - precision*(to*to-eta*eta)/2) / c.scale / c.scale)
						}
						mean, sd := stat.MeanStdDev(ratios, nil)
						want := math.Exp(power * (c.l.LogKernelAt(y, to, c.scale) - c.l.LogKernelAt(y, eta, c.scale)))
						require.InDelta(t, want, mean, 4*sd/math.Sqrt(draws)+1e-12, "%T, power %v, y %v, eta %v to %v", c.l, power, y, eta, to)
					}
				}
			}
		}
	}
}

// The gamma variable that replaces small terms of a Pólya-gamma variable changes the third cumulant
// by at most a part in 10⁵.
func TestPolyaGamma(t *testing.T) {
	for _, c := range []float64{0, 0.01, 0.5, 2, 5, 10, 20} {
		squares := c * c / (4 * math.Pi * math.Pi)
		var sums [2][4]float64 // of powers of the scales of terms, for terms kept and replaced
		for k := range 200000 {
			half := float64(k) + 0.5
			scale := 1 / (2 * math.Pi * math.Pi * (half*half + squares))
			replaced := 0
			if k >= polyaTerms+int(c) {
				replaced = 1
			}
			for power := range sums[replaced] {
				sums[replaced][power] += math.Pow(scale, float64(power))
			}
		}
		require.InEpsilon(t, logisticBound(c), sums[0][1]+sums[1][1], 2e-5)
		require.InEpsilon(t, polyaVariance(c), sums[0][2]+sums[1][2], 1e-9)
		mean, variance := sums[1][1], sums[1][2]
		third, approximate := 2*sums[1][3], 2*variance*variance/mean
		require.InDelta(t, third, approximate, 1e-5*2*(sums[0][3]+sums[1][3]), "c %v", c)
	}
}
